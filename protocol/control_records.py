"""Control records, which brokers write into logs for each other and consumers never see.

Owns the key of a control record (two int16: version and type) and the transaction marker's value,
which is read at every end of a transaction. The other values are generated message classes:
LeaderChangeMessage, SnapshotHeaderRecord, SnapshotFooterRecord, KRaftVersionRecord, VotersRecord in
`protocol.messages.consumer_protocol`. Never decides when a control record is written.

Follows KIP-98 (transaction markers), KIP-595 (leader change), KIP-630 (snapshots), KIP-853
(voters), Kafka's `ControlRecordType` and `EndTransactionMarker`.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from protocol.record_batch import (
    CONTROL_FLAG,
    CRC_OFFSET,
    CURRENT_MAGIC,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    Bytes,
    CorruptBatch,
    TimestampType,
    crc_of,
)
from protocol.records import iterate_records

_KEY = Struct(">hh")
_KEY_VERSION = 0
_MARKER = Struct(">hi")
_MARKER_VERSION = 0
# A batch's header and its one record: length, attributes, two deltas and the key's length; key; the
# value's length; value; no headers. Lengths are zigzag varints.
_MARKER_BATCH = Struct(">qiibIhiqqqhii5shhBhiB")
_RECORD_BEFORE_KEY = bytes((2 * 16, 0, 0, 0, 2 * _KEY.size))
_VALUE_LENGTH = 2 * _MARKER.size
_CRC = Struct(">I")
_ATTRIBUTES = TRANSACTIONAL_FLAG | CONTROL_FLAG
_LOG_TIME_ATTRIBUTES = _ATTRIBUTES | LOG_APPEND_TIME_FLAG


class ControlRecordType(IntEnum):
    """The type in a control record's key. A control batch with a transaction marker has one record;
    those of the metadata log have several."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


def control_record_key(record_type: ControlRecordType) -> bytes:
    """Return the key of a control record of this type."""
    return _KEY.pack(_KEY_VERSION, record_type)


def control_record_type(key: bytes | None) -> ControlRecordType | None:
    """Return the type of the control record with this key; None: a type of a newer release.

    Newer versions of a key only append fields. Raises CorruptBatch if the key is malformed.
    """
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch("a control record's key has less than 4 bytes")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(f"a control record's key has version {version}")
    try:
        return ControlRecordType(number)
    except ValueError:
        return None


def transaction_marker_epoch(value: bytes | None) -> int:
    """Return the transaction coordinator's epoch in the value of a COMMIT or ABORT record.

    Raises CorruptBatch if the value is malformed.
    """
    if value is None or len(value) < _MARKER.size:
        raise CorruptBatch("a transaction marker's value has less than 6 bytes")
    version, coordinator_epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise CorruptBatch(f"a transaction marker has version {version}")
    return int(coordinator_epoch)


class EndTransactionMarker(NamedTuple):
    """The content of a control batch that ends a transaction; `type` is COMMIT or ABORT."""

    type: ControlRecordType
    coordinator_epoch: int


def read_transaction_marker(data: Bytes, position: int = 0) -> EndTransactionMarker | None:
    """Return the transaction marker in the control batch at `position`; None: the batch is empty,
    because compaction dropped its record, or has another type. Raises CorruptBatch."""
    for record in iterate_records(data, position):
        kind = control_record_type(record.key)
        if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            return EndTransactionMarker(kind, transaction_marker_epoch(record.value))
        return None
    return None


def build_transaction_marker(
    record_type: ControlRecordType,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp_ms: int,
    leader_epoch: int = -1,
    base_offset: int = 0,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> bytearray:
    """Return the batch that ends a producer's transaction in one partition: COMMIT or ABORT.

    Each end of a transaction writes such a batch to every partition, and they differ in numbers
    only. So one `pack` makes it, with the bytes that `RecordBatchBuilder` would make.
    """
    batch = bytearray(
        _MARKER_BATCH.pack(
            base_offset,
            _MARKER_BATCH.size - LOG_OVERHEAD,
            leader_epoch,
            CURRENT_MAGIC,
            0,
            _LOG_TIME_ATTRIBUTES if timestamp_type else _ATTRIBUTES,
            0,
            timestamp_ms,
            timestamp_ms,
            producer_id,
            producer_epoch,
            NO_SEQUENCE,
            1,
            _RECORD_BEFORE_KEY,
            _KEY_VERSION,
            record_type,
            _VALUE_LENGTH,
            _MARKER_VERSION,
            coordinator_epoch,
            0,
        )
    )
    _CRC.pack_into(batch, CRC_OFFSET, crc_of(batch, 0, len(batch)))
    return batch
