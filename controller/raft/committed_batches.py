"""Delivery of committed batches to the listener: once each, in the order of their offsets.

A leader's own batches wait in memory until they are committed; all others are read from the log.

Owns: the offset up to which the listener has batches, and the leader's uncommitted batches. Never:
decides which batches are committed (`controller.raft.raft`).

Follows Kafka's `BlockingMessageQueue` and `KafkaRaftClient.ListenerContext`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from controller.metadata.loader import CommittedBatch
from controller.metadata.records import MetadataRecord, decode_record
from controller.raft.raft_log import RaftLog, RawBatch
from protocol.records import iterate_records


class CommittedBatches:
    """The batches that the listener has not received yet."""

    def __init__(
        self, log: RaftLog, from_offset: int, deliver_to: Callable[[CommittedBatch], None]
    ) -> None:
        """Start at `from_offset`; the listener already has everything before it."""
        self._log = log
        self._deliver_to = deliver_to
        self._in_memory: deque[CommittedBatch] = deque()
        self._next_offset = from_offset

    def appended(self, batch: CommittedBatch) -> None:
        """Keep a batch in memory that this node appended as the leader, until it is committed."""
        self._in_memory.append(batch)

    def truncated(self, offset: int) -> None:
        """Drop the batches in memory that have a record at `offset` or later, because the log was
        truncated there."""
        while self._in_memory and self._in_memory[-1].last_offset >= offset:
            self._in_memory.pop()

    def snapshot_loaded(self, end_offset: int) -> None:
        """Drop the batches in memory, and continue at `end_offset`; the listener got everything
        before it from a snapshot."""
        self._in_memory.clear()
        self._next_offset = end_offset

    def deliver(self, high_watermark: int) -> None:
        """Pass all batches before `high_watermark` to the listener.

        Raises MetadataLogFailure and LogDirFailure, and MetadataRecordError and CorruptBatch if a
        committed batch cannot be read.
        """
        memory = self._in_memory
        while self._next_offset < high_watermark:
            if memory and memory[0].base_offset == self._next_offset:
                self._deliver_one(memory.popleft())
                continue
            end = min(high_watermark, memory[0].base_offset) if memory else high_watermark
            for raw in self._log.read(self._next_offset, end):
                self._deliver_one(_decoded(raw))

    def _deliver_one(self, batch: CommittedBatch) -> None:
        """Pass a batch to the listener, and set the next offset to the end of the batch."""
        self._next_offset = batch.last_offset + 1
        self._deliver_to(batch)


def _decoded(raw: RawBatch) -> CommittedBatch:
    """Return a batch with its metadata records, without any if it is a control batch. Raises
    MetadataRecordError if a record is unknown."""
    header = raw.header
    records: list[MetadataRecord] = []
    if not header.is_control:
        records = [decode_record(record.value or b"") for record in iterate_records(raw.data)]
    return CommittedBatch(
        header.base_offset,
        header.last_offset,
        header.partition_leader_epoch,
        header.max_timestamp,
        records,
    )
