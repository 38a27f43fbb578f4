"""The checks and changes of a batch before a leader appends it: Kafka's `LogValidator`.

The header is always checked. Unlike in Kafka, records are decoded only if a config depends on them:
a compacted topic (each record needs a key), a `compression.type` other than the producer's,
`message.timestamp.before.max.ms`, `max.decompressed.message.bytes`. The upper bound of time is
checked by the header's max timestamp, which no record may exceed.

Never: assigns offsets, checks sequences (`storage.log.producer_state`), or touches a disk. A
refusal is a value with Kafka's message; the connection stays open.

Follows KIP-32, KIP-467 (record errors), KIP-937 (bounds of time), `LogValidator` and
`UnifiedLog.analyzeAndValidateRecords`.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from ground.sliced_work import Steps, in_one_go
from protocol.errors import ErrorCode
from protocol.frames.frame_memory import Allocate
from protocol.record_batch import (
    ATTRIBUTES_OFFSET,
    CRC_OFFSET,
    LOG_APPEND_TIME_FLAG,
    CorruptBatch,
    InvalidBatch,
    RecordBatchHeader,
    TimestampType,
    UnknownCodec,
    crc_is_valid,
    crc_of,
    iterate_batches,
    patch_log_append_time,
    produced_batch_fault,
    read_header,
)
from storage.log.log_append_info import AppendOrigin
from storage.log.record_validation import check_records, must_decode, too_large
from storage.log.refusal import LOG_APPEND_TIME, LONG_MAX, AppendRefusal, out_of_range
from storage.log_config import LogConfig

_CRC = Struct(">I")
_CREATE_TIME = 0x7F & ~LOG_APPEND_TIME_FLAG  # the bits that stay for CreateTime


def header_check_suffices(config: LogConfig) -> bool:
    """Return whether a topic's batches are checked by their header alone."""
    return (
        not config.compact
        and config.compression_type == "producer"
        and config.message_timestamp_before_max_ms == LONG_MAX
        and not config.limits_records
        and config.message_timestamp_type != LOG_APPEND_TIME
    )


@dataclass(frozen=True, slots=True)
class Validated:
    """Batches to append: their positions and headers in `records`, without assigned offsets."""

    records: memoryview
    batches: list[tuple[int, RecordBatchHeader]]
    log_append_time: int = -1


@dataclass(frozen=True, slots=True)
class RecordCheckResult:
    """The outcome of a check of a batch's records under a topic's config."""

    config: LogConfig
    outcome: memoryview | AppendRefusal


@dataclass(frozen=True, slots=True)
class RecordCheck:
    """A check of a batch's records that is still to be run, under a topic's config."""

    config: LogConfig
    steps: Steps[memoryview | AppendRefusal]


def record_check_before_append(
    records: memoryview, config: LogConfig, now_ms: int, partition: str, allocate: Allocate
) -> RecordCheck | None:
    """Return the check of records that a client's batch needs before `validate`.

    None if the batch needs no such check, or if its header is refused already. `records` must not
    change until the steps have ended.
    """
    batches = split_batches(records, AppendOrigin.CLIENT)
    if isinstance(batches, AppendRefusal):
        return None
    _, header = batches[0]
    refusal = check_batch(records, 0, header, config, AppendOrigin.CLIENT, now_ms, partition)
    if refusal is not None or not must_decode(config, header):
        return None
    batch = records[: header.size_in_bytes]
    return RecordCheck(config, check_records(batch, header, config, now_ms, partition, allocate))


def validate(
    records: memoryview,
    config: LogConfig,
    origin: AppendOrigin,
    now_ms: int,
    partition: str,
    check_result: RecordCheckResult | None = None,
) -> Validated | AppendRefusal:
    """Check the batches that a leader is to append, and change them as the topic's config requires.

    `records` is changed in place; a recompressed batch is in new bytes. If `check_result` is the
    outcome of a check under this config, the records are not decoded again.
    """
    batches = split_batches(records, origin)
    if isinstance(batches, AppendRefusal):
        return batches
    for position, header in batches:
        refusal = check_batch(records, position, header, config, origin, now_ms, partition)
        if refusal is not None:
            return refusal
    if origin is AppendOrigin.CLIENT:
        checked = _fit_to_topic(records, batches[0][1], config, now_ms, partition, check_result)
        if isinstance(checked, AppendRefusal):
            return checked
    else:
        last_position, last_header = batches[-1]
        checked = Validated(records[: last_position + last_header.size_in_bytes], batches)
    size = len(checked.records)
    if size > config.segment_size_bytes:
        return AppendRefusal(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"Message batch size is {size} bytes in append to partition {partition}, which exceeds "
            f"the maximum configured segment size of {config.segment_size_bytes}.",
        )
    return checked


def _fit_to_topic(
    records: memoryview,
    header: RecordBatchHeader,
    config: LogConfig,
    now_ms: int,
    partition: str,
    check_result: RecordCheckResult | None,
) -> Validated | AppendRefusal:
    """Check a client's records if the topic's configs need it, and set codec and timestamps. Return
    the batch to append, or the refusal."""
    records = records[: header.size_in_bytes]
    if must_decode(config, header):
        if check_result is not None and check_result.config is config:
            outcome = check_result.outcome
        else:
            outcome = in_one_go(check_records(records, header, config, now_ms, partition))
        if isinstance(outcome, AppendRefusal):
            return outcome
        records = outcome
    own_time = config.message_timestamp_type == LOG_APPEND_TIME
    if own_time:
        patch_log_append_time(records, 0, now_ms)
    elif header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        _make_create_time(records)
    return Validated(records, [(0, read_header(records, 0))], now_ms if own_time else -1)


def _make_create_time(batch: memoryview) -> None:
    """Ignore LogAppendTime in a client's batch if the topic uses CreateTime.

    Unused bits of the attributes are cleared too, as by Kafka.
    """
    batch[ATTRIBUTES_OFFSET] = 0
    batch[ATTRIBUTES_OFFSET + 1] &= _CREATE_TIME
    _CRC.pack_into(batch, CRC_OFFSET, crc_of(batch, 0, len(batch)))


def split_batches(
    records: memoryview, origin: AppendOrigin
) -> list[tuple[int, RecordBatchHeader]] | AppendRefusal:
    """Return (position, header) of each whole batch, without a partial one at the end.

    Return a refusal for damage, or if a client sent no batch or several (Produce v3 and later).
    """
    try:
        batches = list(iterate_batches(records, allow_partial_tail=True))
    except CorruptBatch as damage:
        is_one = isinstance(damage, InvalidBatch | UnknownCodec)
        return AppendRefusal(damage.error_code, str(damage), is_no_batch=not is_one)
    if not batches or (origin is AppendOrigin.CLIENT and len(batches) != 1):
        return AppendRefusal(
            ErrorCode.INVALID_RECORD,
            "Produce requests with version >= 3 must have exactly one record batch per partition",
            is_no_batch=True,
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
) -> AppendRefusal | None:
    """Check a batch by its header, in Kafka's order. Return the refusal, None if it is valid."""
    if origin is AppendOrigin.CLIENT and header.base_offset != 0:
        return AppendRefusal(
            ErrorCode.INVALID_RECORD,
            f"The baseOffset of the record batch in the append to {partition} should be 0, "
            f"but it is {header.base_offset}",
        )
    size = header.size_in_bytes
    if size > config.max_message_bytes and origin is not AppendOrigin.RAFT_LEADER:
        return too_large(size, config, partition)
    if not crc_is_valid(records, position, header):
        return AppendRefusal(
            ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt in topic-partition {partition}."
        )
    if origin is AppendOrigin.CLIENT:
        fault = produced_batch_fault(header)
        if fault is not None:
            return AppendRefusal(ErrorCode.INVALID_RECORD, fault)
    return _check_time(header, config, now_ms) if origin is AppendOrigin.CLIENT else None


def _check_time(header: RecordBatchHeader, config: LogConfig, now_ms: int) -> AppendRefusal | None:
    """Return the refusal of a batch by its header: LogAppendTime from the client, or a timestamp
    too far in the future. Return None if both are right."""
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


def _invalid_timestamp(index: int, message: str) -> AppendRefusal:
    """Return the refusal INVALID_TIMESTAMP, with a message for the record at `index` of the
    batch."""
    return AppendRefusal(
        ErrorCode.INVALID_TIMESTAMP,
        "One or more records have been rejected due to invalid timestamp",
        [(index, message)],
    )
