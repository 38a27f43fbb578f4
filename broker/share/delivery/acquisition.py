"""The acquisition of records by a member of a share group, from the batches that a Fetch read.

A member gets records of the window that are available again, then offsets behind it. A batch that
was delivered often is throttled: its records come in halves, quarters …, and each record's last
delivery is alone, so that one bad record does not take the others along. Follows Kafka's
`SharePartition.acquire` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from broker.share.delivery.in_flight import InFlightBatch, Run
from broker.share.delivery.in_flight_window import InFlightWindow
from broker.share.delivery.settings import DeliverySettings
from broker.share.record_state import RecordState


class StoredBatch(NamedTuple):
    """The offsets of a record batch in the log."""

    first: int
    last: int


class AcquiredRange(NamedTuple):
    """Offsets that a member acquired, and how often they were delivered, this time included."""

    first: int
    last: int
    deliveries: int


class AcquireRequest(NamedTuple):
    """A member's wish for records of a share-partition."""

    member: str
    max_records: int
    batch_size: int
    """The most records that should be in one range; a range ends at the end of a stored batch."""
    fetch_offset: int
    """The offset from which the log was read."""
    is_limited: bool = False
    """True if `max_records` is never exceeded (mode record_limit). Otherwise whole stored batches
    are acquired."""


class Acquisition:
    """An acquisition by a member: the ranges so far, and the number of records that are left."""

    def __init__(
        self,
        window: InFlightWindow,
        request: AcquireRequest,
        settings: DeliverySettings,
        stored: Sequence[StoredBatch],
        now_ms: float,
    ) -> None:
        """Prepare the acquisition of records of `stored`, which are in order and not empty."""
        self.ranges: list[AcquiredRange] = []
        self._window = window
        self._request = request
        self._settings = settings
        self._stored = stored
        self._lock_until_ms = now_ms + settings.lock_duration_ms
        self._last, self._left = self._limits()

    def _limits(self) -> tuple[int, int]:
        """Return the last offset that may be acquired, and the number of records.

        If the window is full, the member gets nothing behind its end.
        """
        window, request, last = self._window, self._request, self._stored[-1].last
        room = min(request.max_records, self._settings.max_locks - window.length)
        if room > 0 or request.fetch_offset > window.end_offset:
            return last, room
        inside = window.end_offset - request.fetch_offset + 1
        return min(last, window.end_offset), min(request.max_records, inside)

    def acquire(self) -> list[AcquiredRange]:
        """Acquire what the member may get, and return the ranges, in the order of acquisition."""
        window = self._window
        if self._left <= 0 or self._stored[-1].last < window.start_offset:
            return []
        first = self._stored[0].first
        if self._request.fetch_offset < first:
            self._archive_missing(first)
        overlapping = window.overlapping(first, self._last)
        if overlapping:
            self._acquire_inside(first, overlapping)
        else:
            self._acquire_new(max(first, window.start_offset), self._last)
        self._note_read(first)
        return self.ranges

    def _note_read(self, first: int) -> None:
        """Note which offsets of a loaded window were read again. Those of a hole that the log does
        not have, since compaction removed them, count as read."""
        unread = self._window.unread_from
        if unread is None:
            return
        if self._left > 0:
            self._window.note_read(self._last + 1)
        elif self.ranges:
            self._window.note_read(self.ranges[-1].last + 1)
        elif unread < first:
            self._window.note_read(first)

    def _archive_missing(self, first: int) -> None:
        """Archive the available records before `first`, which the log no longer has."""
        if self._window.archive(self._request.fetch_offset, first - 1, RecordState.AVAILABLE):
            self._window.note_available()

    def _acquire_inside(self, first: int, overlapping: Sequence[InFlightBatch]) -> None:
        """Acquire what is available in batches of the window, then what is behind the last."""
        unread = max(min(first, overlapping[0].first), self._window.start_offset)
        for batch in overlapping:
            if self._left <= 0:
                return
            if self._window.unread_from is not None:
                if unread < batch.first:
                    self._acquire_new(unread, batch.first - 1)
                unread = batch.last + 1
                if self._left <= 0:
                    return
            self._acquire_again(batch, first)
        if self._left > 0 and overlapping[-1].last < self._last:
            self._acquire_new(overlapping[-1].last + 1, self._last)

    # -- records that were delivered before ----------------------------------------------------

    def _acquire_again(self, batch: InFlightBatch, first: int) -> None:
        """Acquire what is available in a batch, from `first` on.

        A throttled batch is delivered alone: this ends the acquisition.
        """
        available = [run for run in batch.between(first, self._last) if run.is_available]
        if not available:
            return
        peak = max(run.deliveries for run in available)
        is_throttled = peak >= self._settings.throttled_from
        if is_throttled and self.ranges:
            self._left = 0
            return
        acquired = self._take(batch, available, first)
        self._left -= sum(len(run) for run in acquired)
        if acquired and is_throttled:
            self._left = 0
        self._add_ranges(acquired)

    def _take(self, batch: InFlightBatch, available: Sequence[Run], first: int) -> list[Run]:
        """Acquire runs of a batch up to the limits of a throttled batch and of the request."""
        limit, throttled_from = self._settings.delivery_limit, self._settings.throttled_from
        most = self._left if self._request.is_limited else len(batch)
        is_throttled, taken, acquired = False, 0, list[Run]()
        for run in available:
            is_last_delivery = limit > 2 and run.deliveries == limit - 1
            if taken >= most or (is_last_delivery and taken):
                break
            if run.deliveries >= throttled_from and not is_throttled:
                is_throttled = True
                part = max(1, len(batch) >> (run.deliveries - throttled_from + 1))
                most = min(most, part) if taken < part else most
            start = max(run.first, first)
            room = 1 if is_last_delivery else most - taken
            part_of_run = batch.cut(run, start, min(run.last, self._last, start + room - 1))
            self._lock(batch, part_of_run)
            acquired.append(part_of_run)
            taken += len(part_of_run)
            if is_last_delivery:
                break
        return acquired

    def _lock(self, batch: InFlightBatch, run: Run) -> None:
        """Give the member the lock of an available run."""
        batch.set_state(run, RecordState.ACQUIRED, self._request.member)
        run.deliver(self._lock_until_ms)

    def _add_ranges(self, acquired: Sequence[Run]) -> None:
        """Add the ranges of a batch's runs; neighbours with the same count are one range."""
        ranges: list[AcquiredRange] = []
        for run in acquired:
            if (
                ranges
                and ranges[-1].last + 1 == run.first
                and ranges[-1].deliveries == run.deliveries
            ):
                ranges[-1] = ranges[-1]._replace(last=run.last)
            else:
                ranges.append(AcquiredRange(run.first, run.last, run.deliveries))
        self.ranges += ranges

    # -- records that are new to the group -----------------------------------------------------

    def _acquire_new(self, first: int, last: int) -> None:
        """Acquire offsets that no batch of the window has, up to the end of the stored batch in
        which the member's limit lies."""
        window = self._window
        if not window.batches:
            first = max(first, window.end_offset)
        if self._left < last - first + 1:
            end = self._end_of_stored(first + self._left - 1)
            last = min(end, last) if window.unread_from is not None else end
        if self._request.is_limited:
            acquired = [self._add_limited(first, last)]
        else:
            acquired = [self._add(*part) for part in self._parts(first, last)]
        self.ranges += acquired
        self._left -= acquired[-1].last - first + 1

    def _end_of_stored(self, offset: int) -> int:
        """Return the last offset of the stored batch that has `offset`; `offset` if none has."""
        for stored in self._stored:
            if stored.first <= offset <= stored.last:
                return stored.last
        return offset

    def _parts(self, first: int, last: int) -> list[tuple[int, int]]:
        """Split offsets into ranges of the wished size, each at the end of a stored batch."""
        batch_size = max(1, self._request.batch_size)
        if last - first + 1 <= batch_size:
            return [(first, last)]
        parts = []
        for stored in self._stored:
            if stored.first > last:
                break
            if stored.first - first >= batch_size:
                parts.append((first, stored.first - 1))
                first = stored.first
        return [*parts, (first, last)]

    def _add(self, first: int, last: int) -> AcquiredRange:
        """Add a batch to the window, all of it acquired."""
        self._window.add(InFlightBatch(self._new_run(first, last)))
        return AcquiredRange(first, last, 1)

    def _add_limited(self, first: int, last: int) -> AcquiredRange:
        """Add a batch to the window, of which the member acquires no more than it may get."""
        acquired_last = min(last, first + self._left - 1)
        runs = [self._new_run(first, acquired_last)]
        if acquired_last < last:
            runs.append(Run(acquired_last + 1, last, RecordState.AVAILABLE, 0))
        self._window.add(InFlightBatch(*runs))
        return AcquiredRange(first, acquired_last, 1)

    def _new_run(self, first: int, last: int) -> Run:
        """Return a run that the member acquires for the first time."""
        return Run(first, last, RecordState.ACQUIRED, 1, self._request.member, self._lock_until_ms)
