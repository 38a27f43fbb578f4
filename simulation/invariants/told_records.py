"""Records that clients were told of: what they sent, what they were given, what is there.

By the requests and answers alone, whoever made them. Never: what transactions hide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from client.core.fetching import bytes_of
from protocol.primitives import Records
from protocol.record_batch import iterate_batches
from protocol.records import iterate_records
from simulation.network.sim_network import Exchange

Place = tuple[bytes, int]
Named = tuple[str, int]
"""A partition by its topic's name."""
Content = tuple[bytes | None, bytes | None]
"""Key and value."""


@dataclass(slots=True)
class LogRead:
    """What the last reader found of one partition."""

    start: int
    end: int
    records: dict[int, Content] = field(default_factory=dict)
    """By offset."""

    def take(self, records: Sequence[Sequence[object]], end: int) -> None:
        """More records: topic, partition, offset, timestamp, key, value …; the log's end."""
        self.end = max(self.end, end)
        for _, _, offset, _, key, value, *_ in records:
            assert isinstance(offset, int)
            assert key is None or isinstance(key, bytes)
            assert value is None or isinstance(value, bytes)
            self.records[offset] = (key, value)


def contents_of(data: Records | None) -> list[tuple[int, Content]]:
    """(offset, content) of each record in whole batches, of no marker."""
    view = bytes_of(data)
    return [
        (record.offset, (record.key, record.value))
        for position, batch in iterate_batches(view, allow_partial_tail=True)
        if not batch.is_control
        for record in iterate_records(view, position)
    ]


def acknowledged(exchange: Exchange) -> Iterator[tuple[Named, int, list[Content]]]:
    """Of a Produce: partition, first offset and contents of what was written without an error.

    What belongs to a transaction is left out, and so is what names its topic by id.
    """
    sent = {
        (topic.name, one.index): one.records
        for topic in exchange.request.topic_data
        for one in topic.partition_data
    }
    for topic in exchange.response.responses:
        for told in topic.partition_responses:
            data = sent.get((topic.name, told.index))
            if told.error_code or told.base_offset < 0 or data is None or not topic.name:
                continue
            if any(batch.is_transactional for _, batch in iterate_batches(bytes_of(data))):
                continue
            contents = [content for _, content in contents_of(data)]
            yield (topic.name, told.index), told.base_offset, contents


def given(exchange: Exchange) -> Iterator[tuple[Named, int, list[tuple[int, Content]]]]:
    """Of a Fetch: partition, high watermark and records. Those that name topics by id are left
    out."""
    for topic in exchange.response.responses:
        for data in topic.partitions:
            if topic.topic and not data.error_code:
                place = (topic.topic, data.partition_index)
                yield place, data.high_watermark, contents_of(data.records)
