"""Removal of many offsets at a time: those of deleted topics, and those that have expired.

A shard looks through all that it has, in slices, and writes tombstones a batch at a time: nothing
else of it is decided meanwhile, and no more than a batch is in memory. What a batch removed stays
removed where a later one is refused; the next removal finds the rest.

Owns: how far it is. Never: which offsets go (`offset_store`), nor writes.

Follows Kafka's `GroupCoordinatorShard.cleanupExpiredOffsets` and `onPartitionsDeleted`, each of
which is one event of a shard.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.coordinator.coordinator_log import Record
from broker.coordinator.coordinator_runtime import RECORDS_PER_BATCH
from broker.coordinator.outcome import AT_ONCE, Outcome
from ground.sliced_work import Pace, Steps
from protocol.errors import ErrorCode

LOOKS_A_SLICE = 1_000
"""Offsets or groups that are looked at before others have their turn."""
LOOKS_A_TOMBSTONE = 4
"""As many of them take as long as one tombstone."""

A_SLICE = (None,) * LOOKS_A_SLICE
"""What is given for something that took a slice of its own."""

Found = Iterator[Record | None]
"""A tombstone for each of what is to go; None for what was looked at and stays."""


class Removal:
    """Of one shard."""

    def __init__(self, found: Found) -> None:
        """`found` is gone through batch by batch: it has to stand that what it gave is removed."""
        self._found = found
        self._count = 0

    def next_batch(self) -> Steps[Outcome[int]]:
        """The next tombstones, and what follows them; replies with the number of all."""
        records: list[Record] = []
        pace = Pace(LOOKS_A_SLICE)
        for one in self._found:
            if one is not None:
                records.append(one)
                if len(records) == RECORDS_PER_BATCH:
                    break
            if pace.is_full(1 if one is None else LOOKS_A_TOMBSTONE):
                yield None
        self._count += len(records)
        return Outcome(self._count, records, after=AT_ONCE, then=self._then if records else None)

    def _then(self, error: ErrorCode) -> Steps[Outcome[int]] | None:
        return self.next_batch() if error is ErrorCode.NONE else None
