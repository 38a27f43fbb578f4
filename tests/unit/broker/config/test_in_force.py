"""What is in force: the file, what is set for all brokers, and what is set for the one."""

from __future__ import annotations

import pytest

from broker.config.applied_keys import EffectiveListenerLimits, limits_of
from broker.config.in_force import config_in_force, topic_defaults
from broker.config.parse import single_node_config
from controller.metadata.image import ResourceType
from tests.unit.broker.apis.api_fixture import Cluster

BROKER = ResourceType.BROKER


def test_topic_defaults_come_from_the_file_all_brokers_and_this_one() -> None:
    cluster = Cluster()
    config = single_node_config({"log.retention.hours": "1", "message.max.bytes": "2000"})

    def defaults() -> tuple[object, object]:
        values = topic_defaults(config, cluster.image)
        return values["retention.ms"], values["max.message.bytes"]

    assert defaults() == (3_600_000, 2000)
    cluster.set_config(BROKER, "", "log.retention.ms", "7000")
    cluster.set_config(BROKER, "", "message.max.bytes", "3000")
    assert defaults() == (7000, 3000)
    cluster.set_config(BROKER, "1", "message.max.bytes", "4000")
    cluster.set_config(BROKER, "2", "message.max.bytes", "5000")
    assert defaults() == (7000, 4000)


def test_what_another_release_wrote_does_not_stop_a_start() -> None:
    cluster = Cluster()
    cluster.set_config(BROKER, "", "log.retention.ms", "soon")
    cluster.set_config(BROKER, "", "num.io.threads", "9")
    assert topic_defaults(single_node_config(), cluster.image)["retention.ms"] == 604_800_000


def test_the_cleaner_has_what_is_set_for_all_brokers_and_above_it_for_this_one() -> None:
    cluster = Cluster()
    config = single_node_config({"log.cleaner.threads": "3"})
    assert config_in_force(config, cluster.image) is config
    cluster.set_config(BROKER, "", "log.cleaner.threads", "4")
    cluster.set_config(BROKER, "", "log.cleaner.backoff.ms", "soon")
    cluster.set_config(BROKER, "1", "log.cleaner.io.max.bytes.per.second", "1000000")
    cluster.set_config(BROKER, "2", "log.cleaner.threads", "5")
    now = config_in_force(config, cluster.image)
    assert (now.log_cleaner_threads, now.log_cleaner_backoff_ms) == (4, 15_000)
    assert now.log_cleaner_io_max_bytes_per_second == 1_000_000


def test_what_contradicts_itself_over_both_levels_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    cluster.set_config(BROKER, "", "log.cleaner.dedupe.buffer.size", "2000000")
    cluster.set_config(BROKER, "1", "log.cleaner.threads", "2")
    cluster.set_config(BROKER, "1", "max.connections", "5")
    now = config_in_force(single_node_config(), cluster.image)
    assert (now.log_cleaner_threads, now.max_connections) == (2, 5)
    assert now.log_cleaner_dedupe_buffer_size == 128 * 1024 * 1024
    assert "1MB per cleaner thread" in caplog.text


def test_limits_of_a_listener_are_its_own_or_the_nodes() -> None:
    cluster = Cluster()
    cluster.set_config(BROKER, "", "max.connections", "9")
    cluster.set_config(BROKER, "", "listener.name.plaintext.max.connections", "5")
    cluster.set_config(BROKER, "", "listener.name.elsewhere.max.connections", "6")
    cluster.set_config(BROKER, "1", "num.network.threads", "4")
    cluster.set_config(BROKER, "1", "max.connections.per.ip.overrides", "127.0.0.3:4, ::1:5")
    now = config_in_force(single_node_config(), cluster.image)
    assert limits_of(now, "PLAINTEXT") == EffectiveListenerLimits(5, 2**31 - 1, 4)
    assert limits_of(now, "CONTROLLER") == EffectiveListenerLimits(9, 2**31 - 1, 4)
    assert now.max_connections_per_ip_overrides == {"127.0.0.3": 4, "::1": 5}


def test_an_interval_of_groups_is_within_the_limits_of_the_file(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    config = single_node_config({"group.share.min.assignment.interval.ms": "10"})
    cluster.set_config(BROKER, "", "group.consumer.assignment.interval.ms", "99999")
    cluster.set_config(BROKER, "1", "group.share.assignment.interval.ms", "0")
    now = config_in_force(config, cluster.image)
    assert now.group_consumer_assignment_interval_ms == 15_000
    assert now.group_share_assignment_interval_ms == 10
    assert [record.getMessage() for record in caplog.records] == [
        "group.consumer.assignment.interval.ms=99999 is beyond the limit: 15000 is in force",
        "group.share.assignment.interval.ms=0 is beyond the limit: 10 is in force",
    ]
    cluster.set_config(BROKER, "1", "group.share.assignment.interval.ms", "500")
    assert config_in_force(config, cluster.image).group_share_assignment_interval_ms == 500
