"""confluent-kafka with `group.protocol=consumer` (KIP-848): the broker assigns.

Heartbeats are as short as the broker allows here, so that members hear soon of each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.group_member import set_session

PARTITIONS = 6
RECORDS = 60
LIMIT_S = 90
PROPERTIES = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
}


@pytest.fixture(scope="module")
def ottla(ottla_broker_factory: Callable[..., Any]) -> Iterator[Any]:
    broker = ottla_broker_factory(properties=PROPERTIES)
    with closing(broker):
        yield broker


class Member:
    """A consumer that takes what it is given, and commits what it read."""

    def __init__(self, servers: str, group: str, *topics: str, **more: Any) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **{name.replace("_", "."): value for name, value in more.items()},
            }
        )
        self.has: set[int] = set()
        self.read: list[tuple[int, int]] = []
        self.consumer.subscribe(list(topics), on_assign=self._given, on_revoke=self._taken)

    def _given(self, consumer: Any, partitions: Any) -> None:
        self.has |= {one.partition for one in partitions}

    def _taken(self, consumer: Any, partitions: Any) -> None:
        self.has -= {one.partition for one in partitions}

    def poll(self) -> None:
        message = self.consumer.poll(0.02)
        if message is not None:
            if (error := message.error()) is not None:
                # The test did not let it poll for so long: it joins again when it does.
                assert error.code() == KafkaError._MAX_POLL_EXCEEDED, error
                return
            self.read.append((message.partition(), message.offset()))
            self.consumer.commit(message, asynchronous=False)


def until(condition: Callable[[], bool], *members: Member) -> None:
    """Let the members poll until it is so."""
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, [sorted(member.has) for member in members]
        for member in members:
            member.poll()


def shares(*members: Member) -> list[int]:
    """How many partitions each has; nobody has one twice."""
    every = [partition for member in members for partition in member.has]
    assert len(every) == len(set(every))
    return sorted(len(member.has) for member in members)


def topic_of(servers: str, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(name, PARTITIONS, 1)]).values():
        made.result()
    return name


def begin_at_0(servers: str, group: str, topic: str) -> None:
    """Commit that nothing is read. Without commits librdkafka 2.x asks where a partition begins,
    and if the partition is revoked before the answer comes, it reads it nevertheless, from there,
    and hands out what it read when it is given the partition again."""
    admin = AdminClient({"bootstrap.servers": servers})
    begins = [TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)]
    asked = [ConsumerGroupTopicPartitions(group, begins)]
    admin.alter_consumer_group_offsets(asked)[group].result()


def produce(servers: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for number in range(RECORDS):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(LIMIT_S) == 0


def test_members_come_and_go_and_nothing_is_read_twice(ottla: Any) -> None:
    servers = ottla.bootstrap_servers
    topic = topic_of(servers, "come-and-go")
    begin_at_0(servers, "g1", topic)
    first = Member(servers, "g1", topic)
    until(lambda: shares(first) == [6], first)
    second = Member(servers, "g1", topic)
    until(lambda: shares(first, second) == [3, 3], first, second)
    third = Member(servers, "g1", "^come-.*")
    until(lambda: shares(first, second, third) == [2, 2, 2], first, second, third)
    produce(servers, topic)
    members = [first, second, third]
    until(lambda: sum(len(member.read) for member in members) == RECORDS, *members)
    second.consumer.close()
    until(lambda: shares(first, third) == [3, 3], first, third)
    produce(servers, topic)
    until(lambda: sum(len(member.read) for member in members) == 2 * RECORDS, first, third)
    admin = AdminClient({"bootstrap.servers": servers})
    described = admin.describe_consumer_groups(["g1"])["g1"].result()
    assert described.type == ConsumerGroupType.CONSUMER
    assert described.state == ConsumerGroupState.STABLE
    assert len(described.members) == 2
    first.consumer.close()
    third.consumer.close()
    asked = [ConsumerGroupTopicPartitions("g1")]
    offsets = admin.list_consumer_group_offsets(asked)["g1"].result().topic_partitions
    assert sum(one.offset for one in offsets) == 2 * RECORDS
    assert len({one for member in members for one in member.read}) == 2 * RECORDS
    admin.delete_consumer_groups(["g1"])["g1"].result()


def test_who_falls_silent_is_replaced(ottla: Any) -> None:
    servers = ottla.bootstrap_servers
    topic = topic_of(servers, "silent")
    set_session(servers, "g2", 6_000)
    first = Member(servers, "g2", topic)
    until(lambda: shares(first) == [6], first)
    second = Member(servers, "g2", topic, max_poll_interval_ms=1500)
    until(lambda: shares(first, second) == [3, 3], first, second)
    until(lambda: len(first.has) == 6, first)
    first.consumer.close()
    second.consumer.close()


def test_a_static_member_comes_back_to_its_partitions(ottla: Any) -> None:
    servers = ottla.bootstrap_servers
    topic = topic_of(servers, "static")
    first = Member(servers, "g3", topic, group_instance_id="a")
    second = Member(servers, "g3", topic, group_instance_id="b")
    until(lambda: shares(first, second) == [3, 3], first, second)
    kept, others = set(second.has), set(first.has)
    second.consumer.close()
    back = Member(servers, "g3", topic, group_instance_id="b")
    until(lambda: back.has == kept, first, back)
    assert first.has == others
    first.consumer.close()
    back.consumer.close()


def test_a_kill_in_between_changes_nothing(ottla_broker_factory: Callable[..., Any]) -> None:
    broker = ottla_broker_factory(properties=PROPERTIES)
    with closing(broker):
        servers = broker.bootstrap_servers
        topic = topic_of(servers, "killed")
        first, second = Member(servers, "g4", topic), Member(servers, "g4", topic)
        until(lambda: shares(first, second) == [3, 3], first, second)
        before = [set(first.has), set(second.has)]
        broker.kill()
        broker.start()
        produce(servers, topic)
        until(lambda: len(first.read) + len(second.read) == RECORDS, first, second)
        assert [first.has, second.has] == before
        first.consumer.close()
        second.consumer.close()


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_a_live_group_is_upgraded_member_by_member_and_goes_back(ottla: Any, assignor: str) -> None:
    servers, group = ottla.bootstrap_servers, f"g5-{assignor}"
    topic = topic_of(servers, f"rolling-{assignor}")
    admin = AdminClient({"bootstrap.servers": servers})
    classic = {
        "group_protocol": "classic",
        "partition_assignment_strategy": assignor,
        "session_timeout_ms": 45_000,
        "heartbeat_interval_ms": 200,
    }
    members = [Member(servers, group, topic, **classic) for _ in range(2)]
    every = list(members)
    until(lambda: shares(*members) == [3, 3], *members)
    for count, more in enumerate(({}, {}, classic, classic), 1):
        members[0].consumer.close()
        members = [members[1], Member(servers, group, topic, **more)]
        every.append(members[1])
        until(lambda now=members: shares(*now) == [3, 3], *members)
        produce(servers, topic)
        wanted = count * RECORDS
        until(lambda w=wanted: sum(len(one.read) for one in every) >= w, *members)
        listed = admin.list_consumer_groups().result().valid
        (kind,) = (one.type for one in listed if one.group_id == group)
        assert kind == (ConsumerGroupType.CLASSIC if count == 4 else ConsumerGroupType.CONSUMER)
    for member in members:
        member.consumer.close()
    read = [one for member in every for one in member.read]
    assert len(read) == len(set(read)) == 4 * RECORDS
