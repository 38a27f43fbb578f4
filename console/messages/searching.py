"""A search through a topic from its oldest record on: events with its matches and its progress.

Owns the limit of matches, and when an event is due. `clock` is any clock of seconds. The batches
come by argument; never knows a connection. `searching_back` searches from the newest record on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from client.place_offsets import Span
from client.records.reading import Batch
from console.answers import ABSENT, Absent
from console.messages.paging import cursor_text
from console.messages.record_matching import RecordMatcher
from console.messages.shown import RecordShown
from console.messages.windows import Show
from protocol.records import Record

TOLD_EVERY_S = 0.2
FINDS_MAX = 200


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """The progress of a search: `scanned` and `total` count offsets, `seconds` is since the start.

    `decodes`: records are decoded one by one, which is slower. The last event has `ended`: "end",
    or "full" if there are more matches than one search returns; the next one begins at `cursor`.
    """

    scanned: int
    total: int
    bytes: int
    found: int
    seconds: float
    finds: list[RecordShown] | Absent = ABSENT
    ended: Literal["end", "full"] | Absent = ABSENT
    cursor: str | Absent = ABSENT
    decodes: bool | Absent = ABSENT


class Progress:
    """The counters of a search, from which its events are made."""

    def __init__(
        self, spans: Mapping[int, Span], clock: Callable[[], float], *, decodes: bool
    ) -> None:
        """Begin with nothing scanned."""
        self.found = 0
        self.bytes = 0
        self._decodes = True if decodes else ABSENT
        self._total = sum(_length(span) for span in spans.values())
        self._clock = clock
        self._started = self._last = clock()

    def is_due(self) -> bool:
        """Return whether the next event is due."""
        return self._clock() - self._last >= TOLD_EVERY_S

    def add_bytes(self, size: int) -> None:
        """Count the bytes of a scanned batch."""
        self.bytes += size

    def add_match(self) -> None:
        """Count a match."""
        self.found += 1

    def event(self, scanned: int, finds: list[RecordShown]) -> SearchEvent:
        """Return the event after `scanned` offsets, with the matches since the last event."""
        self._last = self._clock()
        return SearchEvent(
            scanned=scanned,
            total=self._total,
            bytes=self.bytes,
            found=self.found,
            seconds=round(self._last - self._started, 3),
            finds=finds or ABSENT,
            decodes=self._decodes,
        )


def finds_in(matcher: RecordMatcher, batch: Batch) -> Iterator[Record]:
    """Yield the matching records of a batch within its offsets. Raises CorruptBatch."""
    for record in matcher.found_in(batch.partition, batch.header, batch.unpacked()):
        if batch.first <= record.offset < batch.stop:
            yield record


@dataclass(slots=True)
class Search:
    """A search from the oldest record on: `for event in search.events(batches): …`."""

    spans: Mapping[int, Span]
    matcher: RecordMatcher
    show: Show
    clock: Callable[[], float]
    most: int = FINDS_MAX
    _progress: Progress = field(init=False)
    _reached: dict[int, int] = field(init=False)
    _finds: list[RecordShown] = field(default_factory=list)
    _is_full: bool = False
    """Whether there is a match after the last one that this search returns."""

    def __post_init__(self) -> None:
        self._progress = Progress(self.spans, self.clock, decodes=self.matcher.decodes)
        self._reached = {partition: span.first for partition, span in self.spans.items()}

    def events(self, batches: Iterable[Batch]) -> Iterator[SearchEvent]:
        """Yield events until all batches are scanned, or until there is a match too many.

        Raises CorruptBatch.
        """
        progress = self._progress
        yield self._event()
        for batch in batches:
            self._scan(batch)
            is_first = bool(self._finds) and progress.found == len(self._finds)
            is_last = bool(self._finds) and progress.found >= self.most
            if is_first or is_last or progress.is_due():
                yield self._event()
            if self._is_full:
                yield replace(self._event(), ended="full", cursor=cursor_text(self._reached))
                return
        self._reached = {partition: span.last for partition, span in self.spans.items()}
        yield replace(self._event(), ended="end")

    def _scan(self, batch: Batch) -> None:
        self._progress.add_bytes(batch.header.size_in_bytes)
        for record in finds_in(self.matcher, batch):
            if self._progress.found >= self.most:
                self._is_full = True
                self._reached[batch.partition] = record.offset
                return
            self._finds.append(self.show(batch.partition, record))
            self._progress.add_match()
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
