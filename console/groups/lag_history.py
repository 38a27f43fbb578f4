"""The samples of the lag of groups over the last hour, in memory.

Owns the samples, and their limits: POINTS_MAX of each series, GROUPS_MAX groups, SERIES_MAX series
of partitions over all groups and PARTITIONS_MAX of a group. Beyond these, the partitions with the
lowest lag have no series. Pure: times are arguments, in ms since the epoch. Never asks a cluster.

A partition *keeps up* if all records that it had at some sample are read GRACE samples later. It is
behind since the last sample for which that is true. So a group that stopped and a group that is too
slow are both behind, and a busy group that always has some lag is not.

The committed offset of a share group is its start offset. Its lag is less than the distance to the
end, by the finished records in between.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, repeat
from typing import NamedTuple

from client.core.leaders import Partition
from client.groups.total_lag import TotalLag, total_lag
from client.groups.uncommitted import Uncommitted

POINTS_MAX = 360
GROUPS_MAX = 2_000
PARTITIONS_MAX = 200
SERIES_MAX = 10_000
GRACE = 3
UNKNOWN = -1

Ends = Mapping[Partition, int]
Committed = Mapping[str, Mapping[Partition, int]]


class Behind(NamedTuple):
    """The lag of a partition, and since when it is behind. Times are ms since the epoch.

    `since_ms`: the time since which it does not keep up, None if it keeps up. `from_start`: it has
    never kept up, so that `since_ms` is its first sample; with `since_ms` None, there are too few
    samples to tell. `unmoved_since_ms`: the last sample at which its committed offset changed, or
    the first. `waiting_since_ms`: the sample before which the record at the committed offset was
    written; None if that was before all samples, or if there is no lag.
    """

    lag: int | None
    since_ms: int | None
    from_start: bool
    unmoved_since_ms: int | None
    waiting_since_ms: int | None


class History(NamedTuple):
    """The lines of a chart: a value for each time, None if it is not known."""

    times_ms: list[int]
    total: list[int | None]
    partitions: dict[Partition, list[int | None]]


class _Series:
    """The committed offsets and ends of a partition of a group at the newest samples."""

    def __init__(self) -> None:
        self.committed = array("q")
        self.ends = array("q")
        self.finished = array("q")
        """The finished records after the start offset; empty unless it is a share group's."""
        self.caught_up_ms: int | None = None
        """The newest sample all records of which were read in time."""
        self.first_ms = 0
        self.moved_ms = 0

    def add(
        self, at_ms: int, committed: int, end: int, times: array[int], lag: int | None = None
    ) -> None:
        """Append a sample of the time `at_ms`, with which `times` ends. `lag`: the lag that a share
        group's coordinator reports."""
        finished = None if lag is None else max(end - committed - lag, 0)
        if not self.committed:
            self.first_ms = self.moved_ms = at_ms
        elif committed not in (UNKNOWN, self.last_committed) or self._has_finished(finished):
            self.moved_ms = at_ms
        _append(self.committed, committed)
        _append(self.ends, end)
        if finished is not None:
            _append(self.finished, finished)
        elif self.finished:
            self.finished = array("q")
        if committed == UNKNOWN:
            return
        if lag == 0:
            self.caught_up_ms = at_ms
            return
        for back in range(1, min(GRACE + 1, len(self.ends)) + 1):
            then = self.ends[-back]
            if then != UNKNOWN and committed >= then:
                self.caught_up_ms = times[-back]
                return

    def _has_finished(self, finished: int | None) -> bool:
        """Return whether the number of finished records differs from that of the last sample."""
        return finished is not None and bool(self.finished) and finished != self.finished[-1]

    @property
    def last_committed(self) -> int:
        """The newest committed offset that is known, or UNKNOWN."""
        return next((offset for offset in reversed(self.committed) if offset != UNKNOWN), UNKNOWN)

    @property
    def lag(self) -> int | None:
        """The lag at the last sample; None if it is not known."""
        finished = self.finished[-1] if self.finished else 0
        return _lag(self.committed[-1], self.ends[-1], finished)

    def lags(self) -> Iterator[int | None]:
        missing = len(self.committed) - len(self.finished)
        finished = chain(repeat(0, missing), self.finished)
        samples = zip(self.committed, self.ends, finished, strict=True)
        return (_lag(at, end, records) for at, end, records in samples)

    def behind(self, times: array[int]) -> Behind:
        lag = self.lag
        own = times[-len(self.ends) :]
        waiting = self._waiting_since(own) if lag else None
        if not lag or self._keeps_up(own):
            return Behind(lag, None, False, self.moved_ms, waiting)
        if self.caught_up_ms is None and len(own) <= GRACE:
            return Behind(lag, None, True, self.moved_ms, waiting)
        since = self.first_ms if self.caught_up_ms is None else self.caught_up_ms
        return Behind(lag, since, self.caught_up_ms is None, self.moved_ms, waiting)

    def _keeps_up(self, own: array[int]) -> bool:
        if self.caught_up_ms is None:
            return False
        return self.caught_up_ms >= own[-min(GRACE + 1, len(own))]

    def _waiting_since(self, own: array[int]) -> int | None:
        """Return the first sample at which the record at the committed offset was written."""
        committed = self.last_committed
        for index, end in enumerate(self.ends):
            if end > committed:
                return own[index] if index else None
        return None


class _Group:
    """The samples of a group."""

    def __init__(self) -> None:
        self.total = array("q")
        """The lag of the whole group at each sample, UNKNOWN before all of its partitions had a
        committed offset: otherwise each first commit would add a step to the line."""
        self.lag = total_lag([])
        """The lag at the last sample."""
        self.uncommitted = Uncommitted()
        """The partitions without a committed offset at the last sample."""
        self.partitions: dict[Partition, _Series] = {}
        self._committed: Collection[Partition] = ()

    def add_total(self, lags: Mapping[Partition, int | None]) -> None:
        """Append the sum of the lags of a sample to the line. The line begins again if a partition
        got its first committed offset."""
        if any(at not in self._committed for at in lags):
            self.total = array("q", [UNKNOWN]) * len(self.total)
        self._committed = lags.keys()
        self.lag = total_lag(lags.values())
        _append(self.total, UNKNOWN if self.lag.records is None else self.lag.records)


class LagHistory:
    """The samples of all groups."""

    def __init__(self) -> None:
        self.times = array("q")
        """The times of the samples, in ms since the epoch."""
        self._groups: dict[str, _Group] = {}

    def add(
        self,
        at_ms: int,
        committed: Committed,
        ends: Ends,
        uncommitted: Mapping[str, Uncommitted] | None = None,
        reported: Committed | None = None,
    ) -> None:
        """Add a sample of all groups, and forget the groups that are not in it. The lag of a
        partition that is not in `ends` is not known.

        `reported`: the lags that the coordinators of share groups report.
        """
        _append(self.times, at_ms)
        names = sorted(committed)[:GROUPS_MAX]
        self._groups = {name: self._groups.get(name) or _Group() for name in names}
        allowed = min(PARTITIONS_MAX, max(SERIES_MAX // max(len(names), 1), 1))
        for name in names:
            lags = (reported or {}).get(name, {})
            self._add_to(self._groups[name], at_ms, committed[name], ends, lags, allowed)
            self._groups[name].uncommitted = (uncommitted or {}).get(name, Uncommitted())

    @property
    def groups(self) -> list[str]:
        """The names of the groups that have samples, in order."""
        return list(self._groups)

    def lag(self, group: str) -> TotalLag:
        """Return the sum at the last sample, over the partitions with a committed offset."""
        known = self._groups.get(group)
        return total_lag([]) if known is None else known.lag

    def uncommitted(self, group: str) -> Uncommitted:
        """Return the partitions without a committed offset at the last sample, of the topics of
        which the group has committed others."""
        known = self._groups.get(group)
        return Uncommitted() if known is None else known.uncommitted

    def spark(self, group: str, points: int) -> list[int | None]:
        """Return the sums of the last hour in at most `points` parts: the highest of each part."""
        known = self._groups.get(group)
        if known is None or not points:
            return []
        step = -(-len(known.total) // points)
        parts = (known.total[at : at + step] for at in range(0, len(known.total), step))
        return [_known(max(part)) for part in parts]

    def behind(self, group: str) -> dict[Partition, Behind]:
        """Return the lag of each partition that has samples, in order."""
        known = self._groups.get(group)
        if known is None:
            return {}
        return {at: series.behind(self.times) for at, series in sorted(known.partitions.items())}

    def worst(self, group: str) -> Behind | None:
        """Return the partition that stands for its group: that which is behind for longest. If none
        is behind, return one with too few samples, or one with lag; None if there is no lag."""
        lagging = [behind for behind in self.behind(group).values() if behind.lag]
        late = [behind for behind in lagging if behind.since_ms is not None]
        if late:
            return min(late, key=_since)
        unsure = (behind for behind in lagging if behind.from_start)
        return next(unsure, next(iter(lagging), None))

    def history(self, group: str, partitions: Iterable[Partition] | None = None) -> History:
        """Return all samples of a group: of the named partitions, or of all that have samples."""
        samples = self._groups.get(group)
        if samples is None:
            return History([], [], {})
        count = len(samples.total)
        chosen = samples.partitions if partitions is None else partitions
        lines = {
            at: _padded(samples.partitions[at].lags(), count)
            for at in chosen
            if at in samples.partitions
        }
        return History(list(self.times[-count:]), [_known(lag) for lag in samples.total], lines)

    def _add_to(
        self,
        group: _Group,
        at_ms: int,
        committed: Mapping[Partition, int],
        ends: Ends,
        reported: Mapping[Partition, int],
        allowed: int,
    ) -> None:
        lags = {
            at: reported[at] if at in reported else _lag(offset, ends.get(at, UNKNOWN))
            for at, offset in committed.items()
        }
        group.add_total(lags)
        chosen = list(lags)
        if len(chosen) > allowed:
            chosen.sort(key=lambda at: (-(lags[at] or 0), at not in group.partitions, at))
            del chosen[allowed:]
        group.partitions = {at: group.partitions.get(at) or _Series() for at in chosen}
        for at, series in group.partitions.items():
            end = ends.get(at, UNKNOWN)
            series.add(at_ms, committed[at], end, self.times, reported.get(at))


def _append(values: array[int], value: int) -> None:
    values.append(value)
    if len(values) > POINTS_MAX:
        del values[0]


def _lag(committed: int, end: int, finished: int = 0) -> int | None:
    return None if UNKNOWN in (committed, end) else max(end - committed - finished, 0)


def _known(value: int) -> int | None:
    return None if value == UNKNOWN else value


def _padded(values: Iterable[int | None], count: int) -> list[int | None]:
    known = list(values)
    return [None] * (count - len(known)) + known


def _since(behind: Behind) -> int:
    assert behind.since_ms is not None
    return behind.since_ms
