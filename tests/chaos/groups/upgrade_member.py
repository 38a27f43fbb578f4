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
BATCH = 100
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
        self.has = 0
        self.failure: BaseException | None = None
        self._committed = committed
        self._longest_s = 0.0
        self._last_read: float | None = None
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
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

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
            self._consumer.close()
        except BaseException as error:  # noqa: BLE001 - told to whoever closes it
            self.failure = error

    def _read_some(self) -> None:
        messages = self._consumer.consume(BATCH, POLL_S)
        self.has = len(self._consumer.assignment())
        records = [one for one in messages if _is_record(one)]
        if not records:
            return
        now = time.monotonic()
        if self._last_read is not None:
            self._longest_s = max(self._longest_s, now - self._last_read)
        self._last_read = now
        following: dict[int, TopicPartition] = {}
        for one in records:
            partition, offset = one.partition(), one.offset()
            assert partition is not None and offset is not None
            self._committed.read(self.name, partition, offset)
            following[partition] = TopicPartition(one.topic() or "", partition, offset + 1)
        self._commit(list(following.values()))

    def _commit(self, places: list[TopicPartition]) -> None:
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
