"""Batches of records with their state, as the share coordinator keeps and combines them.

Owns the combination: of two states of a record the one with the higher delivery count counts, and
of the same count the one that is nearer to the end. So the order of writes does not matter.
Follows Kafka's `PersisterStateBatch` and `PersisterStateBatchCombiner`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from broker.share.record_state import RecordState

_FIRST, _LAST = attrgetter("first"), attrgetter("last")


class StateBatch(NamedTuple):
    """Neighbouring records, `first` to `last`, in the same state."""

    first: int
    last: int
    state: RecordState
    deliveries: int

    def is_behind(self, other: StateBatch) -> bool:
        """Return whether this state of a record is older than `other`."""
        return (self.deliveries, self.state) < (other.deliveries, other.state)


class StateBatches:
    """Batches in the order of their offsets, which do not overlap; neighbours differ."""

    def __init__(self, batches: Iterable[StateBatch] = ()) -> None:
        """Combine batches in any order."""
        self._batches: list[StateBatch] = []
        for batch in batches:
            self.add(batch)

    def __iter__(self) -> Iterator[StateBatch]:
        return iter(self._batches)

    def __len__(self) -> int:
        return len(self._batches)

    def add(self, batch: StateBatch) -> None:
        """Combine a batch with those that are there."""
        begin = bisect_left(self._batches, batch.first - 1, key=_LAST)
        end = bisect_right(self._batches, batch.last + 1, key=_FIRST)
        touched = self._batches[begin:end]
        self._batches[begin:end] = _joined(_combined(touched, batch)) if touched else (batch,)

    def drop_before(self, start_offset: int) -> None:
        """Drop all records before `start_offset`."""
        del self._batches[: bisect_left(self._batches, start_offset, key=_LAST)]
        if self._batches and self._batches[0].first < start_offset:
            self._batches[0] = self._batches[0]._replace(first=start_offset)


def _combined(touched: Sequence[StateBatch], batch: StateBatch) -> Iterator[StateBatch]:
    """Yield the parts of `batch` and of the batches that it touches, in order."""
    begin = batch.first
    for old in touched:
        if old.first < batch.first:
            yield old._replace(last=min(old.last, batch.first - 1))
        if begin < old.first and begin <= batch.last:
            yield batch._replace(first=begin, last=min(batch.last, old.first - 1))
        first, last = max(old.first, batch.first), min(old.last, batch.last)
        if first <= last:
            newer = batch if old.is_behind(batch) else old
            yield newer._replace(first=first, last=last)
        if old.last > batch.last:
            yield old._replace(first=max(old.first, batch.last + 1))
        begin = max(begin, old.last + 1)
    if begin <= batch.last:
        yield batch._replace(first=begin)


def _joined(parts: Iterable[StateBatch]) -> list[StateBatch]:
    """Return the parts with neighbours of the same state as one."""
    joined: list[StateBatch] = []
    for part in parts:
        if joined and joined[-1].last + 1 == part.first and joined[-1][2:] == part[2:]:
            joined[-1] = joined[-1]._replace(last=part.last)
        else:
            joined.append(part)
    return joined
