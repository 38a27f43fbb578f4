"""Metadata records in words, as far as they are shown: the newest of some batches.

A look at a log may find tens of thousands of records, of which a page shows the last few hundred:
only those are decoded. Secrets are hidden by the decoder. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from client.records.decoders import METADATA, decode_by, fields_of, kafka_name
from controller.metadata.control_records import decode_control_record
from controller.metadata.records import FRAME_VERSION, MetadataRecordError
from protocol.messages.metadata_records import NoOpRecord
from protocol.record_batch import CorruptBatch, RecordBatchHeader
from protocol.records import Record, iterate_records

RECORDS_MAX = 200
"""So many are shown at once."""
_NO_OP = bytes((FRAME_VERSION, NoOpRecord.API_KEY))


class Batch(NamedTuple):
    """A whole batch; records before the offset `first` are left out."""

    data: bytes
    position: int
    header: RecordBatchHeader
    first: int = 0


class Shown(NamedTuple):
    """A record: `type` as Kafka names it, and its fields, or the words that stand for them."""

    offset: int
    epoch: int
    time_ms: int
    type: str
    version: int | None
    data: object


def newest_of(batches: Sequence[Batch], *, with_noops: bool) -> list[Shown]:
    """Return the last RECORDS_MAX records, or fewer; damaged batches have none.

    `with_noops`: also those that only show that the leader lives.
    """
    found: list[Shown] = []
    for batch in reversed(batches):
        of = _control if batch.header.is_control else _record
        for record in _from_the_last(batch):
            if not with_noops and _is_noop(record) and of is _record:
                continue
            found.append(of(batch.header.partition_leader_epoch, record))
            if len(found) == RECORDS_MAX:
                return found[::-1]
    return found[::-1]


def _from_the_last(batch: Batch) -> Iterator[Record]:
    try:
        records = list(iterate_records(batch.data, batch.position))
    except CorruptBatch:
        return
    yield from (one for one in reversed(records) if one.offset >= batch.first)


def _is_noop(record: Record) -> bool:
    return record.value is not None and record.value.startswith(_NO_OP)


def _control(epoch: int, record: Record) -> Shown:
    try:
        kind, message = decode_control_record(record)
        name, fields = kind.name, fields_of(message)
    except (MetadataRecordError, CorruptBatch):
        name, fields = "CONTROL_RECORD", {}
    return Shown(record.offset, epoch, record.timestamp, name, None, fields)


_decode = decode_by(METADATA)


def _record(epoch: int, record: Record) -> Shown:
    decoded = _decode(record)
    value: Any = None if decoded is None else decoded.value
    if isinstance(value, dict):
        return Shown(
            record.offset,
            epoch,
            record.timestamp,
            str(value["type"]),
            value["version"],
            value["data"],
        )
    if isinstance(value, str):  # hidden: what stands for it begins with its name
        name, _, words = value.partition(" ")
        return Shown(record.offset, epoch, record.timestamp, kafka_name(name), None, words)
    size = len(record.value or b"")
    return Shown(record.offset, epoch, record.timestamp, "UNKNOWN", None, f"{size} bytes")
