"""A group's own configs win over the server's."""

from __future__ import annotations

from broker.config.parse import single_node_config
from broker.groups.consumer.settings import settings_of


def test_without_configs_of_its_own_a_group_has_the_server_s() -> None:
    assert settings_of(single_node_config(), {}) == (45_000, 5_000, 1_000)


def test_each_config_stands_for_itself() -> None:
    own = {"consumer.heartbeat.interval.ms": "6000", "share.session.timeout.ms": "1"}
    assert settings_of(single_node_config(), own) == (45_000, 6_000, 1_000)
    own = {"consumer.session.timeout.ms": "50000", "consumer.assignment.interval.ms": "0"}
    assert settings_of(single_node_config(), own) == (50_000, 5_000, 0)
