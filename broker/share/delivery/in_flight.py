"""The records of an acquisition, as runs of offsets that share a state.

Kafka keeps a state for each batch, and for each offset once a batch is split. Here a batch is a
list of runs: neighbours with the same state, delivery count, member and lock. A batch stays one
thing while its runs change, since throttled delivery takes parts of a batch. Owns the splitting
of runs, and the count of final records. Never decides. Follows Kafka's `InFlightBatch` and
`InFlightState`.
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.share.record_state import RecordState

NO_MEMBER = ""


class Change:
    """A change of state that is being persisted: the runs that changed, and what they were.

    If a run is split meanwhile, both parts belong to the change. A run that was archived meanwhile
    left its change, and stays archived.
    """

    __slots__ = ("deliveries", "first", "is_rejected", "last", "member", "runs", "state")

    def __init__(self, run: Run, state: RecordState, *, is_rejected: bool) -> None:
        """Begin the change of an acquired run to `state`."""
        self.runs = [run]
        self.member = run.member
        self.first, self.last = run.first, run.last
        self.state = state
        self.deliveries = run.deliveries
        self.is_rejected = is_rejected


class Run:
    """Neighbouring offsets, `first` to `last`, in the same state."""

    __slots__ = ("change", "deliveries", "first", "last", "lock_until_ms", "member", "state")

    def __init__(
        self,
        first: int,
        last: int,
        state: RecordState,
        deliveries: int,
        member: str = NO_MEMBER,
        lock_until_ms: float | None = None,
    ) -> None:
        """Create a run; `lock_until_ms` is on the monotonic clock, None without a lock."""
        self.first = first
        self.last = last
        self.state = state
        self.deliveries = deliveries
        self.member = member
        self.lock_until_ms = lock_until_ms
        self.change: Change | None = None

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __repr__(self) -> str:
        pending = "" if self.change is None else ", being persisted"
        return f"Run({self.first}-{self.last} {self.state.name} {self.deliveries}{pending})"

    @property
    def is_available(self) -> bool:
        """True if a member may acquire the run."""
        return self.state is RecordState.AVAILABLE and self.change is None

    def is_acquired_by(self, member: str) -> bool:
        """Return whether `member` holds the run's lock."""
        return self.state is RecordState.ACQUIRED and self.member == member

    def become(self, state: RecordState, member: str) -> None:
        """Set state and member; only the run's batch calls this, which counts final records."""
        self.state = state
        self.member = member

    def deliver(self, lock_until_ms: float) -> None:
        """Count a delivery, and lock the run for it."""
        self.deliveries += 1
        self.lock_until_ms = lock_until_ms

    def take_back_delivery(self) -> None:
        """Do not count the last delivery, whose records were not sent, and end its lock."""
        self.deliveries -= 1
        self.lock_until_ms = None

    def renew(self, lock_until_ms: float) -> None:
        """Lock the run for longer."""
        self.lock_until_ms = lock_until_ms

    def begin(self, change: Change) -> None:
        """Begin a change of the run."""
        self.change = change

    def end_change(self) -> None:
        """End the run's change, whether it was persisted or is taken back."""
        self.change = None

    def unlock(self) -> None:
        """End the run's lock."""
        self.lock_until_ms = None

    def keep_until(self, last: int) -> None:
        """Set the last offset, as the rest becomes another run or another run joins this one."""
        self.last = last

    def is_like(self, other: Run) -> bool:
        """Return whether both runs can be one. Runs that are being persisted stay apart."""
        return (
            self.state is other.state
            and self.deliveries == other.deliveries
            and self.member == other.member
            and self.lock_until_ms == other.lock_until_ms
            and self.change is None
            and other.change is None
        )


class InFlightBatch:
    """The offsets that were acquired together, `first` to `last`, without a gap."""

    __slots__ = ("final", "first", "last", "runs")

    def __init__(self, *runs: Run) -> None:
        """Create a batch of neighbouring runs."""
        self.runs = list(runs)
        self.first = runs[0].first
        self.last = runs[-1].last
        self.final = sum(len(run) for run in runs if run.state.is_final)
        """The number of records in a final state."""

    def __len__(self) -> int:
        return self.last - self.first + 1

    def first_available(self) -> int | None:
        """Return the first offset that a member may acquire; None if there is none."""
        for run in self.runs:
            if run.is_available:
                return run.first
        return None

    def between(self, first: int, last: int) -> Iterator[Run]:
        """Yield each run that has offsets from `first` to `last`. The caller may split runs."""
        for run in tuple(self.runs):
            if run.last < first:
                continue
            if run.first > last:
                return
            yield run

    def cut(self, run: Run, first: int, last: int) -> Run:
        """Split `run` so that its offsets from `first` to `last` are a run, and return that run."""
        if run.first < first:
            run = self._split(run, first)
        if run.last > last:
            self._split(run, last + 1)
        return run

    def _split(self, run: Run, offset: int) -> Run:
        """Split `run` before `offset`; return the run that begins there."""
        rest = Run(offset, run.last, run.state, run.deliveries, run.member, run.lock_until_ms)
        run.keep_until(offset - 1)
        if run.change is not None:
            rest.begin(run.change)
            run.change.runs.append(rest)
        self.runs.insert(self.runs.index(run) + 1, rest)
        return rest

    def set_state(self, run: Run, state: RecordState, member: str = NO_MEMBER) -> None:
        """Set the state and the member of one of the batch's runs."""
        self.final += len(run) * (state.is_final - run.state.is_final)
        run.become(state, member)

    def archive(self, run: Run) -> None:
        """Archive a run for good, whatever is being persisted of it."""
        self.set_state(run, RecordState.ARCHIVED)
        run.unlock()
        run.end_change()

    def final_from(self, offset: int) -> int:
        """Return the number of records in a final state from `offset` on."""
        if offset <= self.first:
            return self.final
        return sum(
            run.last - max(run.first, offset) + 1
            for run in self.runs
            if run.last >= offset and run.state.is_final
        )

    def join_runs(self) -> None:
        """Join neighbouring runs that are alike."""
        joined = self.runs[:1]
        for run in self.runs[1:]:
            if joined[-1].is_like(run):
                joined[-1].keep_until(run.last)
            else:
                joined.append(run)
        self.runs = joined
