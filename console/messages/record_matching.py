"""Which records a search and the live view show: those with the text that match the filter.

The fastest way that finds each such record is chosen for each batch. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from console.messages.decoding.decoding import TopicDecoder
from console.messages.matching import Matcher
from protocol.record_batch import RecordBatchHeader
from protocol.records import Record, records_in


@dataclass(frozen=True, slots=True)
class RecordMatcher:
    """The search text of a request, with the decoder of the topic.

    `decoder` None: no record of the topic is decoded.
    """

    text: Matcher
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
        """Return whether a record of the partition matches."""
        decoded = None if self.decoder is None else self.decoder.parts(record)
        return self.text.finds(record, decoded)

    def _candidates(self, header: RecordBatchHeader, body: bytes) -> Iterator[Record]:
        """Yield at least each record that matches."""
        if self.decoder is not None and self.decoder.applies_to(header, body):
            return records_in(header, body)
        return self.text.candidates(header, body)
