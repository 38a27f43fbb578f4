"""Invariants of records of any client: I1, I2, I3 and I6 in tests/simulation/README.md."""

from __future__ import annotations

from typing import Protocol

from broker.replication.partition import Partition
from ground.sim_scheduler import SimScheduler
from protocol.api_keys import ApiKey
from protocol.record_batch import RecordBatchHeader, iterate_batches
from simulation.invariants.exchanged_records import (
    Content,
    LogRead,
    Named,
    Place,
    acknowledged_records,
    fetched_records,
)
from simulation.invariants.invariant import Invariant, OfEachBroker, Promises
from simulation.network.sim_network import Exchange

ALL = -1
READ_BYTES = 1 << 20


class ReadAtTheEnd(Protocol):
    """The result of the last reader."""

    partitions: dict[Place, LogRead]
    names: dict[Place, str]
    """The topic name of each partition."""


class RecordsAreKept(Invariant):
    """I1: a record that was acknowledged with acks=all, or read, is in the log at the end. I2: an
    offset has the same content for every reader."""

    name = "I1"

    def __init__(self, world: SimScheduler, promises: Promises) -> None:
        super().__init__(world, promises)
        self._at: dict[Named, dict[int, Content]] = {}
        self._kept: dict[Named, dict[int, None]] = {}
        self._left_out: dict[str, None] = {}
        """Topics that may lose records: deleted, compacted, or with unclean elections."""

    def sent(self, exchange: Exchange) -> None:
        """Leave out of the checks the topics of a CreateTopics or DeleteTopics that may lose
        records: deleted, compacted, or with unclean elections."""
        request = exchange.request
        if exchange.key is ApiKey.DELETE_TOPICS:
            names = [*request.topic_names, *(topic.name for topic in request.topics)]
            self._left_out |= dict.fromkeys(names)
        elif exchange.key is ApiKey.CREATE_TOPICS:
            for topic in request.topics:
                settings = {config.name: config.value or "" for config in topic.configs}
                loses = settings.get("unclean.leader.election.enable") == "true"
                if loses or "compact" in settings.get("cleanup.policy", ""):
                    self._left_out[topic.name] = None

    def received(self, exchange: Exchange) -> None:
        """Keep the records of an acknowledged Produce or of a Fetch: they must be in the log at the
        end. In a cluster, a Produce counts only with acks=all.

        Raises Violation (I2) if an offset held another record before.
        """
        if exchange.key is ApiKey.PRODUCE:
            if exchange.request.acks == ALL or (exchange.request.acks and not self.in_cluster):
                for place, base, contents in acknowledged_records(exchange):
                    records = list(enumerate(contents, base))
                    self._note_records(place, records, f"acknowledged to {exchange.client}")
        elif exchange.key is ApiKey.FETCH:
            for place, _, records in fetched_records(exchange):
                self._note_records(place, records, f"read by {exchange.client}")

    def _note_records(self, place: Named, records: list[tuple[int, Content]], how: str) -> None:
        """Keep records that must be in the log at the end.

        Raises Violation (I2) if an offset held another record before, unless the topic may lose
        records. `how` says in its text where the record came from.
        """
        contents, kept = self._at.setdefault(place, {}), self._kept.setdefault(place, {})
        for offset, content in records:
            kept[offset] = None
            if contents.setdefault(offset, content) != content and place[0] not in self._left_out:
                self.name = "I2"
                raise self.broken(
                    f"offset {offset} of {_shown(place)} held {_words(contents[offset])}, "
                    f"{_words(content)} is {how}"
                )

    def at_end(self, final: object) -> None:
        """Raise Violation if a log, read at the end, lacks a record.

        Topics that are left out may lack records.
        """
        read: ReadAtTheEnd = final  # type: ignore[assignment]
        for place, log in read.partitions.items():
            name = read.names[place]
            if name not in self._left_out:
                self._check((name, place[1]), log)

    def _check(self, place: Named, log: LogRead) -> None:
        """Raise Violation if the log, from its start on, lacks a record that must be kept."""
        for offset in self._kept.get(place, ()):
            content = self._at[place][offset]
            if offset >= log.start and log.records.get(offset) != content:
                content_at_end = _words(log.records[offset]) if offset in log.records else "nothing"
                raise self.broken(
                    f"{_words(content)} was acknowledged or read at offset {offset} of "
                    f"{_shown(place)}, and there is {content_at_end} at the end"
                )


class NothingAboveTheHighWatermark(Invariant):
    """I6: a consumer gets no record above the high watermark, which may still be truncated."""

    name = "I6"

    def received(self, exchange: Exchange) -> None:
        """Raise Violation if a client gets a record at or above the high watermark."""
        if exchange.key is not ApiKey.FETCH:
            return
        for place, high_watermark, records in fetched_records(exchange):
            if records and records[-1][0] >= high_watermark:
                raise self.broken(
                    f"{exchange.client} is given {records[-1][0]} of {_shown(place)}, above "
                    f"{high_watermark}"
                )


class BatchesAreOnce(OfEachBroker):
    """I3: a numbered batch of an idempotent producer is in the log once."""

    name = "I3"

    def at_end(self, final: object) -> None:
        """Raise Violation if a leader's log has a batch of an idempotent producer twice."""
        for broker in self.brokers.values():
            for partition in broker.replicas.partitions():
                if partition.is_leader:
                    self._check(partition)

    def _check(self, partition: Partition) -> None:
        """Raise Violation if the log has a batch of an idempotent producer twice."""
        seen: dict[tuple[int, int, int], int] = {}
        for batch in _batches(partition):
            if not batch.has_producer_id or batch.is_control:
                continue
            key = (batch.producer_id, batch.producer_epoch, batch.base_sequence)
            if key in seen:
                raise self.broken(
                    f"{partition!r} has batch {key[2]} of producer {key[0]} at {seen[key]} and at "
                    f"{batch.base_offset}"
                )
            seen[key] = batch.base_offset


def _batches(partition: Partition) -> list[RecordBatchHeader]:
    """Return the batch headers of a leader's log below its high watermark."""
    log = partition.log
    offset, batches = log.log_start_offset, []
    while offset < log.high_watermark:
        read = log.read(offset, READ_BYTES)
        data = read.records if isinstance(read.records, bytes) else read.records.read()
        headers = [header for _, header in iterate_batches(memoryview(data))]
        if not headers:
            break
        batches += headers
        offset = headers[-1].next_offset
    return batches


def _shown(place: Named) -> str:
    """Return a partition as text, such as `orders-0`."""
    return f"{place[0]}-{place[1]}"


def _words(content: Content) -> str:
    """Return a record's key, unless it is null, and value as text."""
    key, value = content
    return repr(value) if key is None else f"{key!r}: {value!r}"


RECORD_INVARIANTS = (RecordsAreKept, NothingAboveTheHighWatermark, BatchesAreOnce)
