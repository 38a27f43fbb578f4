"""Rules between keys: what Kafka refuses is refused, and what it takes is taken."""

from __future__ import annotations

import pytest

from broker.config.parse import parse_config
from ground.config_def import ConfigError

BASE = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
}
BROKER_ONLY = {"process.roles": "broker", "listeners": "PLAINTEXT://:9092"}
CONTROLLER_ONLY = {"process.roles": "controller", "listeners": "CONTROLLER://:9093"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"process.roles": ""}, "'process.roles' must not be empty"),
        ({"log.dirs": ""}, "'log.dirs' must not be empty"),
        ({"listeners": ""}, "'listeners' must not be empty"),
        ({"log.dirs": "a\0b"}, "'log.dirs' must not contain a null character"),
        ({"broker.id": "2"}, "You must set `node.id` to the same value as `broker.id`"),
        ({"controller.listener.names": "FOO"}, "must contain at least one value appearing in"),
        ({"controller.quorum.voters": ""}, "must contain a parseable set of controllers"),
        ({"controller.quorum.voters": "2@h:1"}, "the node id 1 must be included in the set"),
        ({"listeners": "PLAINTEXT://:9092"}, "must contain at least one value appearing in"),
        ({"listeners": "CONTROLLER://:9093"}, "at least one broker advertised listener"),
        (
            {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9092"},
            "Each listener must have a different port",
        ),
        (
            {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"},
            "cannot use the nonroutable meta-address 0.0.0.0",
        ),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "nonroutable meta-address"),
        ({"advertised.listeners": "CONTROLLER://h:1"}, "at least one broker advertised listener"),
        ({"advertised.listeners": "FOO://h:1"}, "No security protocol defined for listener FOO"),
        ({"inter.broker.listener.name": "FOO"}, "not found in listener.security.protocol.map"),
        ({"inter.broker.listener.name": "CONTROLLER"}, "listener name defined in advertised"),
        (
            {
                "inter.broker.listener.name": "PLAINTEXT",
                "security.inter.broker.protocol": "PLAINTEXT",
            },
            "Only one of inter.broker.listener.name and security.inter.broker.protocol",
        ),
        (BROKER_ONLY, "the node id 1 must not be included in the set of voters"),
        (
            {"process.roles": "broker", "controller.quorum.voters": "2@h:1"},
            "must not contain a value appearing in the 'listeners' configuration",
        ),
        ({"process.roles": "controller"}, "must only contain KRaft controller listeners"),
        ({"log.retention.ms": "0"}, r"log.retention.ms must be unlimited \(-1\) or"),
        ({"log.retention.hours": "0"}, r"log.retention.ms must be unlimited \(-1\) or"),
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        ({"log.cleaner.dedupe.buffer.size": "1"}, "at least 1MB per cleaner thread"),
        ({"replica.fetch.wait.max.ms": "40000"}, "replica.socket.timeout.ms should always be"),
        (
            {"replica.fetch.wait.max.ms": "30000", "replica.lag.time.max.ms": "29999"},
            "to prevent frequent changes in ISR",
        ),
        ({"replica.selector.class": "a.B"}, "Java classes cannot be loaded; only org.apache.kafka"),
        ({"offsets.topic.compression.codec": "9"}, "Unknown compression type id: 9"),
        (
            {"share.coordinator.state.topic.compression.codec": "5"},
            "share.coordinator.state.topic.compression.codec: Unknown compression type id: 5",
        ),
        ({"max.connections.per.ip": "0"}, "max.connections.per.ip can be set to zero only if"),
        ({"connections.max.idle.ms": "0"}, "should always be less than connections.max.idle.ms=0"),
        ({"queued.max.request.bytes": "5"}, "larger or equal to socket.request.max.bytes"),
        (
            {"group.coordinator.rebalance.protocols": "consumer"},
            "Disabling the 'classic' protocol is not supported",
        ),
        ({"group.min.session.timeout.ms": "2000000"}, "must not be greater than"),
        # The words of a running Kafka.
        (
            {"group.consumer.min.session.timeout.ms": "60001"},
            "group.consumer.max.session.timeout.ms must be greater than or equal to "
            "group.consumer.min.session.timeout.ms",
        ),
        (
            {"group.streams.assignment.interval.ms": "15001"},
            "group.streams.assignment.interval.ms must be less than or equal to "
            "group.streams.max.assignment.interval.ms",
        ),
        (
            {"group.share.assignors": "simple,other"},
            "group.share.assignors must contain exactly one assignor, but found 2",
        ),
        ({"group.share.assignors": "org.example.Mine"}, "there is no assignor org.example.Mine"),
        (
            {"group.share.heartbeat.interval.ms": "4999"},
            "group.share.heartbeat.interval.ms must be greater than or equal to "
            "group.share.min.heartbeat.interval.ms",
        ),
        (
            {
                "group.consumer.max.heartbeat.interval.ms": "50000",
                "group.consumer.heartbeat.interval.ms": "45000",
            },
            "group.consumer.heartbeat.interval.ms must be less than "
            "group.consumer.session.timeout.ms",
        ),
        (
            {"group.share.record.lock.duration.ms": "60001"},
            "group.share.max.record.lock.duration.ms must be greater than or equal to "
            "group.share.record.lock.duration.ms",
        ),
        (
            {"group.streams.num.standby.replicas": "3"},
            "group.streams.num.standby.replicas must be less than or equal to "
            "group.streams.max.standby.replicas",
        ),
    ],
)
def test_refused(changes: dict[str, str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as refused:
        parse_config({**BASE, **changes})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"broker.id": "1"},
        {"controller.quorum.voters": "1@a:1,2@b:2"},
        {"advertised.listeners": "PLAINTEXT://h:9092,CONTROLLER://c:1"},
        {"advertised.listeners": "PLAINTEXT://:9092"},
        {"inter.broker.listener.name": "PLAINTEXT"},
        {"log.retention.ms": "-2"},
        {"log.flush.interval.ms": "-1"},
        {"queued.max.request.bytes": "0"},
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"},
        {"group.streams.max.standby.replicas": "0"},
        {
            "group.share.max.record.lock.duration.ms": "30000",
            "group.share.min.record.lock.duration.ms": "30000",
        },
        {**BROKER_ONLY, "controller.quorum.voters": "2@h:1"},
        CONTROLLER_ONLY,
    ],
)
def test_taken(changes: dict[str, str]) -> None:
    assert parse_config({**BASE, **changes}).node_id == 1
