"""confluent-kafka's share consumer: its acknowledgements, members that share, die, or give up.

`pytest tests/compat/test_python_share_consumer.py --broker=apache-kafka` runs it in front of Apache
Kafka.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import (
    AcknowledgeType,
    KafkaException,
    Message,
    Producer,
    ShareConsumer,
    TopicPartition,
)

from tests.compat.ottla_command import WITHIN_S, Ottla
from tests.tools.waiting import wait_until

Member = Callable[..., ShareConsumer]

HOLDS = """
import json, sys, time
from confluent_kafka import ShareConsumer
consumer = ShareConsumer(json.loads(sys.argv[1]))
consumer.subscribe([sys.argv[2]])
while not (records := list(consumer.poll(1.0))):
    pass
print(len(records), flush=True)
time.sleep(600)
"""
"""A member that holds the records of its first poll."""


class Scene:
    """A topic of one partition, and a share group of its name that begins at its start."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.ottla = Ottla(bootstrap)
        self.name = f"share-{uuid4().hex}"
        self._members: list[ShareConsumer] = []
        self.ottla("topic", "create", self.name, "-p", "1")
        self.configure("share.auto.offset.reset=earliest")

    def configure(self, *configs: str) -> None:
        self.ottla("config", "set", "--group", self.name, *configs)

    def produce(self, count: int) -> None:
        """Write values "0", "1" … in one batch."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 100})
        for number in range(count):
            producer.produce(self.name, str(number))
        assert producer.flush(WITHIN_S) == 0

    def settings(self, **options: Any) -> dict[str, Any]:
        given = {key.replace("_", "."): value for key, value in options.items()}
        return {"bootstrap.servers": self.bootstrap, "group.id": self.name, **given}

    def member(self, **options: Any) -> ShareConsumer:
        member = ShareConsumer(self.settings(**options))
        member.subscribe([self.name])
        self._members.append(member)
        return member

    def explicit(self) -> ShareConsumer:
        return self.member(share_acknowledgement_mode="explicit")

    def close(self) -> None:
        for member in self._members:
            member.close()


@pytest.fixture
def scene(broker: str) -> Iterator[Scene]:
    made = Scene(broker)
    yield made
    made.close()


def polled(member: ShareConsumer) -> list[Message]:
    """Return the records of the first poll that has any, or fail."""
    records: list[Message] = []

    def found() -> bool:
        records.extend(member.poll(0.5))
        return bool(records)

    wait_until(found, "records come")
    assert not any(record.error() for record in records)
    return records


def deliveries(records: list[Message]) -> list[tuple[int | None, int | None]]:
    """Return each record's offset and the number of its delivery."""
    return [(record.offset(), record.delivery_count()) for record in records]


def committed(scene: Scene, member: ShareConsumer) -> None:
    assert member.commit_sync(WITHIN_S) == {TopicPartition(scene.name, 0): None}


def test_records_are_accepted_by_the_next_poll_or_commit(scene: Scene) -> None:
    scene.produce(3)
    member = scene.member()
    assert deliveries(polled(member)) == [(0, 1), (1, 1), (2, 1)]
    scene.produce(1)
    assert deliveries(polled(member)) == [(3, 1)]
    committed(scene, member)
    (described,) = scene.ottla.objects("group", "describe", scene.name)
    (row,) = described["partitions"]  # type: ignore[misc]
    assert row["lag"] == 0


def test_each_acknowledgement(scene: Scene) -> None:
    scene.produce(4)
    member = scene.explicit()
    records = polled(member)
    member.acknowledge(records[0])
    member.acknowledge(records[1], AcknowledgeType.RELEASE)
    member.acknowledge(records[2], AcknowledgeType.REJECT)
    member.acknowledge_offset(scene.name, 0, 3, AcknowledgeType.RELEASE)
    committed(scene, member)
    again = polled(member)
    assert deliveries(again) == [(1, 2), (3, 2)]
    for record in again:
        member.acknowledge(record)
    committed(scene, member)
    assert member.commit_sync(WITHIN_S) == {}


def test_the_callback_of_commit_async(scene: Scene) -> None:
    calls: list[tuple[dict[TopicPartition, set[int]], KafkaException | None]] = []
    scene.produce(2)
    member = scene.explicit()
    member.set_acknowledgement_commit_callback(lambda *call: calls.append(call))
    for record in polled(member):
        member.acknowledge(record)
    member.commit_async()
    wait_until(lambda: list(member.poll(0.2)) or calls, "the callback is called")
    assert calls == [({TopicPartition(scene.name, 0): {0, 1}}, None)]


def test_two_members_get_each_record_once(scene: Scene) -> None:
    members = [scene.member(max_poll_records=1) for _ in range(2)]
    offsets: list[list[int | None]] = [[], []]
    written = 0
    deadline = time.monotonic() + WITHIN_S
    while not (all(offsets) and len(offsets[0]) + len(offsets[1]) == written):
        assert time.monotonic() < deadline, offsets
        if not all(offsets):
            scene.produce(1)
            written += 1
        for member, seen in zip(members, offsets, strict=True):
            seen += [record.offset() for record in member.poll(0.2)]
    assert sorted(offsets[0] + offsets[1], key=lambda offset: offset or 0) == list(range(written))


def test_records_of_a_killed_member_come_back_before_their_lock_ends(scene: Scene) -> None:
    scene.configure("share.record.lock.duration.ms=60000")
    scene.produce(3)
    command = [sys.executable, "-c", HOLDS, json.dumps(scene.settings()), scene.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"3\n"
        finally:
            holder.kill()
    assert deliveries(polled(scene.member())) == [(0, 2), (1, 2), (2, 2)]


def test_records_beyond_the_limit_are_dead_letters(scene: Scene) -> None:
    letters = f"dlq.{scene.name}"
    scene.ottla(
        *("topic", "create", letters, "-p", "1", "-c"),
        "errors.deadletterqueue.group.enable=true",
    )
    scene.configure(
        "share.delivery.count.limit=2",
        f"errors.deadletterqueue.topic.name={letters}",
        "errors.deadletterqueue.copy.record.enable=true",
    )
    scene.produce(2)
    member = scene.explicit()
    for delivery in (1, 2):
        records = polled(member)
        assert deliveries(records) == [(0, delivery), (1, delivery)]
        for record in records:
            member.acknowledge(record, AcknowledgeType.RELEASE)
        committed(scene, member)
    printed: list[bytes] = []

    def written() -> bool:
        printed[:] = scene.ottla("consume", letters, "--to", "end").split()
        return len(printed) == 2

    wait_until(written, "both records are dead letters")
    assert printed == [b"0", b"1"]
