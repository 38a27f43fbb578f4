"""The page of one record: the record, its batch, and the offsets of the records beside it.

Reads from the partition's leader. Owns no connection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from client.cluster import ClusterClient
from client.core.offsets import READ_UNCOMMITTED
from client.place_offsets import Span
from client.refusals import Refused
from console.messages.paging import page_of
from console.messages.shown import RecordShown, record_shown
from console.messages.windows import FETCH_BYTES, batches_in, read_windows, records_of
from protocol.compression import Codec
from protocol.record_batch import CorruptBatch, RecordBatchHeader, TimestampType
from protocol.records import Record

BESIDE_OFFSETS_MAX = 1_000_000
"""The number of offsets in which a record before or after is looked for."""
_TIMESTAMP_TYPES: dict[TimestampType, Literal["CreateTime", "LogAppendTime"]] = {
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}


@dataclass(frozen=True, slots=True)
class RecordBatchShown:
    """The header of the batch that has a record.

    `size` is in bytes, with the header. A batch without an idempotent producer has null instead of
    a producer id, epoch and sequence. `record_sequence` is the sequence of the record itself.
    """

    base_offset: int
    last_offset: int
    records: int
    size: int
    codec: str
    producer_id: int | None
    producer_epoch: int | None
    base_sequence: int | None
    record_sequence: int | None
    transactional: bool
    leader_epoch: int
    timestamp_type: Literal["CreateTime", "LogAppendTime"]
    max_timestamp: int


@dataclass(frozen=True, slots=True)
class RecordAtOffset:
    """A record and its batch, or else the reason why the offset has none.

    `hidden`: the record exists, and is shown with `uncommitted`. `previous` and `next` are the
    nearest offsets that have a record.
    """

    record: RecordShown | None
    batch: RecordBatchShown | None
    missing: str | None
    hidden: bool
    previous: int | None
    next: int | None


class Place(NamedTuple):
    """An offset of a partition, and the isolation level of the reader."""

    topic: str
    partition: int
    offset: int
    level: int


def record_at(
    cluster: ClusterClient,
    place: Place,
    held: Span,
    held_uncommitted: Span,
    show: Callable[[int, Record], RecordShown],
) -> RecordAtOffset:
    """Read the record at an offset, and look for the records before and after it.

    `held`: the offsets that a reader of this level can read; `held_uncommitted`: those of a reader
    of uncommitted records. Raises Refused, StartError.
    """
    read = read_one(cluster, place, held)
    is_hidden = read is None and (
        read_one(cluster, place._replace(level=READ_UNCOMMITTED), held_uncommitted) is not None
    )
    record, batch = (None, None) if read is None else read
    return RecordAtOffset(
        record=None if record is None else show(place.partition, record),
        batch=None if batch is None else batch_shown(batch, place.offset),
        missing=None if read else missing(place, held, held_uncommitted, is_hidden=is_hidden),
        hidden=is_hidden,
        previous=_beside(cluster, place, held, newest=True),
        next=_beside(cluster, place, held, newest=False),
    )


def read_one(
    cluster: ClusterClient, place: Place, held: Span
) -> tuple[Record, RecordBatchHeader] | None:
    """Return the record at an offset and the header of its batch; None if there is no record.

    Raises Refused, StartError.
    """
    topic, partition, offset, level = place
    if not held.first <= offset < held.last:
        return None
    window = {partition: Span(offset, offset + 1)}
    try:
        for batch in batches_in(cluster, topic, window, level, FETCH_BYTES):
            for record in records_of(batch):
                return record, batch.header
    except CorruptBatch as error:
        raise Refused(f"{error}: choose an offset after this batch") from error
    return None


def batch_shown(header: RecordBatchHeader, offset: int) -> RecordBatchShown:
    """Return the header of a batch as the page shows it; `offset`: that of the record."""
    codec = header.compression
    has_sequence = header.has_producer_id and header.base_sequence >= 0
    return RecordBatchShown(
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        records=header.record_count,
        size=header.size_in_bytes,
        codec=Codec(codec).name.lower() if codec in tuple(Codec) else f"unknown ({codec})",
        producer_id=header.producer_id if header.has_producer_id else None,
        producer_epoch=header.producer_epoch if header.has_producer_id else None,
        base_sequence=header.base_sequence if has_sequence else None,
        record_sequence=(
            (header.base_sequence + offset - header.base_offset) & 0x7FFFFFFF
            if has_sequence
            else None
        ),
        transactional=header.is_transactional,
        leader_epoch=header.partition_leader_epoch,
        timestamp_type=_TIMESTAMP_TYPES[header.timestamp_type],
        max_timestamp=header.max_timestamp,
    )


def missing(place: Place, held: Span, held_uncommitted: Span, *, is_hidden: bool) -> str:
    """Return the reason why an offset has no record for this reader, in one sentence."""
    where = f"Offset {place.offset:,} of {place.topic}-{place.partition}"
    first, end = held_uncommitted
    if is_hidden and place.offset >= held.last:
        return f"{where} is not before the first open transaction, so read_committed waits for it."
    if is_hidden:
        return f"{where} belongs to an aborted transaction."
    if place.offset < held_uncommitted.first:
        return f"{where} was deleted: the partition begins at offset {held_uncommitted.first:,}."
    if place.offset >= held_uncommitted.last:
        return (
            f"{where} is not written yet: the partition ends at offset {held_uncommitted.last:,}."
        )
    return f"{where} has no record: compaction removed it, or a transaction marker has this offset."


def _beside(cluster: ClusterClient, place: Place, held: Span, *, newest: bool) -> int | None:
    """Return the nearest offset with a record: before the place with `newest`, else after it.

    Return None if there is none in BESIDE_OFFSETS_MAX offsets. Raises Refused, StartError.
    """
    if newest:
        last = min(place.offset, held.last)
        window = Span(max(held.first, last - BESIDE_OFFSETS_MAX), last)
    else:
        first = max(place.offset + 1, held.first)
        window = Span(first, min(held.last, first + BESIDE_OFFSETS_MAX))
    if window.first >= window.last:
        return None
    read = partial(read_windows, cluster, place.topic, level=place.level, show=record_shown)
    page = page_of(read, {place.partition: window}, 1, newest=newest)
    return page.records[0].offset if page.records else None
