"""The checks for which a leader has to decode a batch, and the batch built anew.

It has to for a compacted topic, whose records all need a key; for a `compression.type` that is not
the producer's; for `message.timestamp.before.max.ms`. Everywhere else the header speaks for its
records (`storage.log_validator`).

Never: keeps what it decoded, or unpacks without a bound (`protocol.compression` holds one).

Kafka's class: `LogValidator` (`validateRecord`, `processRecordErrors`,
`validateMessagesAndAssignOffsetsCompressed`). KIP-467 (record errors), KIP-937.
"""

from __future__ import annotations

from protocol.compression import Codec
from protocol.errors import ErrorCode
from protocol.record_batch import CorruptBatch, RecordBatchHeader, TimestampType
from protocol.records import Record, build_batch, iterate_records
from storage.log_config import LogConfig
from storage.refusal import LOG_APPEND_TIME, LONG_MAX, Refusal, out_of_range

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
_ERRORS_SHOWN = 3


def target_codec(config: LogConfig, header: RecordBatchHeader) -> int:
    """The codec that the batch has to have in this topic's log."""
    return _CODECS.get(config.compression_type, header.compression)


def must_decode(config: LogConfig, header: RecordBatchHeader) -> bool:
    """Whether the records of a client's batch matter to the topic."""
    return (
        config.compact
        or target_codec(config, header) != header.compression
        or (
            config.message_timestamp_before_max_ms != LONG_MAX
            and config.message_timestamp_type != LOG_APPEND_TIME
        )
    )


def decode_and_check(
    batch: memoryview, config: LogConfig, now_ms: int, partition: str
) -> list[Record] | Refusal:
    """The records of the batch, each of them allowed in the topic."""
    try:
        records = list(iterate_records(batch))
    except CorruptBatch as damage:
        return Refusal(ErrorCode.INVALID_RECORD, str(damage))
    errors: list[tuple[int, str | None]] = []
    bad_time = False
    checks_time = config.message_timestamp_type != LOG_APPEND_TIME
    for index, record in enumerate(records):
        if config.compact and record.key is None:
            text = (
                f"Compacted topic cannot accept message without key in topic partition {partition}"
            )
            errors.append((index, text))
        elif checks_time and _is_out_of_range(record.timestamp, config, now_ms):
            errors.append((index, out_of_range(record.timestamp, record.offset, config, now_ms)))
            bad_time = True
    if not errors:
        return records
    if bad_time:
        text = "One or more records have been rejected due to invalid timestamp"
        return Refusal(ErrorCode.INVALID_TIMESTAMP, text, errors)
    shown = ", ".join(
        f"RecordError(batchIndex={index}, message='{message}')"
        for index, message in errors[:_ERRORS_SHOWN]
    )
    text = (
        f"One or more records have been rejected due to {len(errors)} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
    return Refusal(ErrorCode.INVALID_RECORD, text, errors)


def _is_out_of_range(timestamp: int, config: LogConfig, now_ms: int) -> bool:
    if timestamp < 0:
        return False
    difference = now_ms - timestamp
    return (
        difference > config.message_timestamp_before_max_ms
        or -difference > config.message_timestamp_after_max_ms
    )


def rebuild_batch(
    records: list[Record], header: RecordBatchHeader, config: LogConfig, now_ms: int
) -> memoryview:
    """The same records under the topic's codec, and under the broker's time where it gives it."""
    codec = target_codec(config, header)
    own_time = config.message_timestamp_type == LOG_APPEND_TIME
    return memoryview(
        build_batch(
            records,
            base_offset=header.base_offset,
            compression=codec,
            compression_level=_level(config, codec),
            timestamp_type=(
                TimestampType.LOG_APPEND_TIME if own_time else TimestampType.CREATE_TIME
            ),
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            is_transactional=header.is_transactional,
            max_timestamp=now_ms if own_time else None,
        )
    )


def _level(config: LogConfig, codec: int) -> int | None:
    if codec == Codec.GZIP:
        return config.compression_gzip_level
    if codec == Codec.LZ4:
        return config.compression_lz4_level
    return config.compression_zstd_level if codec == Codec.ZSTD else None
