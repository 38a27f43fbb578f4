"""A search through a topic from its newest record back, whose newest matches come first.

A log can only be read forward. So each partition is read in windows of offsets, the last window
first, and the order of the matches in a window is reversed. The partitions go back in step: the one
that is furthest back in time waits for the others. A match is sent when no partition can have a
newer one.

Owns the windows, the order and the limits. Reads through `read`; never knows a connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from client.place_offsets import Span
from client.records.reading import Batch
from console.messages.paging import Found, cursor_text
from console.messages.record_matching import RecordMatcher
from console.messages.searching import FINDS_MAX, Progress, SearchEvent, finds_in
from console.messages.shown import RecordShown, size_of
from console.messages.windows import Show

FIRST_OFFSETS = 1_000
OFFSETS_MAX = 200_000
GROWS_BY = 4
WINDOW_BYTES = 8 * 1024 * 1024
"""The wanted size of a window: after a larger one, the next event would come late."""
LANES_AT_ONCE = 16
"""The number of partitions that are read at once; each keeps its matches meanwhile."""

ReadBatches = Callable[[Mapping[int, Span]], Iterable[Batch]]
"""A function that returns the batches of windows, each partition's in the order of offsets."""


@dataclass(slots=True)
class _Scanned:
    """The content of a window of a partition."""

    reached: int
    finds: deque[Found]
    forgot: int | None = None
    bytes: int = 0
    time_ms: int | None = None


@dataclass(slots=True)
class _Lane:
    """A partition: the offsets that are left, and the matches to send, the next first."""

    whole: Span
    left: Span
    window_offsets: int
    found: deque[Found] = field(default_factory=deque)
    time_ms: float = inf
    """The time of the newest record that may be left."""
    forgot: int | None = None
    """The newest match that was dropped because there were enough; the next search finds it."""

    @property
    def is_open(self) -> bool:
        return self.left.first < self.left.last and self.forgot is None

    @property
    def cursor(self) -> int:
        """The offset before which the next search continues."""
        if self.found:
            return self.found[0].offset + 1
        return self.left.last if self.forgot is None else self.forgot + 1

    def next_window(self) -> Span:
        first, last = self.left
        return Span(max(first, last - self.window_offsets), last)

    def take(self, window: Span, scanned: _Scanned) -> None:
        """Take over the content of a window."""
        self.left = Span(self.left.first, window.first)
        self.found.extend(reversed(scanned.finds))
        if scanned.time_ms is not None:
            self.time_ms = min(self.time_ms, scanned.time_ms)
        if scanned.forgot is not None:
            self.forget(scanned.forgot)
        held = scanned.bytes / max(window.last - window.first, 1)
        wished = min(self.window_offsets * GROWS_BY, OFFSETS_MAX)
        self.window_offsets = max(min(wished, int(WINDOW_BYTES / held)), 1) if held else wished

    def forget(self, offset: int) -> None:
        """Drop a match."""
        self.forgot = offset if self.forgot is None else max(self.forgot, offset)


class BackwardSearch:
    """A search from the newest record back: `for event in search.events(read): …`."""

    def __init__(
        self,
        spans: Mapping[int, Span],
        matcher: RecordMatcher,
        show: Show,
        clock: Callable[[], float],
        most: int = FINDS_MAX,
        first_offsets: int = FIRST_OFFSETS,
    ) -> None:
        """Begin at the ends of `spans`; the first windows have `first_offsets` offsets."""
        self._lanes = {
            partition: _Lane(span, span, first_offsets) for partition, span in spans.items()
        }
        self._matcher = matcher
        self._show = show
        self._most = most
        self._progress = Progress(spans, clock, decodes=matcher.decodes)

    def events(self, read: ReadBatches) -> Iterator[SearchEvent]:
        """Yield events until all is scanned, or until there is a match too many.

        Raises CorruptBatch.
        """
        yield self._progress.event(0, [])
        while not self._is_full and (windows := self._next_windows()):
            yield from self._scan(windows, read)
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
        """Return the next windows of the partitions that are less far back in time than another."""
        open_ones = {one: lane for one, lane in self._lanes.items() if lane.is_open}
        furthest = min((lane.time_ms for lane in open_ones.values()), default=0)
        ahead = [one for one, lane in open_ones.items() if lane.time_ms > furthest]
        chosen = sorted(ahead or open_ones, key=lambda one: -open_ones[one].time_ms)
        return {one: open_ones[one].next_window() for one in chosen[:LANES_AT_ONCE]}

    def _scan(self, windows: Mapping[int, Span], read: ReadBatches) -> Iterator[SearchEvent]:
        """Scan the windows, and yield the events that are due meanwhile."""
        scanned = {
            partition: _Scanned(window.first, deque(maxlen=self._most))
            for partition, window in windows.items()
        }
        for batch in read(windows):
            self._scan_batch(batch, scanned[batch.partition])
            if self._progress.is_due():
                yield self._event(
                    [],
                    sum(
                        scanned[partition].reached - window.first
                        for partition, window in windows.items()
                    ),
                )
        for partition, window in windows.items():
            self._lanes[partition].take(window, scanned[partition])

    def _scan_batch(self, batch: Batch, scanned: _Scanned) -> None:
        size = batch.header.size_in_bytes
        self._progress.add_bytes(size)
        scanned.bytes += size
        if scanned.time_ms is None:
            scanned.time_ms = batch.header.max_timestamp
        for record in finds_in(self._matcher, batch):
            if len(scanned.finds) == self._most:
                scanned.forgot = scanned.finds[0].offset
            shown = self._show(batch.partition, record)
            scanned.finds.append(
                Found(batch.partition, record.offset, record.timestamp, size_of(record), shown)
            )
        scanned.reached = min(batch.header.next_offset, batch.stop)

    # --- finds ------------------------------------------------------------------------------------

    @property
    def _is_full(self) -> bool:
        """Whether there is a match after the last one that this search returns."""
        return self._progress.found >= self._most and any(
            lane.found or lane.forgot is not None for lane in self._lanes.values()
        )

    def _certain(self) -> list[RecordShown]:
        """Return the matches to send now: no record that is left to read is newer."""
        times = [lane.time_ms for lane in self._lanes.values() if lane.is_open]
        finds: list[RecordShown] = []
        while self._progress.found < self._most:
            lane = max(self._finders(), key=_newest, default=None)
            if lane is None or (times and _newest(lane) < max(times)):
                break
            finds.append(lane.found.popleft().shown)
            self._progress.add_match()
        return finds

    def _forget_the_oldest(self) -> None:
        """Drop the matches beyond the number that may still be sent."""
        finders = self._finders()
        too_many = sum(len(lane.found) for lane in finders) - (self._most - self._progress.found)
        for _ in range(too_many):
            lane = min(self._finders(), key=_oldest)
            lane.forget(lane.found.pop().offset)

    def _finders(self) -> list[_Lane]:
        return [lane for lane in self._lanes.values() if lane.found]

    def _event(self, finds: list[RecordShown], inside: int = 0) -> SearchEvent:
        """Return an event; `inside`: the scanned offsets of windows that are not taken over yet."""
        lanes = self._lanes.values()
        behind = sum(max(lane.whole.last - lane.left.last, 0) for lane in lanes)
        return self._progress.event(behind + inside, finds)

    def _cursor(self) -> str:
        return cursor_text({partition: lane.cursor for partition, lane in self._lanes.items()})


def _newest(lane: _Lane) -> int:
    return lane.found[0].timestamp


def _oldest(lane: _Lane) -> int:
    return lane.found[-1].timestamp
