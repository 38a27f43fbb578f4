"""One place in a group that is upgraded: a confluent-kafka consumer, of one protocol, then another.

Its thread reads, commits what it read, and writes both down in a `Reading`, which all members
share: what one reads must not have been committed before by anybody.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tests.chaos.groups.reading import Reading
from tests.tools.cluster_security import ClusterLogin

CLASSIC, CONSUMER = "classic", "consumer"
POLL_S = 0.05
SESSION_MS = 45_000
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


class UpgradeMember:
    """A consumer with a thread, until `close`."""

    def __init__(
        self,
        servers: str,
        group: str,
        topic: str,
        place: int,
        protocol: str,
        reading: Reading,
        login: ClusterLogin | None = None,
    ) -> None:
        self.name = f"{place}-{protocol}"
        self.place = place
        self.protocol = protocol
        self.partitions: set[int] = set()
        self.failure: BaseException | None = None
        self._reading = reading
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
                **({} if login is None else login.of_librdkafka()),
            }
        )
        self._topic = topic
        # Asked within `poll`: what was read is committed before somebody else may have it.
        self._consumer.subscribe(
            [topic], on_assign=self._given, on_revoke=self._to_give_up, on_lost=self._lost
        )
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        reading.comes(self.name, time.monotonic())
        self._thread.start()

    @property
    def has(self) -> int:
        """How many partitions."""
        return len(self.partitions)

    def close(self) -> None:
        """Leave the group. RuntimeError where something went wrong before."""
        self._stopping.set()
        self._thread.join(60)
        if self._thread.is_alive() or self.failure is not None:
            raise RuntimeError(f"{self.name} does not end well") from self.failure

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._read_some()
            self._commit()
            self._reading.goes(self.name)
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
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None
        self._reading.read(self.name, partition, offset, now)
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
        for place in told:
            if place.error is None:
                self._reading.committed(place.partition, place.offset)


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
