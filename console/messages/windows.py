"""Windows of offsets of a topic's partitions, read from their leaders and shown.

The loop is that of `ottla consume` (`client.records.reading`). Owns no connection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from client.cluster import ClusterClient
from client.place_offsets import Span
from client.records.reading import PARTITION_BYTES_MAX, Batch, Reader, ReadPosition
from client.refusals import Refused
from console.messages.paging import Found
from console.messages.shown import RecordShown, size_of
from protocol.record_batch import CorruptBatch
from protocol.records import Record, iterate_records

FETCH_BYTES = 256 * 1024
"""The bytes of a partition in one Fetch response: a page is small. A larger batch is sent whole."""

Show: TypeAlias = Callable[[int, Record], RecordShown]
"""Returns a partition's record as the page gets it."""


def read_windows(
    cluster: ClusterClient,
    topic: str,
    windows: Mapping[int, Span],
    level: int,
    show: Show,
    wanted: Callable[[int, Record], bool] | None = None,
) -> list[Found]:
    """Return the records in the windows; only those for which `wanted` returns True, if it is set.
    Raises Refused, StartError."""
    return [
        Found(partition, record.offset, record.timestamp, size_of(record), show(partition, record))
        for partition, record in records_in(cluster, topic, windows, level)
        if wanted is None or wanted(partition, record)
    ]


def records_in(
    cluster: ClusterClient, topic: str, windows: Mapping[int, Span], level: int
) -> Iterator[tuple[int, Record]]:
    """Yield each record in the windows with its partition. Raises Refused, StartError."""
    try:
        for batch in batches_in(cluster, topic, windows, level, FETCH_BYTES):
            for record in records_of(batch):
                yield batch.partition, record
    except CorruptBatch as error:
        raise Refused(f"{error}: choose an offset after this batch") from error


def batches_in(
    cluster: ClusterClient,
    topic: str,
    windows: Mapping[int, Span],
    level: int,
    partition_bytes_max: int = PARTITION_BYTES_MAX,
) -> Iterator[Batch]:
    """Yield each batch that has an offset in the windows. The topic's other partitions may be
    without a leader. Raises Refused, StartError, CorruptBatch."""
    positions = {
        (topic, partition): ReadPosition(span.first, span.last)
        for partition, span in windows.items()
        if span.first < span.last
    }
    reader = Reader(cluster, positions, level, partition_bytes_max, needs_all_leaders=False)
    return reader.batches()


def records_of(batch: Batch) -> Iterator[Record]:
    """Yield the records of a batch that are in the window."""
    for record in iterate_records(batch.data, batch.pos):
        if batch.first <= record.offset < batch.stop:
            yield record
