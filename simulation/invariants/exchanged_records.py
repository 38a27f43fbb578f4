"""The records that clients have sent and received, taken from requests and responses alone.

Used for any client. Does not know which records transactions hide.
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
"""The key and the value of a record."""


@dataclass(slots=True)
class LogRead:
    """The records of one partition, as the last reader has read them."""

    start: int
    end: int
    records: dict[int, Content] = field(default_factory=dict)
    """The records' contents, by offset."""

    def take(self, records: Sequence[Sequence[object]], end: int) -> None:
        """Add the contents of records (topic, partition, offset, timestamp, key, value …), by
        offset, and raise the log's end to `end`."""
        self.end = max(self.end, end)
        for _, _, offset, _, key, value, *_ in records:
            assert isinstance(offset, int)
            assert key is None or isinstance(key, bytes)
            assert value is None or isinstance(value, bytes)
            self.records[offset] = (key, value)


def contents_of(data: Records | None) -> list[tuple[int, Content]]:
    """Return (offset, content) of each record in the whole batches of `data`, without control
    batches. A cut-off last batch is ignored."""
    view = bytes_of(data)
    return [
        (record.offset, (record.key, record.value))
        for position, batch in iterate_batches(view, allow_partial_tail=True)
        if not batch.is_control
        for record in iterate_records(view, position)
    ]


def acknowledged_records(exchange: Exchange) -> Iterator[tuple[Named, int, list[Content]]]:
    """Yield the partition, first offset and contents of each batch that a Produce wrote without an
    error.

    Transactional batches are left out, and so are partitions that are named by topic id.
    """
    sent = {
        (topic.name, partition.index): partition.records
        for topic in exchange.request.topic_data
        for partition in topic.partition_data
    }
    for topic in exchange.response.responses:
        for result in topic.partition_responses:
            data = sent.get((topic.name, result.index))
            if result.error_code or result.base_offset < 0 or data is None or not topic.name:
                continue
            if any(batch.is_transactional for _, batch in iterate_batches(bytes_of(data))):
                continue
            contents = [content for _, content in contents_of(data)]
            yield (topic.name, result.index), result.base_offset, contents


def fetched_records(exchange: Exchange) -> Iterator[tuple[Named, int, list[tuple[int, Content]]]]:
    """Yield the partition, high watermark and records of each partition in a Fetch's response.
    Partitions with an error, or that are named by topic id, are left out."""
    for topic in exchange.response.responses:
        for data in topic.partitions:
            if topic.topic and not data.error_code:
                place = (topic.topic, data.partition_index)
                yield place, data.high_watermark, contents_of(data.records)
