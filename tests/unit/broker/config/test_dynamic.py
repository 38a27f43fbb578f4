from __future__ import annotations

from collections.abc import Mapping

import pytest

from broker.config.dynamic import cleaner_config, dynamic_config_fault, topic_defaults
from broker.config.parse import single_node_config
from controller.metadata.image import ResourceType
from protocol.errors import ErrorCode
from tests.unit.broker.apis.api_fixture import Cluster

BROKER = ResourceType.BROKER


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
    ],
)
def test_what_is_taken(name: str, text: str) -> None:
    assert fault({name: text}) is None
    assert fault({name: text}, one_broker=False) is None


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        # the words of an Apache Kafka 4.3.0
        ("node.id", "9", "Cannot update these configs dynamically: [node.id]"),
        ("log.retention.hours", "1", "Cannot update these configs dynamically: [log.retention.ho"),
        ("num.io.threads", "x", "Invalid value x for configuration num.io.threads: Not a number "),
        ("min.insync.replicas", "0", "Invalid value 0 for configuration min.insync.replicas: Val"),
        ("log.cleanup.policy", "foo", "Invalid value foo for configuration log.cleanup.policy: S"),
        ("log.retention.ms", "0", "log.retention.ms must be unlimited (-1) or"),
        ("log.cleaner.threads", "3", "Invalid dynamic configuration"),
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


@pytest.mark.parametrize("name", ["num.io.threads", "max.connections"])
def test_what_is_not_put_into_force_is_refused_by_name(name: str) -> None:
    message = fault({name: "9"}) or ""
    assert f"[{name}]" in message
    assert "Ottla" in message
    listener = "listener.name.plaintext.ssl.keystore.location"
    assert listener in (fault({listener: "/x"}) or "")


def test_what_was_there_before_does_not_stand_in_the_way() -> None:
    stored = {"num.io.threads": "9", "log.retention.ms": "5"}
    assert fault({**stored, "log.retention.ms": "6"}, stored) is None
    assert fault({"log.retention.ms": "5"}, stored) is None


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
    assert cleaner_config(config, cluster.image) is config
    cluster.set_config(BROKER, "", "log.cleaner.threads", "4")
    cluster.set_config(BROKER, "", "log.cleaner.backoff.ms", "soon")
    cluster.set_config(BROKER, "1", "log.cleaner.io.max.bytes.per.second", "1000000")
    cluster.set_config(BROKER, "2", "log.cleaner.threads", "5")
    now = cleaner_config(config, cluster.image)
    assert (now.log_cleaner_threads, now.log_cleaner_backoff_ms) == (4, 15_000)
    assert now.log_cleaner_io_max_bytes_per_second == 1_000_000
    before, after = {"log.cleaner.threads": "4"}, {"log.cleaner.threads": "8"}
    args = (config, before, after)
    assert dynamic_config_fault(*args, one_broker=False) is not None
    assert dynamic_config_fault(*args, one_broker=False, threads_now=4) is None


def test_what_contradicts_itself_over_both_levels_leaves_the_file_in_force(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = Cluster()
    config = single_node_config()
    cluster.set_config(BROKER, "", "log.cleaner.dedupe.buffer.size", "2000000")
    cluster.set_config(BROKER, "1", "log.cleaner.threads", "2")
    assert cleaner_config(config, cluster.image) is config
    assert "1MB per cleaner thread" in caplog.text
