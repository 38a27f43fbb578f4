"""Batches of records for tests, built in one call."""

from __future__ import annotations

from collections.abc import Iterable

from protocol.compression import Codec
from protocol.record_batch import (
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TimestampType,
)
from protocol.records import Record, RecordBatchBuilder


def build_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    compression: int = Codec.NONE,
    compression_level: int | None = None,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    delete_horizon_ms: int | None = None,
    last_offset: int | None = None,
    max_timestamp: int | None = None,
) -> bytearray:
    """Return a batch of these records.

    A record keeps its own offset; -1 means the next one. Raises ValueError if offsets decrease.
    """
    builder = RecordBatchBuilder(
        base_offset=base_offset,
        compression=compression,
        compression_level=compression_level,
        timestamp_type=timestamp_type,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        is_control=is_control,
        leader_epoch=leader_epoch,
        delete_horizon_ms=delete_horizon_ms,
    )
    for record in records:
        builder.append(record.key, record.value, record.timestamp, record.headers, record.offset)
    return builder.build(last_offset=last_offset, max_timestamp=max_timestamp)
