"""A share group's own configs win over the server's."""

from __future__ import annotations

from broker.config.parse import single_node_config
from broker.groups.share.settings import initialize_retry_ms, settings_of


def test_without_configs_of_its_own_a_group_has_the_server_s() -> None:
    assert settings_of(single_node_config(), {}) == (45_000, 5_000, 1_000, 200)


def test_each_config_stands_for_itself() -> None:
    own = {"share.heartbeat.interval.ms": "6000", "consumer.session.timeout.ms": "1"}
    assert settings_of(single_node_config(), own) == (45_000, 6_000, 1_000, 200)
    own = {"share.session.timeout.ms": "50000", "share.assignment.interval.ms": "0"}
    assert settings_of(single_node_config(), own) == (50_000, 5_000, 0, 200)


def test_an_initialization_waits_at_least_for_a_commit() -> None:
    config = single_node_config()
    assert initialize_retry_ms(config) == 30_000
    short = config._replace(group_share_initialize_retry_interval_ms=1)
    assert initialize_retry_ms(short) == config.offsets_commit_timeout_ms
