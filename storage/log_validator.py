"""What a leader checks before it appends, and what it writes over: Kafka's `LogValidator`.

Decision 9 of the design: the header is always checked; records are decoded only where something
depends on them: a compacted topic (each record needs a key), a `compression.type` other than the
producer's, `message.timestamp.before.max.ms`. The upper bound of time is checked on the header's
max timestamp, which no record may exceed.

Never: assigns offsets to a batch it refuses, looks at sequences (`storage.producer_state`), or
touches a disk. A refusal is a value with Kafka's words; the connection stays.

Follows KIP-32, KIP-467 (record errors), KIP-937 (bounds of time), `LogValidator` and
`UnifiedLog.analyzeAndValidateRecords` 4.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from protocol.errors import ErrorCode
from protocol.record_batch import (
    CorruptBatch,
    RecordBatchHeader,
    TimestampType,
    crc_is_valid,
    patch_log_append_time,
    produced_batch_fault,
    read_header,
)
from storage.log_append_info import AppendOrigin
from storage.log_config import LogConfig

LOG_APPEND_TIME = "LogAppendTime"
LONG_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was appended."""

    error: ErrorCode
    message: str
    record_errors: list[tuple[int, str | None]] = field(default_factory=list)


def may_take_unseen(config: LogConfig) -> bool:
    """Whether a topic's batches are appended by their header alone."""
    return (
        not config.compact
        and config.compression_type == "producer"
        and config.message_timestamp_before_max_ms == LONG_MAX
        and config.message_timestamp_type != LOG_APPEND_TIME
    )


@dataclass(frozen=True, slots=True)
class Validated:
    """Batches to append: positions and headers as they stand in `records`, offsets not assigned."""

    records: memoryview
    batches: list[tuple[int, RecordBatchHeader]]
    log_append_time: int = -1


def validate(
    records: memoryview, config: LogConfig, origin: AppendOrigin, now_ms: int, partition: str
) -> Validated | Refusal:
    """Check what is to be appended as leader, and change what the topic's config changes.

    `records` is writable, and written over; a recompressed batch lies in other bytes.
    """
    batches = split_batches(records, origin)
    if isinstance(batches, Refusal):
        return batches
    for position, header in batches:
        refusal = check_batch(records, position, header, config, origin, now_ms, partition)
        if refusal is not None:
            return refusal
    last_position, last_header = batches[-1]
    records = records[: last_position + last_header.size_in_bytes]
    if config.message_timestamp_type == LOG_APPEND_TIME and origin is AppendOrigin.CLIENT:
        for position, _ in batches:
            patch_log_append_time(records, position, now_ms)
        batches = [(position, read_header(records, position)) for position, _ in batches]
        return Validated(records, batches, now_ms)
    return Validated(records, batches)


def split_batches(
    records: memoryview, origin: AppendOrigin
) -> list[tuple[int, RecordBatchHeader]] | Refusal:
    """(position, header) of each whole batch; bytes of a partial one at the end are left out.

    A client sends exactly one batch a partition (Produce v3 and later).
    """
    batches: list[tuple[int, RecordBatchHeader]] = []
    position = 0
    while position < len(records):
        try:
            header = read_header(records, position)
        except CorruptBatch as damage:
            if batches and len(records) - position < 61:
                break
            return Refusal(ErrorCode.CORRUPT_MESSAGE, str(damage))
        batches.append((position, header))
        position += header.size_in_bytes
    if not batches or (origin is AppendOrigin.CLIENT and len(batches) != 1):
        return Refusal(
            ErrorCode.INVALID_RECORD,
            "Produce requests with version >= 3 must have exactly one record batch per partition",
        )
    return batches


def check_batch(
    records: memoryview,
    position: int,
    header: RecordBatchHeader,
    config: LogConfig,
    origin: AppendOrigin,
    now_ms: int,
    partition: str,
) -> Refusal | None:
    """Everything that the header tells, in Kafka's order; None when the batch may be appended."""
    if origin is AppendOrigin.CLIENT and header.base_offset != 0:
        return Refusal(
            ErrorCode.INVALID_RECORD,
            f"The baseOffset of the record batch in the append to {partition} should be 0, "
            f"but it is {header.base_offset}",
        )
    size = header.size_in_bytes
    if size > config.max_message_bytes and origin is not AppendOrigin.RAFT_LEADER:
        return Refusal(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {partition} is {size} bytes which exceeds "
            f"the maximum configured value of {config.max_message_bytes}.",
        )
    if not crc_is_valid(records, position, header):
        return Refusal(
            ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt in topic-partition {partition}."
        )
    if origin is AppendOrigin.CLIENT:
        fault = produced_batch_fault(header)
        if fault is not None:
            return Refusal(ErrorCode.INVALID_RECORD, fault)
    return _check_time(header, config, now_ms) if origin is AppendOrigin.CLIENT else None


def _check_time(header: RecordBatchHeader, config: LogConfig, now_ms: int) -> Refusal | None:
    if config.message_timestamp_type == LOG_APPEND_TIME:
        if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
            return _invalid_timestamp(
                0,
                "Invalid timestamp type in message. "
                "Producer should not set timestamp type to LogAppendTime.",
            )
        return None
    if header.max_timestamp - now_ms > config.message_timestamp_after_max_ms:
        return _invalid_timestamp(0, out_of_range(header.max_timestamp, 0, config, now_ms))
    return None


def out_of_range(timestamp: int, offset: int, config: LogConfig, now_ms: int) -> str:
    """Kafka's words for a record that is too old or too new."""
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    return (
        f"Timestamp {timestamp} of message with offset {offset} is out of range. "
        f"The timestamp should be within [{earliest}, {latest}]"
    )


def _invalid_timestamp(index: int, message: str) -> Refusal:
    return Refusal(
        ErrorCode.INVALID_TIMESTAMP,
        "One or more records have been rejected due to invalid timestamp",
        [(index, message)],
    )
