"""A partition of a topic for a share group, at the partition's leader: who has which records.

    acquire ──► acquired ── acknowledge, release ──► being persisted ── persisted ──► final, or
                    └────── lock expired ─────────► available              available again

Each change but an acquisition is a `StateWrite`, which the caller persists with the share
coordinator. `persisted` then completes the change, or takes it back. Owns the rules for
acknowledgements, locks and dead letters. Gets the time, and never reads the log. Follows Kafka's
`SharePartition` (KIP-932, KIP-1191).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from broker.share.delivery.acquisition import (
    AcquiredRange,
    AcquireRequest,
    Acquisition,
    StoredBatch,
)
from broker.share.delivery.in_flight import Change, InFlightBatch, Run
from broker.share.delivery.in_flight_window import InFlightWindow
from broker.share.delivery.settings import DeliverySettings
from broker.share.record_state import AcknowledgeType, RecordState, state_after
from broker.share.state_batches import StateBatch
from protocol.errors import ErrorCode


class StateWrite(NamedTuple):
    """The state that the share coordinator has to write for a change, and the change itself."""

    start_offset: int
    final_count: int
    batches: Sequence[StateBatch]
    changes: Sequence[Change] = ()
    """The changes that wait for the write; empty if the change counts even if the write fails."""
    dead_letters: Sequence[DeadLetter] = ()
    """Records to write to the dead-letter topic after a change that does not wait."""


class DeadLetter(NamedTuple):
    """Records that are on their way to the dead-letter topic."""

    first: int
    last: int
    deliveries: int
    is_rejected: bool
    """True if a member rejected the records; False if they were delivered too often."""


class AcknowledgedBatch(NamedTuple):
    """A member's acknowledgement of offsets: one type for all, or a type for each."""

    first: int
    last: int
    types: Sequence[AcknowledgeType]

    def parts(self, first: int, last: int) -> Iterator[tuple[int, int, AcknowledgeType]]:
        """Yield first offset, last offset and type of each part of the offsets from `first` to
        `last` with one type."""
        if len(self.types) == 1:
            yield first, last, self.types[0]
            return
        begin = first
        for offset in range(first, last + 1):
            kind = self.types[offset - self.first]
            if offset == last or self.types[offset + 1 - self.first] is not kind:
                yield begin, offset, kind
                begin = offset + 1


class Refusal(Exception):
    """An acknowledgement that is refused, with the error code for the client."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        """Create a refusal; `message` is for the client."""
        super().__init__(message)
        self.error = error


class PersistedState(NamedTuple):
    """A share-partition as the share coordinator keeps it."""

    start_offset: int
    batches: Sequence[StateBatch] = ()


class CorruptState(ValueError):
    """A persisted state that no share-partition can have."""


class SharePartition:
    """The records of a partition for a group. `settings()` gives the group's current configs."""

    def __init__(self, state: PersistedState, settings: Callable[[], DeliverySettings]) -> None:
        """Load a persisted state, whose start offset is known. Raises CorruptState."""
        _check(state)
        self._settings = settings
        self._window = InFlightWindow(
            state.start_offset, [InFlightBatch(Run(*batch)) for batch in state.batches]
        )
        self.unfinished_dead_letters = [
            DeadLetter(
                batch.first,
                batch.last,
                batch.deliveries,
                batch.deliveries < settings().delivery_limit,
            )
            for batch in state.batches
            if batch.state is RecordState.ARCHIVING
        ]
        """The records that were on their way to the dead-letter topic before the load."""
        self._window.move_start()

    # -- what is there -------------------------------------------------------------------------

    @property
    def start_offset(self) -> int:
        """The first offset that is not final: the share-partition start offset (SPSO)."""
        return self._window.start_offset

    @property
    def end_offset(self) -> int:
        """The last offset that was acquired; the next to acquire if none is in flight (SPEO)."""
        return self._window.end_offset

    @property
    def in_flight(self) -> int:
        """The number of offsets from the start offset to the end offset."""
        return self._window.length

    @property
    def final_count(self) -> int:
        """The number of records in flight in a final state."""
        return self._window.final_count

    @property
    def batch_count(self) -> int:
        """The number of batches in flight."""
        return len(self._window.batches)

    def next_fetch_offset(self) -> int:
        """Return the offset from which the next Fetch should read."""
        return self._window.next_fetch_offset()

    def can_acquire(self) -> bool:
        """Return whether a member could acquire a record if the log had it."""
        window = self._window
        is_inside = window.next_fetch_offset() != window.end_offset + 1
        return is_inside or window.length < self._settings().max_locks

    def runs(self) -> Iterator[StateBatch]:
        """Yield the state of the records in flight, in the order of their offsets."""
        for batch in self._window.batches:
            for run in batch.runs:
                yield _state_batch(run)

    # -- acquisition ---------------------------------------------------------------------------

    def acquire(
        self, request: AcquireRequest, stored: Sequence[StoredBatch], now_ms: float
    ) -> list[AcquiredRange]:
        """Acquire records of the batches that were read from the log; return their ranges."""
        if not stored or request.max_records <= 0:
            return []
        was_unread = self._window.unread_from is not None
        ranges = Acquisition(self._window, request, self._settings(), stored, now_ms).acquire()
        if was_unread:
            self._window.move_start()
        return ranges

    def take_back_acquisition(self, member: str, ranges: Sequence[AcquiredRange]) -> None:
        """Make records available again that a member acquired just now, but does not get. The
        delivery does not count."""
        for acquired in ranges:
            for batch in self._window.overlapping(acquired.first, acquired.last):
                for run in batch.between(acquired.first, acquired.last):
                    if not run.is_acquired_by(member) or run.change is not None:
                        continue
                    first, last = max(acquired.first, run.first), min(acquired.last, run.last)
                    part = batch.cut(run, first, last)
                    batch.set_state(part, RecordState.AVAILABLE)
                    part.take_back_delivery()
                batch.join_runs()
        self._window.note_available()

    def archive_aborted(
        self, ranges: Sequence[AcquiredRange], aborted: Sequence[StoredBatch]
    ) -> list[AcquiredRange]:
        """Archive the records of aborted transactions among those just acquired, as if they were
        acknowledged; return the other ranges. The start offset moves behind them, because no member
        acknowledges them."""
        for batch in aborted:
            for acquired in ranges:
                first, last = max(acquired.first, batch.first), min(acquired.last, batch.last)
                if first <= last:
                    self._window.archive(first, last, RecordState.ACQUIRED)
            ranges = [rest for acquired in ranges for rest in _without(acquired, batch)]
        if aborted:
            self._window.move_start()
        return list(ranges)

    # -- acknowledgement -----------------------------------------------------------------------

    def acknowledge(
        self, member: str, batches: Sequence[AcknowledgedBatch], now_ms: float
    ) -> StateWrite | None:
        """Apply a member's acknowledgements; return the write, or None if nothing is to persist.

        Raises Refusal, and changes nothing then except for locks that were renewed:
        INVALID_RECORD_STATE for a record that the member does not hold, INVALID_REQUEST for offsets
        behind the window. Offsets before the start offset are ignored.
        """
        changes: list[Change] = []
        try:
            for batch in batches:
                if batch.last >= self.start_offset:
                    self._acknowledge_batch(member, batch, changes, now_ms)
        except Refusal:
            self._take_back(changes)
            raise
        return self._write(changes)

    def _acknowledge_batch(
        self, member: str, batch: AcknowledgedBatch, changes: list[Change], now_ms: float
    ) -> None:
        """Apply one acknowledgement; add the changes to `changes`. Raises Refusal."""
        for in_flight in self._acknowledged(batch):
            first = max(batch.first, self.start_offset, in_flight.first)
            last = min(batch.last, in_flight.last)
            for run in in_flight.between(first, last):
                if not run.is_acquired_by(member) or run.change is not None:
                    raise Refusal(
                        ErrorCode.INVALID_RECORD_STATE,
                        f"member {member} has not acquired the records from offset {run.first}",
                    )
                for part in batch.parts(max(first, run.first), min(last, run.last)):
                    self._acknowledge_run(in_flight, run, part, changes, now_ms)
                    run = _run_behind(in_flight, run, part[1])

    def _acknowledged(self, batch: AcknowledgedBatch) -> list[InFlightBatch]:
        """Return the batches in flight that an acknowledgement is about. Raises Refusal."""
        window = self._window
        if window.floor(max(batch.first, self.start_offset)) is None:
            raise Refusal(
                ErrorCode.INVALID_RECORD_STATE, "the acknowledged records are not in flight"
            )
        overlapping = window.overlapping(batch.first, batch.last)
        if not overlapping or overlapping[-1].last < batch.last:
            raise Refusal(
                ErrorCode.INVALID_REQUEST, "the acknowledged offsets are behind those in flight"
            )
        return overlapping

    def _acknowledge_run(
        self,
        batch: InFlightBatch,
        run: Run,
        part: tuple[int, int, AcknowledgeType],
        changes: list[Change],
        now_ms: float,
    ) -> None:
        """Apply a type to a part of a run that the member has acquired. Raises Refusal."""
        first, last, kind = part
        settings = self._settings()
        if kind is AcknowledgeType.RENEW:
            if not settings.may_renew:
                raise Refusal(
                    ErrorCode.INVALID_RECORD_STATE, "the group does not allow to renew locks"
                )
            batch.cut(run, first, last).renew(now_ms + settings.lock_duration_ms)
            return
        self._begin(batch, batch.cut(run, first, last), kind, changes)

    def release(self, member: str) -> StateWrite | None:
        """Release all that a member has acquired, because its session ended; return the write."""
        changes: list[Change] = []
        for batch, run in self._window.acquired_runs():
            if run.member == member:
                for part in self._parts_at_start(batch, run):
                    self._begin(batch, part, AcknowledgeType.RELEASE, changes)
        return self._write(changes)

    def _parts_at_start(self, batch: InFlightBatch, run: Run) -> list[Run]:
        """Split a run at the start offset; return its one or two parts."""
        if not run.first < self.start_offset <= run.last:
            return [run]
        behind = batch.cut(run, self.start_offset, run.last)
        return [run, behind]

    def _begin(
        self, batch: InFlightBatch, run: Run, kind: AcknowledgeType, changes: list[Change]
    ) -> None:
        """Begin the change of an acquired run that follows from an acknowledgement."""
        state = self._state_after(run, kind)
        change = Change(run, state, is_rejected=kind is AcknowledgeType.REJECT)
        run.begin(change)
        batch.set_state(run, state)
        changes.append(change)

    def _state_after(self, run: Run, kind: AcknowledgeType) -> RecordState:
        """Return the state of an acquired run after an acknowledgement, a release or the end of
        its lock. Records before the start offset are never delivered again."""
        if kind is AcknowledgeType.RELEASE and run.last < self.start_offset:
            return RecordState.ARCHIVED
        settings = self._settings()
        return state_after(
            kind,
            run.deliveries,
            settings.delivery_limit,
            has_dead_letters=settings.has_dead_letters,
        )

    # -- locks ---------------------------------------------------------------------------------

    def next_expiry_ms(self) -> float | None:
        """Return when the next lock expires, on the clock of `acquire`; None if there is none."""
        locks = (run.lock_until_ms for _, run in self._window.acquired_runs())
        return min((until for until in locks if until is not None), default=None)

    def expire_locks(self, now_ms: float) -> StateWrite | None:
        """Make the records whose lock expired available again, or give them up at the delivery
        limit; return the write. The change counts also if the write fails."""
        batches: list[StateBatch] = []
        letters: list[DeadLetter] = []
        for batch, acquired in self._window.acquired_runs():
            if acquired.lock_until_ms is None or acquired.lock_until_ms > now_ms:
                continue
            for run in self._parts_at_start(batch, acquired):
                batch.set_state(run, self._state_after(run, AcknowledgeType.RELEASE))
                run.unlock()
                batches.append(_state_batch(run))
                if run.state is RecordState.ARCHIVING:
                    letters.append(DeadLetter(run.first, run.last, run.deliveries, False))
        if not batches:
            return None
        self._window.note_available()
        return StateWrite(self.start_offset, self.final_count, batches, (), letters)

    # -- persisting ----------------------------------------------------------------------------

    def _write(self, changes: Sequence[Change]) -> StateWrite | None:
        """Return the write for changes; None without changes."""
        if not changes:
            return None
        batches = [
            StateBatch(change.first, change.last, change.state, change.deliveries)
            for change in changes
        ]
        return StateWrite(self.start_offset, self.final_count, batches, changes)

    def persisted(self, write: StateWrite, *, is_written: bool) -> Sequence[DeadLetter]:
        """Complete a write, or take its changes back; return the new dead letters.

        After it, waiting Fetches may find records. After a write that failed, call `expire_locks`:
        no lock ends while its record is in a change. So a record that is given up then becomes a
        dead letter, too; Kafka 4.4 archives it without one.
        """
        letters = list(write.dead_letters)
        if is_written:
            letters += self._complete(write.changes)
        else:
            self._take_back(write.changes)
        if is_written or not write.changes:
            self._window.move_start()
        return letters

    def _complete(self, changes: Sequence[Change]) -> Iterator[DeadLetter]:
        """Complete changes; yield the dead letters in them."""
        for change in changes:
            for run in _runs_of(change):
                run.end_change()
                run.unlock()
                if change.state is RecordState.ARCHIVING:
                    yield DeadLetter(run.first, run.last, run.deliveries, change.is_rejected)
        self._window.note_available()
        for change in changes:
            batch = self._window.floor(change.first)
            if batch is not None:
                batch.join_runs()

    def _take_back(self, changes: Sequence[Change]) -> None:
        """Give the records of failed changes back to their member, with the locks that they had."""
        for change in changes:
            for run in _runs_of(change):
                run.end_change()
                batch = self._window.floor(run.first)
                assert batch is not None
                batch.set_state(run, RecordState.ACQUIRED, change.member)

    def dead_letter_written(self, letter: DeadLetter) -> StateWrite:
        """Archive records that are in the dead-letter topic, or that could not be written to it;
        return the write. The change counts also if the write fails."""
        self._window.archive(letter.first, letter.last, RecordState.ARCHIVING)
        archived = StateBatch(letter.first, letter.last, RecordState.ARCHIVED, letter.deliveries)
        return StateWrite(self.start_offset, self.final_count, [archived])

    # -- the log -------------------------------------------------------------------------------

    def log_start_moved(self, offset: int) -> None:
        """Move the start offset to the log's start, if that is behind it."""
        if offset > self.start_offset:
            self._window.move_start_to_log_start(offset)
            self._window.move_start()


def _check(state: PersistedState) -> None:
    """Raise CorruptState unless the batches are in order, and none begins before the start."""
    expected = state.start_offset
    for batch in state.batches:
        if batch.first < expected or batch.last < batch.first:
            raise CorruptState(f"batch {batch.first}-{batch.last} after offset {expected - 1}")
        expected = batch.last + 1


def _state_batch(run: Run) -> StateBatch:
    return StateBatch(run.first, run.last, run.state, run.deliveries)


def _runs_of(change: Change) -> list[Run]:
    """Return the runs that still belong to a change; those that were archived do not."""
    return [run for run in change.runs if run.change is change]


def _run_behind(batch: InFlightBatch, run: Run, offset: int) -> Run:
    """Return the run of a batch that begins behind `offset`; `run` if there is none."""
    return next((other for other in batch.runs if other.first == offset + 1), run)


def _without(acquired: AcquiredRange, batch: StoredBatch) -> Iterator[AcquiredRange]:
    """Yield the parts of a range outside of a batch."""
    if batch.last < acquired.first or acquired.last < batch.first:
        yield acquired
        return
    if acquired.first < batch.first:
        yield acquired._replace(last=batch.first - 1)
    if batch.last < acquired.last:
        yield acquired._replace(first=batch.last + 1)
