from __future__ import annotations

from collections.abc import Mapping

import pytest

from broker.config.dynamic import dynamic_config_fault
from broker.config.parse import single_node_config
from protocol.errors import ErrorCode


def fault(
    after: Mapping[str, str], before: Mapping[str, str] | None = None, *, one_broker: bool = True
) -> str | None:
    config = single_node_config()
    error = dynamic_config_fault(config, before or {}, after, one_broker=one_broker)
    if error is None:
        return None
    assert error.code is ErrorCode.INVALID_REQUEST
    return error.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.retention.ms", "5"),
        ("message.max.bytes", "5"),
        ("log.cleanup.policy", "compact,delete"),
        ("unclean.leader.election.enable", "true"),
        ("leader.replication.throttled.rate", "1000"),
        ("follower.replication.throttled.rate", "0"),
        ("of.some.plugin", "x"),
        ("log.cleaner.threads", "2"),
        ("log.cleaner.io.max.bytes.per.second", "1e6"),
        ("log.cleaner.dedupe.buffer.size", "2000000"),
        ("log.cleaner.backoff.ms", "0"),
        ("num.io.threads", "16"),
        ("num.network.threads", "1"),
        ("background.threads", "5"),
        ("num.replica.fetchers", "2"),
        ("num.recovery.threads.per.data.dir", "1"),
        ("max.connections", "1"),
        ("max.connections.per.ip", "5"),
        ("max.connections.per.ip.overrides", "127.0.0.3:4,localhost:0"),
        ("max.connection.creation.rate", "5"),
        ("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter"),
        ("listener.name.plaintext.max.connections", "5"),
        ("listener.name.plaintext.num.network.threads", "6"),
    ],
)
def test_what_is_taken(name: str, text: str) -> None:
    assert fault({name: text}) is None
    assert fault({name: text}, one_broker=False) is None


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        # the words of an Apache Kafka
        ("node.id", "9", "Cannot update these configs dynamically: [node.id]"),
        ("log.retention.hours", "1", "Cannot update these configs dynamically: [log.retention.ho"),
        ("num.io.threads", "x", "Invalid value x for configuration num.io.threads: Not a number "),
        ("min.insync.replicas", "0", "Invalid value 0 for configuration min.insync.replicas: Val"),
        ("log.cleanup.policy", "foo", "Invalid value foo for configuration log.cleanup.policy: S"),
        ("log.retention.ms", "0", "log.retention.ms must be unlimited (-1) or"),
        ("log.cleaner.threads", "3", "Invalid dynamic configuration"),
        ("num.io.threads", "17", "should not be greater than double the current value 8"),
        ("num.io.threads", "3", "value should be at least half the current value 8"),
        ("listener.name.plaintext.num.network.threads", "7", "double the current value 3"),
        ("max.connections", "0", "Invalid max.connections 0"),
        ("max.connections.per.ip", "0", "can be set to zero only if max.connections.per.ip.overr"),
        ("max.connection.creation.rate", "0", "Invalid max.connection.creation.rate 0"),
        ("metric.reporters", "x", "failed with class class kafka.server.DynamicMetricsReporters"),
        ("log.local.retention.ms", "-1", "Value must not be -1 as log.retention.ms value is set"),
        ("log.cleaner.threads", "0", "Invalid dynamic configuration"),
        ("log.cleaner.dedupe.buffer.size", "5", "must be at least 1MB per cleaner thread"),
        ("log.cleaner.backoff.ms", "-1", "Invalid value -1 for configuration log.cleaner.backoff"),
        (
            "leader.replication.throttled.rate",
            "x",
            "Invalid value x for configuration leader.repli",
        ),
        ("follower.replication.throttled.rate", "-1", "Value must be at least 0"),
        (
            "replica.alter.log.dirs.io.max.bytes.per.second",
            "-5",
            "Invalid value -5 for configuration replica.alter.log.dirs.io.max.bytes.per.second: "
            "Value must be at least 0",
        ),
    ],
)
def test_what_kafka_refuses(name: str, text: str, words: str) -> None:
    assert words in (fault({name: text}) or "")


def test_what_concerns_one_broker_is_not_set_for_all() -> None:
    words = "Cannot update these configs at default cluster level, broker id must be specified: "
    assert fault({"listeners": "PLAINTEXT://:1"}, one_broker=False) == f"{words}[listeners]"


@pytest.mark.parametrize("name", ["remote.log.reader.threads", "remote.fetch.max.wait.ms"])
def test_what_is_not_put_into_force_is_refused_by_name(name: str) -> None:
    message = fault({name: "9"}) or ""
    assert f"[{name}]" in message
    assert "Ottla" in message
    listener = "listener.name.plaintext.ssl.keystore.location"
    assert listener in (fault({listener: "/x"}) or "")


def test_what_was_there_before_does_not_stand_in_the_way() -> None:
    stored = {"remote.log.reader.threads": "11", "log.retention.ms": "5"}
    assert fault({**stored, "log.retention.ms": "6"}, stored) is None
    assert fault({"log.retention.ms": "5"}, stored) is None


def test_what_is_in_force_counts_and_not_what_the_file_says() -> None:
    config, before = single_node_config(), {"num.io.threads": "16"}
    after = {"num.io.threads": "32"}
    assert dynamic_config_fault(config, before, after, one_broker=True) is None
    assert dynamic_config_fault(config, {}, after, one_broker=True) is not None
    # What is set for the one broker hides what is set for all of them, and the other way round not.
    assert dynamic_config_fault(config, {}, after, one_broker=False, other_level=before) is None
    assert dynamic_config_fault(config, {}, after, one_broker=True, other_level=before) is None


def test_a_listener_of_another_node_may_have_limits_for_all_of_them() -> None:
    name = "listener.name.elsewhere.max.connections"
    assert fault({name: "5"}, one_broker=False) is None
    assert "no such listener" in (fault({name: "5"}) or "")
    assert "Not a number" in (fault({name: "x"}, one_broker=False) or "")
