"""The records that a search, the live view and an export select: by a text, a filter, or both.

For each batch, the fastest way that finds each such record is chosen. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from console.messages.decoding.decoding import TopicDecoder
from console.messages.filtering.condition import Condition
from console.messages.match_marks import match_of
from console.messages.matching import Matcher
from console.messages.shown import RecordShown
from console.messages.windows import Show
from protocol.record_batch import RecordBatchHeader
from protocol.records import Record, records_in


@dataclass(frozen=True, slots=True)
class RecordMatcher:
    """The search text and the filter of a request, either or both, with the topic's decoder.

    `decoder` None: no record of the topic is decoded.
    """

    text: Matcher | None
    condition: Condition | None = None
    decoder: TopicDecoder | None = None

    @property
    def decodes(self) -> bool:
        """Whether records are decoded one by one, which is slower."""
        return self.decoder is not None

    def found_in(self, partition: int, header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
        """Yield the matching records of a batch's unpacked body. Raises CorruptBatch."""
        for record in self._candidates(header, body):
            if self.finds(partition, record):
                yield record

    def finds(self, partition: int, record: Record) -> bool:
        """Return whether a record of the partition matches.

        For a single record, as the live view has it; `found_in` is faster for a batch.
        """
        decoded = None if self.decoder is None else self.decoder.parts(record)
        if self.text is not None and not self.text.finds(record, decoded):
            return False
        return self.condition is None or self.condition.holds(partition, record, decoded)

    def marked(self, show: Show) -> Show:
        """Return `show` with the texts that matched, for the page to mark."""

        def shown(partition: int, record: Record) -> RecordShown:
            decoded = None if self.decoder is None else self.decoder.parts(record)
            match = match_of(self.text, self.condition, record, decoded)
            return replace(show(partition, record), match=match)

        return shown

    def _candidates(self, header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
        """Yield at least each record that matches."""
        if self.decoder is not None and self.decoder.applies_to(header, body):
            return records_in(header, body)
        if self.text is not None:
            return self.text.candidates(header, body)
        if self.condition is not None:
            return self.condition.candidates(header, body)
        return records_in(header, body)
