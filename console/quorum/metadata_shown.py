"""A decoder of metadata records for the page: the newest records of some batches. Pure.

A read of the log may bring tens of thousands of records, and the page shows the last RECORDS_MAX:
only those are decoded. The decoder hides secrets.
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
"""The most records of one read."""
_NO_OP = bytes((FRAME_VERSION, NoOpRecord.API_KEY))


class Batch(NamedTuple):
    """A complete batch at `position` in `data`; its records before offset `first` are left out."""

    data: bytes
    position: int
    header: RecordBatchHeader
    first: int = 0


class Shown(NamedTuple):
    """A metadata record: its type in Kafka's words, and its fields, or a text instead of them."""

    offset: int
    epoch: int
    time_ms: int
    type: str
    version: int | None
    data: object


def newest_of(batches: Sequence[Batch], *, with_noops: bool) -> list[Shown]:
    """Return the last RECORDS_MAX records or fewer, the oldest first, without damaged batches.

    `with_noops` includes no-op records, which only show that the leader lives.
    """
    newest: list[Shown] = []
    for batch in reversed(batches):
        decode = _control if batch.header.is_control else _record
        for record in _from_the_last(batch):
            if not with_noops and _is_noop(record) and decode is _record:
                continue
            newest.append(decode(batch.header.partition_leader_epoch, record))
            if len(newest) == RECORDS_MAX:
                return newest[::-1]
    return newest[::-1]


def _from_the_last(batch: Batch) -> Iterator[Record]:
    try:
        records = list(iterate_records(batch.data, batch.position))
    except CorruptBatch:
        return
    yield from (record for record in reversed(records) if record.offset >= batch.first)


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
    if isinstance(value, str):  # a hidden record: its replacement begins with the record's name
        name, _, words = value.partition(" ")
        return Shown(record.offset, epoch, record.timestamp, kafka_name(name), None, words)
    size = len(record.value or b"")
    return Shown(record.offset, epoch, record.timestamp, "UNKNOWN", None, f"{size} bytes")
