"""A search through a topic: batch by batch, its progress and its finds told as they come.

Owns how much is looked at and when progress is told. `clock` is any clock of seconds. Asks through
a `Reader`; never knows a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from broker.command.client.place_offsets import Span
from broker.command.records.reading import Batch
from broker.console.messages.matching import Matcher
from broker.console.messages.paging import cursor_text
from broker.console.messages.shown import Json
from broker.console.messages.windows import Show

TOLD_EVERY_S = 0.2
FINDS_MAX = 200


@dataclass(slots=True)
class Search:
    """`for event in search.events(batches): …`.

    Events are dicts: `finds` is a list of records, `scanned` and `total` count offsets, `seconds`
    is since the start. The last one has `ended`: "end", or "full" where there were so many finds
    that one looks on from `cursor`.
    """

    spans: Mapping[int, Span]
    matcher: Matcher
    show: Show
    clock: Callable[[], float]
    most: int = FINDS_MAX
    found: int = 0
    bytes: int = 0
    _reached: dict[int, int] = field(default_factory=dict)
    _finds: list[Json] = field(default_factory=list)

    def events(self, batches: Iterable[Batch]) -> Iterator[Json]:
        """Until all batches are looked at, or there are enough finds. Raises CorruptBatch."""
        self._reached = {partition: span.first for partition, span in self.spans.items()}
        started = told = self.clock()
        yield self._event(0.0)
        for batch in batches:
            self._look_at(batch)
            now = self.clock()
            if now - told >= TOLD_EVERY_S or (self._finds and self.found == len(self._finds)):
                told = now
                yield self._event(now - started)
            if self.found >= self.most:
                yield self._event(self.clock() - started) | {
                    "ended": "full",
                    "cursor": cursor_text(self._reached),
                }
                return
        self._reached = {partition: span.last for partition, span in self.spans.items()}
        yield self._event(self.clock() - started) | {"ended": "end"}

    def _look_at(self, batch: Batch) -> None:
        self.bytes += batch.header.size_in_bytes
        body = batch.unpacked()
        for record in self.matcher.found_in(batch.header, body):
            if batch.first <= record.offset < batch.stop:
                self._finds.append(self.show(batch.partition, record))
                self.found += 1
                if self.found >= self.most:
                    self._reached[batch.partition] = record.offset + 1
                    return
        self._reached[batch.partition] = min(batch.header.next_offset, batch.stop)

    def _event(self, seconds: float) -> Json:
        finds, self._finds = self._finds, []
        event: Json = {
            "scanned": sum(
                max(offset - self.spans[partition].first, 0)
                for partition, offset in self._reached.items()
            ),
            "total": sum(max(span.last - span.first, 0) for span in self.spans.values()),
            "bytes": self.bytes,
            "found": self.found,
            "seconds": round(seconds, 3),
        }
        if finds:
            event["finds"] = finds
        return event
