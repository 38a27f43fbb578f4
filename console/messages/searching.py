"""A search through a topic: batch by batch, its progress and its finds told as they come.

Owns how much is looked at and when progress is told. `clock` is any clock of seconds. Asks through
a `Reader`; never knows a connection. The way from the newest record is `searching_back`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from client.place_offsets import Span
from client.records.reading import Batch
from console.answers import ABSENT, Absent
from console.messages.matching import Matcher
from console.messages.paging import cursor_text
from console.messages.shown import RecordShown
from console.messages.windows import Show
from protocol.records import Record

TOLD_EVERY_S = 0.2
FINDS_MAX = 200


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """How far a search is: `scanned` and `total` count offsets, `seconds` is since the start.

    The last one has `ended`: "end", or "full" where there were so many finds that one looks on from
    `cursor`.
    """

    scanned: int
    total: int
    bytes: int
    found: int
    seconds: float
    finds: list[RecordShown] | Absent = ABSENT
    ended: Literal["end", "full"] | Absent = ABSENT
    cursor: str | Absent = ABSENT


class Progress:
    """How far a search is, as its events tell it."""

    def __init__(self, spans: Mapping[int, Span], clock: Callable[[], float]) -> None:
        self.found = 0
        self.bytes = 0
        self._total = sum(_length(span) for span in spans.values())
        self._clock = clock
        self._started = self._last = clock()

    def is_due(self) -> bool:
        """Whether it is time to tell it again."""
        return self._clock() - self._last >= TOLD_EVERY_S

    def looked_at(self, size: int) -> None:
        """So many bytes more."""
        self.bytes += size

    def told(self) -> None:
        """One find more."""
        self.found += 1

    def event(self, scanned: int, finds: list[RecordShown]) -> SearchEvent:
        """So many offsets are behind it; these were found since the last event."""
        self._last = self._clock()
        return SearchEvent(
            scanned=scanned,
            total=self._total,
            bytes=self.bytes,
            found=self.found,
            seconds=round(self._last - self._started, 3),
            finds=finds or ABSENT,
        )


def finds_in(matcher: Matcher, batch: Batch) -> Iterator[Record]:
    """Of those of its records that were asked for. Raises CorruptBatch."""
    for record in matcher.found_in(batch.header, batch.unpacked()):
        if batch.first <= record.offset < batch.stop:
            yield record


@dataclass(slots=True)
class Search:
    """From the oldest record on: `for event in search.events(batches): …`, those of `Progress`."""

    spans: Mapping[int, Span]
    matcher: Matcher
    show: Show
    clock: Callable[[], float]
    most: int = FINDS_MAX
    _progress: Progress = field(init=False)
    _reached: dict[int, int] = field(init=False)
    _finds: list[RecordShown] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._progress = Progress(self.spans, self.clock)
        self._reached = {partition: span.first for partition, span in self.spans.items()}

    def events(self, batches: Iterable[Batch]) -> Iterator[SearchEvent]:
        """Until all batches are looked at, or there are enough finds. Raises CorruptBatch."""
        progress = self._progress
        yield self._event()
        for batch in batches:
            self._look_at(batch)
            is_first = bool(self._finds) and progress.found == len(self._finds)
            if is_first or progress.is_due():
                yield self._event()
            if progress.found >= self.most:
                cursor = cursor_text(self._reached)
                yield replace(self._event(), ended="full", cursor=cursor)
                return
        self._reached = {partition: span.last for partition, span in self.spans.items()}
        yield replace(self._event(), ended="end")

    def _look_at(self, batch: Batch) -> None:
        self._progress.looked_at(batch.header.size_in_bytes)
        for record in finds_in(self.matcher, batch):
            self._finds.append(self.show(batch.partition, record))
            self._progress.told()
            if self._progress.found >= self.most:
                self._reached[batch.partition] = record.offset + 1
                return
        self._reached[batch.partition] = min(batch.header.next_offset, batch.stop)

    def _event(self) -> SearchEvent:
        finds, self._finds = self._finds, []
        scanned = sum(
            max(offset - self.spans[partition].first, 0)
            for partition, offset in self._reached.items()
        )
        return self._progress.event(scanned, finds)


def _length(span: Span) -> int:
    return max(span.last - span.first, 0)
