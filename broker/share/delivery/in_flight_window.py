"""The window of a share-partition: the records from its start offset to its end offset.

    … done │ start_offset ── batches in flight ── end_offset │ not yet acquired …

Owns the order of the batches, both offsets, and how far they move. Never decides for whom a record
is. The window may have holes: offsets that compaction removed, and, after a load, offsets that
were acquired before but never persisted. Of the latter the first is remembered, since it has to be
fetched again. Follows Kafka's `SharePartition` (its cached state).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from broker.share.delivery.in_flight import InFlightBatch, Run
from broker.share.record_state import RecordState

_FIRST = attrgetter("first")


class InFlightWindow:
    """The batches in flight, in the order of their offsets."""

    def __init__(self, start_offset: int, batches: Sequence[InFlightBatch] = ()) -> None:
        """Create a window with the batches that were persisted, in order."""
        self.start_offset = start_offset
        self.batches = list(batches)
        self.end_offset = self.batches[-1].last if self.batches else start_offset
        """The last offset in flight; the next one to acquire if none is in flight."""
        self._has_available = True  # False only if surely no record is available
        self._loaded_end = self.end_offset
        self._unread_from = self._first_hole(start_offset)

    def _first_hole(self, expected: int) -> int | None:
        """Return the first offset from `expected` on in the window that no batch has; None if there
        is none."""
        for batch in self.batches:
            if batch.first > expected:
                return expected
            expected = max(batch.last + 1, expected)
        return None

    # -- what is there -------------------------------------------------------------------------

    @property
    def length(self) -> int:
        """The number of offsets in the window, final ones and holes included."""
        return self.end_offset - self.start_offset + 1 if self.batches else 0

    @property
    def final_count(self) -> int:
        """The number of records in a final state from the start offset on."""
        return sum(batch.final_from(self.start_offset) for batch in self.batches)

    @property
    def unread_from(self) -> int | None:
        """The first offset that was not read again after the load; None if there is none."""
        return self._unread_from if self.end_offset == self._loaded_end else None

    def next_fetch_offset(self) -> int:
        """Return the offset from which the next Fetch should read."""
        if not self.batches or self.start_offset > self.batches[-1].last:
            self._has_available = False
            return self.end_offset
        if self._has_available:
            offset = self._first_to_fetch()
            if offset is not None:
                return offset
            self._has_available = False
        return self.end_offset + 1

    def _first_to_fetch(self) -> int | None:
        """Return the first offset that is available, or was not read since the load."""
        unread = self.unread_from
        for batch in self.batches:
            if unread is not None:
                if batch.first > unread:
                    return unread
                unread = max(batch.last + 1, unread)
            available = batch.first_available()
            if available is not None:
                return available
        return None

    def overlapping(self, first: int, last: int) -> list[InFlightBatch]:
        """Return the batches that have offsets from `first` to `last`."""
        index = bisect_right(self.batches, first, key=_FIRST)
        if index and self.batches[index - 1].last >= first:
            index -= 1
        stop = bisect_right(self.batches, last, key=_FIRST)
        return self.batches[index:stop]

    def floor(self, offset: int) -> InFlightBatch | None:
        """Return the last batch that begins at `offset` or before; None if there is none."""
        index = bisect_right(self.batches, offset, key=_FIRST)
        return self.batches[index - 1] if index else None

    # -- what changes --------------------------------------------------------------------------

    def add(self, batch: InFlightBatch) -> None:
        """Add a batch where the window has none. A first batch moves the start offset to it."""
        index = bisect_right(self.batches, batch.first, key=_FIRST)
        self.batches.insert(index, batch)
        if index == 0:
            self.start_offset = batch.first
        self.end_offset = max(self.end_offset, batch.last)
        if batch.first_available() is not None:
            self._has_available = True

    def note_available(self) -> None:
        """Note that a record may have become available."""
        self._has_available = True

    def note_read(self, offset: int) -> None:
        """Note that all before `offset` was read since the load."""
        if self._unread_from is None:
            return
        is_inside = self.end_offset == self._loaded_end and offset <= self._loaded_end
        left = max(offset, self._unread_from)
        has_hole = is_inside and self._first_hole(left) is not None
        self._unread_from = left if has_hole else None

    def archive(self, first: int, last: int, state: RecordState) -> bool:
        """Archive the records in `state` from `first` to `last`; return whether there were any."""
        is_any = False
        for batch in self.overlapping(first, last):
            for run in batch.between(first, last):
                if run.state is state:
                    batch.archive(batch.cut(run, first, last))
                    is_any = True
        return is_any

    def move_start_to_log_start(self, offset: int) -> None:
        """Move the start offset up to the log's new start; records before it are archived unless a
        member has them."""
        if not self.batches:
            self.start_offset = self.end_offset = offset
            return
        if self.archive(self.start_offset, offset - 1, RecordState.AVAILABLE):
            self._has_available = True
        self.start_offset = offset
        self.end_offset = max(self.end_offset, offset)
        self.note_read(offset)

    def move_start(self) -> bool:
        """Move the start offset behind the final records at the window's beginning, and drop the
        batches before it. Return whether a batch was dropped or the start moved."""
        last_final = self._last_final()
        if last_final is None:
            return False
        if last_final == self.batches[-1].last:
            # The log may begin behind the last batch.
            self.start_offset = self.end_offset = max(last_final + 1, self.start_offset)
            self.batches.clear()
            return True
        before = (self.start_offset, len(self.batches))
        index = bisect_right(self.batches, last_final, key=_FIRST)
        if self.batches[index - 1].last == last_final:
            start = self.batches[index].first
        else:
            index -= 1
            start = last_final + 1
        unread = self.unread_from
        if unread is not None:
            start = min(start, unread)
        self.start_offset = max(self.start_offset, start)
        del self.batches[:index]
        return before != (self.start_offset, len(self.batches))

    def _last_final(self) -> int | None:
        """Return the last of the final records at the window's beginning, if there are any. It
        never is behind an offset that was not read since the load."""
        last: int | None = None
        unread = self.unread_from
        for batch in self.batches:
            if unread is not None and batch.last >= unread:
                return last
            for run in batch.runs:
                if run.change is not None or not run.state.is_final:
                    return last
                last = run.last
        return last

    def acquired_runs(self) -> list[tuple[InFlightBatch, Run]]:
        """Return each run that a member has acquired, with its batch."""
        return [
            (batch, run)
            for batch in self.batches
            for run in batch.runs
            if run.state is RecordState.ACQUIRED
        ]
