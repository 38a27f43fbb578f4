"""A search from the newest record backwards: window by window of offsets, the newest finds first.

A log is read from its front alone. So each partition is read in windows, the last one first, and
what was found in one is turned around. Partitions go back in step: those that are furthest back in
time wait for the others, and a find is told when no partition can have a newer one.

Owns the windows, the order and the limits. Asks through `read`; never knows a connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from client.place_offsets import Span
from client.records.reading import Batch
from console.messages.matching import Matcher
from console.messages.paging import Found, cursor_text
from console.messages.searching import FINDS_MAX, Progress, SearchEvent, finds_in
from console.messages.shown import RecordShown, size_of
from console.messages.windows import Show

FIRST_OFFSETS = 1_000
OFFSETS_MAX = 200_000
GROWS_BY = 4
WINDOW_BYTES = 8 * 1024 * 1024
"""What a window is to hold: less is told seldom, and more is seen late."""
LANES_AT_ONCE = 16
"""Partitions that are read in one go; each keeps its finds meanwhile."""

ReadBatches = Callable[[Mapping[int, Span]], Iterable[Batch]]
"""Gives the batches of windows, those of a partition in the order of their offsets."""


@dataclass(slots=True)
class _Looked:
    """What lay in a window of a partition."""

    reached: int
    finds: deque[Found]
    forgot: int | None = None
    bytes: int = 0
    time_ms: int | None = None


@dataclass(slots=True)
class _Lane:
    """One partition: the offsets that are left, and what was found and not told, the next first."""

    whole: Span
    left: Span
    window_offsets: int
    found: deque[Found] = field(default_factory=deque)
    time_ms: float = inf
    """No record that is left is newer."""
    forgot: int | None = None
    """The newest find that was let go, as there were enough; the next search has it again."""

    @property
    def is_open(self) -> bool:
        return self.left.first < self.left.last and self.forgot is None

    @property
    def cursor(self) -> int:
        """Before which offset one looks on."""
        if self.found:
            return self.found[0].offset + 1
        return self.left.last if self.forgot is None else self.forgot + 1

    def next_window(self) -> Span:
        first, last = self.left
        return Span(max(first, last - self.window_offsets), last)

    def take(self, window: Span, looked: _Looked) -> None:
        """Note what lay in a window."""
        self.left = Span(self.left.first, window.first)
        self.found.extend(reversed(looked.finds))
        if looked.time_ms is not None:
            self.time_ms = min(self.time_ms, looked.time_ms)
        if looked.forgot is not None:
            self.forget(looked.forgot)
        held = looked.bytes / max(window.last - window.first, 1)
        wished = min(self.window_offsets * GROWS_BY, OFFSETS_MAX)
        self.window_offsets = max(min(wished, int(WINDOW_BYTES / held)), 1) if held else wished

    def forget(self, offset: int) -> None:
        """Let a find go."""
        self.forgot = offset if self.forgot is None else max(self.forgot, offset)


class BackwardSearch:
    """`for event in search.events(read): …`, those of `searching.Progress`."""

    def __init__(
        self,
        spans: Mapping[int, Span],
        matcher: Matcher,
        show: Show,
        clock: Callable[[], float],
        most: int = FINDS_MAX,
        first_offsets: int = FIRST_OFFSETS,
    ) -> None:
        """`first_offsets`: how wide the first windows are."""
        self._lanes = {
            partition: _Lane(span, span, first_offsets) for partition, span in spans.items()
        }
        self._matcher = matcher
        self._show = show
        self._most = most
        self._progress = Progress(spans, clock)

    def events(self, read: ReadBatches) -> Iterator[SearchEvent]:
        """Until all is looked at, or there are enough finds. Raises CorruptBatch."""
        yield self._progress.event(0, [])
        while not self._is_full and (windows := self._next_windows()):
            yield from self._look_at(windows, read)
            finds = self._certain()
            if finds or self._progress.is_due():
                yield self._event(finds)
            self._forget_the_oldest()
        last = self._event(self._certain())
        if self._is_full:
            yield replace(last, ended="full", cursor=self._cursor())
        else:
            yield replace(last, ended="end")

    # --- windows ----------------------------------------------------------------------------------

    def _next_windows(self) -> dict[int, Span]:
        """Of the partitions that are not as far back in time as another."""
        open_ones = {one: lane for one, lane in self._lanes.items() if lane.is_open}
        furthest = min((lane.time_ms for lane in open_ones.values()), default=0)
        ahead = [one for one, lane in open_ones.items() if lane.time_ms > furthest]
        chosen = sorted(ahead or open_ones, key=lambda one: -open_ones[one].time_ms)
        return {one: open_ones[one].next_window() for one in chosen[:LANES_AT_ONCE]}

    def _look_at(self, windows: Mapping[int, Span], read: ReadBatches) -> Iterator[SearchEvent]:
        """Progress, while they are looked at."""
        looked = {
            partition: _Looked(window.first, deque(maxlen=self._most))
            for partition, window in windows.items()
        }
        for batch in read(windows):
            self._look_in(batch, looked[batch.partition])
            if self._progress.is_due():
                yield self._event(
                    [], sum(looked[one].reached - window.first for one, window in windows.items())
                )
        for partition, window in windows.items():
            self._lanes[partition].take(window, looked[partition])

    def _look_in(self, batch: Batch, looked: _Looked) -> None:
        size = batch.header.size_in_bytes
        self._progress.looked_at(size)
        looked.bytes += size
        if looked.time_ms is None:
            looked.time_ms = batch.header.max_timestamp
        for record in finds_in(self._matcher, batch):
            if len(looked.finds) == self._most:
                looked.forgot = looked.finds[0].offset
            shown = self._show(batch.partition, record)
            looked.finds.append(
                Found(batch.partition, record.offset, record.timestamp, size_of(record), shown)
            )
        looked.reached = min(batch.header.next_offset, batch.stop)

    # --- finds ------------------------------------------------------------------------------------

    @property
    def _is_full(self) -> bool:
        return self._progress.found >= self._most

    def _certain(self) -> list[RecordShown]:
        """Finds that are told now: what is left to read is no newer."""
        times = [lane.time_ms for lane in self._lanes.values() if lane.is_open]
        finds: list[RecordShown] = []
        while not self._is_full:
            lane = max(self._finders(), key=_newest, default=None)
            if lane is None or (times and _newest(lane) < max(times)):
                break
            finds.append(lane.found.popleft().shown)
            self._progress.told()
        return finds

    def _forget_the_oldest(self) -> None:
        """Keep no more finds than may still be told."""
        finders = self._finders()
        too_many = sum(len(lane.found) for lane in finders) - (self._most - self._progress.found)
        for _ in range(too_many):
            lane = min(self._finders(), key=_oldest)
            lane.forget(lane.found.pop().offset)

    def _finders(self) -> list[_Lane]:
        return [lane for lane in self._lanes.values() if lane.found]

    def _event(self, finds: list[RecordShown], inside: int = 0) -> SearchEvent:
        """`inside`: offsets of the windows that are under way."""
        lanes = self._lanes.values()
        behind = sum(max(lane.whole.last - lane.left.last, 0) for lane in lanes)
        return self._progress.event(behind + inside, finds)

    def _cursor(self) -> str:
        return cursor_text({partition: lane.cursor for partition, lane in self._lanes.items()})


def _newest(lane: _Lane) -> int:
    return lane.found[0].timestamp


def _oldest(lane: _Lane) -> int:
    return lane.found[-1].timestamp
