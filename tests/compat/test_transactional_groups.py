"""Consume, transform, produce: offsets that move with the records, and generations that are over.

With the clients that tell the broker which consumer a transaction's offsets are of (KIP-447), in
groups of the classic protocol and of the consumer protocol (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest
from confluent_kafka import Producer

from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.clients.group_conversation import describing, fetching
from tests.clients.transactional_clients import (
    CONSUMER_PROTOCOL,
    open_producer,
    open_reader,
    read_until,
)
from tests.clients.transactional_faces import Failed, Fenced, TopicReader
from tests.clients.wire_client import WireClient
from tests.tools.waiting import wait_until

pytestmark = []
CLASSIC = ("confluent-kafka", "kafka-python")
ASSIGNED = "confluent-kafka" + CONSUMER_PROTOCOL
RECORDS = 60
LAST = b"last"
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
}


@pytest.fixture(scope="module")
def ottla(request: pytest.FixtureRequest) -> Iterator[Any]:
    if request.config.getoption("--broker") != "ottla":
        pytest.skip("of how Apache Kafka does it, its answers are kept: transactional_offsets")
    factory: Callable[..., Any] = request.getfixturevalue("ottla_broker_factory")
    with closing(factory(properties=PROPERTIES)) as broker:
        yield broker


def named(client: str) -> str:
    """The client, in names of topics and groups."""
    return client.replace("/", "-")


@pytest.fixture
def wire(ottla: Any, client: str) -> Iterator[WireClient]:
    """Topics `client-in` with one partition, and with two for rebalances; `client-out`."""
    with WireClient(ottla.port) as wire:
        name = named(client)
        topics = [(f"{name}-in", 1), (f"{name}-out", 1), (f"{name}-shared", 2)]
        for name, partitions in topics:
            wire.call(CreateTopicsRequest([CreatableTopic(name, partitions, 1)], 10_000), 7)
        yield wire


def say(servers: str, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


def committed(wire: WireClient, group: str, topic: str) -> list[int]:
    """Stable offsets of the topic's partitions, when the last transaction's markers are there."""

    def offsets() -> list[int]:
        answer = wire.call(fetching(group, [topic], require_stable=True), 9).groups[0].topics[0]
        if any(partition.error_code for partition in answer.partitions):
            return []
        return [partition.committed_offset for partition in answer.partitions]

    return wait_until(offsets, f"stable offsets of {group}")


def poll_some(reader: TopicReader) -> list[Any]:
    return wait_until(lambda: reader.poll(0.2), "a record")


@pytest.mark.parametrize("client", [*CLASSIC, ASSIGNED])
def test_offsets_move_with_the_records(ottla: Any, wire: WireClient, client: str) -> None:
    """Every second transaction is aborted, and its records are taken up again."""
    name = named(client)
    source, target, group = f"{name}-in", f"{name}-out", f"{name}-copiers"
    servers = ottla.bootstrap_servers
    values = [b"%d" % number for number in range(RECORDS)]
    say(servers, source, *values)
    reader = open_reader(client, servers, source, group=group)
    producer = open_producer(client, servers, f"{client}-copier")
    with closing(reader), closing(producer):
        done = attempts = 0
        while done < RECORDS:
            rows = poll_some(reader)[:7]
            assert rows[0].offset == done, "the group goes on from what was committed"
            producer.begin()
            for row in rows:
                producer.send(target, 0, b"copy of " + row.value)
            producer.offsets(reader, source, {0: rows[-1].offset + 1})
            attempts += 1
            if attempts % 2:
                producer.abort()
            else:
                producer.commit()
                done += len(rows)
            expected = [done or -1, -1]
            assert committed(wire, group, source) == expected
            reader.rewind()
    say(servers, target, LAST)
    with closing(open_reader(client, servers, target)) as copies:
        assert read_until(copies, LAST) == [b"copy of " + value for value in values]
    assert attempts > 2


class _Before:
    """What a reader was before a rebalance."""

    def __init__(self, reader: TopicReader) -> None:
        self._mark = reader.mark()

    def mark(self) -> Any:
        return self._mark


@pytest.mark.parametrize("client", CLASSIC)
def test_a_generation_that_is_over_is_fenced(ottla: Any, wire: WireClient, client: str) -> None:
    """A copier that lost its partition to another member cannot commit for it any more."""
    source, group = f"{client}-shared", f"{client}-fenced"
    servers = ottla.bootstrap_servers
    say(servers, source, *[b"%d" % number for number in range(10)])
    with ExitStack() as opened:
        first = opened.enter_context(closing(open_reader(client, servers, source, 2, group=group)))
        rows = poll_some(first)
        producer = opened.enter_context(closing(open_producer(client, servers, f"{client}-slow")))
        producer.begin()
        producer.offsets(first, source, {0: 1})
        producer.commit()
        assert committed(wire, group, source) == [1, -1]
        before = _Before(first)
        second = opened.enter_context(closing(open_reader(client, servers, source, 2, group=group)))

        def both_work() -> bool:
            first.poll(0.1)
            second.poll(0.1)
            return _members_at_work(wire, group) == 2

        wait_until(both_work, "two members at work")
        producer.begin()
        with pytest.raises(Failed) as failed:
            producer.offsets(before, source, {0: rows[-1].offset + 1})  # type: ignore[arg-type]
            producer.commit()
        assert failed.type is not Fenced, "its consumer is fenced, the producer is not"
        producer.abort()
        assert committed(wire, group, source) == [1, -1]
        producer.begin()
        producer.offsets(first, source, {0: 2})
        producer.commit()
        assert committed(wire, group, source) == [2, -1]


@pytest.mark.parametrize("client", [ASSIGNED])
def test_an_epoch_that_is_over_is_fenced_for_what_was_lost(
    ottla: Any, wire: WireClient, client: str
) -> None:
    """By epochs of before a hand-over one commits for what one has kept, and for nothing else."""
    source, group = f"{named(client)}-shared", f"{named(client)}-fenced"
    servers = ottla.bootstrap_servers
    say(servers, source, *[b"%d" % number for number in range(10)])
    with ExitStack() as opened:
        first = opened.enter_context(closing(open_reader(client, servers, source, 2, group=group)))
        poll_some(first)
        producer = opened.enter_context(closing(open_producer(client, servers, f"{group}-slow")))
        before = _Before(first)
        second = opened.enter_context(closing(open_reader(client, servers, source, 2, group=group)))

        def shares_of_both() -> list[list[int]]:
            first.poll(0.1)
            second.poll(0.1)
            shares = _shares(wire, group)
            return shares if len(shares) == 2 else []

        shares = wait_until(shares_of_both, "shares of two members")
        assert shares == [[0], [1]], "who was first keeps its first partition"
        producer.begin()
        with pytest.raises(Failed) as failed:
            producer.offsets(before, source, {1: 1})  # type: ignore[arg-type]
            producer.commit()
        assert failed.type is not Fenced, "its consumer is fenced, the producer is not"
        producer.abort()
        assert committed(wire, group, source) == [-1, -1]
        producer.begin()
        producer.offsets(before, source, {0: 1})  # type: ignore[arg-type]
        producer.commit()
        assert committed(wire, group, source) == [1, -1]


def _shares(wire: WireClient, group: str) -> list[list[int]]:
    """The partitions of each member, when the group is Stable."""
    found = wire.call(ConsumerGroupDescribeRequest([group]), 1).groups[0]
    if found.group_state != "Stable":
        return []
    return sorted(
        [part for topic in one.assignment.topic_partitions for part in topic.partitions]
        for one in found.members
    )


def _members_at_work(wire: WireClient, group: str) -> int:
    """How many members have their shares."""
    found = wire.call(describing(group), 5).groups[0]
    return len(found.members) if found.group_state == "Stable" else 0
