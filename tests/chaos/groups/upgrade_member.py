"""One place in a group that is upgraded: a confluent-kafka consumer, of one protocol, then another.

Its thread reads, commits what it read, and writes down when it read and what was committed. What a
member reads must not have been committed before by anybody: `Committed` is what all know of that.
"""

from __future__ import annotations

import threading
import time
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

CLASSIC, CONSUMER = "classic", "consumer"
POLL_S = 0.05
SESSION_MS = 10_000
HEARTBEAT_MS = 500
COMMIT_S = 0.1
REFUSED = {
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.STALE_MEMBER_EPOCH,
    KafkaError.FENCED_MEMBER_EPOCH,
    KafkaError._NO_OFFSET,
    KafkaError._ASSIGNMENT_LOST,
}
"""Whose partitions are with somebody else now, whose commit does not count."""


class Committed:
    """How far each partition is, and who read what was committed already."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self._lock = threading.Lock()
        self._next: dict[int, int] = {}

    def read(self, member: str, partition: int, offset: int) -> None:
        """A member was given a record."""
        with self._lock:
            following = self._next.get(partition, 0)
            if offset < following:
                self.wrong.append(
                    f"{member} reads {offset} of {partition}, committed up to {following}"
                )

    def committed(self, places: list[TopicPartition]) -> None:
        """So far, by whoever."""
        with self._lock:
            for place in places:
                self._next[place.partition] = max(place.offset, self._next.get(place.partition, 0))

    def total(self) -> int:
        """How many records are committed."""
        with self._lock:
            return sum(self._next.values())


class Pause(NamedTuple):
    """The longest time between two records of a member."""

    member: str
    longest_s: float


class UpgradeMember:
    """A consumer with a thread, until `close`."""

    def __init__(
        self, servers: str, group: str, topic: str, place: int, protocol: str, committed: Committed
    ) -> None:
        self.name = f"{place}-{protocol}"
        self.place = place
        self.protocol = protocol
        self.partitions: set[int] = set()
        self.failure: BaseException | None = None
        self._committed = committed
        self._longest_s = 0.0
        self._last_read: float | None = None
        self._following: dict[int, int] = {}
        """What was read and is to be committed."""
        self._commit_at = 0.0
        self._stopping = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "client.id": self.name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 50,
                "log_level": 0,
                **_of_protocol(protocol),
            }
        )
        self._topic = topic
        # Asked within `poll`: what was read is committed before somebody else may have it.
        self._consumer.subscribe(
            [topic], on_assign=self._given, on_revoke=self._to_give_up, on_lost=self._lost
        )
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    @property
    def has(self) -> int:
        """How many partitions."""
        return len(self.partitions)

    def close(self) -> Pause:
        """Leave the group. RuntimeError where something went wrong before."""
        self._stopping.set()
        self._thread.join(60)
        if self._thread.is_alive() or self.failure is not None:
            raise RuntimeError(f"{self.name} does not end well") from self.failure
        return Pause(self.name, round(self._longest_s, 3))

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._read_some()
            self._commit()
            self._consumer.close()
        except BaseException as error:  # noqa: BLE001 - told to whoever closes it
            self.failure = error

    def _given(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self.partitions |= {place.partition for place in places}

    def _to_give_up(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        self._commit()
        self._lost(consumer, places)

    def _lost(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        for place in places:
            self.partitions.discard(place.partition)
            self._following.pop(place.partition, None)

    def _read_some(self) -> None:
        message = self._consumer.poll(POLL_S)
        now = time.monotonic()
        if message is not None and _is_record(message):
            self._note(message, now)
        if self._following and now >= self._commit_at:
            self._commit_at = now + COMMIT_S
            self._commit()

    def _note(self, message: Message, now: float) -> None:
        if self._last_read is not None:
            self._longest_s = max(self._longest_s, now - self._last_read)
        self._last_read = now
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None
        self._committed.read(self.name, partition, offset)
        self._following[partition] = offset + 1

    def _commit(self) -> None:
        """What was read, unless that is with somebody else by now."""
        places = [TopicPartition(self._topic, *one) for one in self._following.items()]
        self._following = {}
        if not places:
            return
        try:
            told = self._consumer.commit(offsets=places, asynchronous=False) or []
        except KafkaException as error:
            if error.args[0].code() not in REFUSED:
                raise
            return
        self._committed.committed([one for one in told if one.error is None])


def _of_protocol(protocol: str) -> dict[str, Any]:
    if protocol == CONSUMER:
        return {"group.protocol": CONSUMER}
    return {
        # A group of its cooperative assignor cannot be converted: it keeps data in assignments.
        "partition.assignment.strategy": "range",
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS,
    }


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is not None and error.fatal():
        raise KafkaException(error)
    return error is None
