"""The removal of many offsets: those of deleted topics, and those that have expired.

A shard scans all its offsets in slices, and writes tombstones batch by batch. It decides nothing
else meanwhile, and at most one batch is in memory. If the append of a batch fails, the batches
before it stay removed; the next removal finds the rest.

Owns the position of the scan. Never selects the offsets (`offset_store`), and never writes.

Follows Kafka's `GroupCoordinatorShard.cleanupExpiredOffsets` and `onPartitionsDeleted`, each of
which is one event of a shard.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.coordinator.coordinator_log import Record
from broker.coordinator.outcome import AT_ONCE, RECORDS_PER_BATCH, Outcome
from ground.sliced_work import Pace, Steps
from protocol.errors import ErrorCode

LOOKS_A_SLICE = 1_000
"""The number of offsets or groups that a scan checks in one slice."""
LOOKS_A_TOMBSTONE = 4
"""The number of checks that take as long as one tombstone."""

A_SLICE = (None,) * LOOKS_A_SLICE
"""The items that a scan yields for work that took a slice of its own."""

TombstoneScan = Iterator[Record | None]
"""The tombstone of each offset to remove, and None for each item that stays."""


class ShardRemoval:
    """The removal of offsets and groups of one shard."""

    def __init__(self, scan: TombstoneScan) -> None:
        """Create a removal of the records for which `scan` yields tombstones. `scan` resumes only
        after the tombstones that it yielded are replayed."""
        self._scan = scan
        self._count = 0

    def next_batch(self) -> Steps[Outcome[int]]:
        """Return the outcome with the next tombstones; its `then` returns the outcome after it.

        The last outcome has no tombstones, and replies with the number of all tombstones.
        """
        records: list[Record] = []
        pace = Pace(LOOKS_A_SLICE)
        for tombstone in self._scan:
            if tombstone is not None:
                records.append(tombstone)
                if len(records) == RECORDS_PER_BATCH:
                    break
            if pace.is_full(1 if tombstone is None else LOOKS_A_TOMBSTONE):
                yield None
        self._count += len(records)
        return Outcome(
            self._count, records, after=AT_ONCE, then=self._next_after if records else None
        )

    def _next_after(self, error: ErrorCode) -> Steps[Outcome[int]] | None:
        """Return the work for the next batch after a written batch; None, which ends the removal,
        after an error."""
        return self.next_batch() if error is ErrorCode.NONE else None
