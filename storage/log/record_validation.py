"""The checks for which a leader decodes a batch's records, and the change of a batch's codec.

A leader decodes records in four cases: in a compacted topic, where each needs a key, for a
`compression.type` that is not the producer's, for `message.timestamp.before.max.ms`, and if they
are compressed, for `max.decompressed.message.bytes`. In all other topics the check of the header is
enough (`storage.log.log_validator`).

All of it is `Steps`: a batch may decompress to a thousand times its size. Never: keeps decompressed
records, copies a record, or decompresses without a limit (`storage.log.batch_body` has it).

Kafka's class: `LogValidator` (`validateRecord`, `processRecordErrors`,
`validateMessagesAndAssignOffsetsCompressed`). KIP-467 (record errors), KIP-937.
"""

from __future__ import annotations

from functools import partial

from ground.sliced_work import Job, Steps
from protocol.compression import Codec, compress
from protocol.errors import ErrorCode
from protocol.frames.frame_memory import Allocate
from protocol.record_batch import (
    HEADER_SIZE,
    LOG_APPEND_TIME_FLAG,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    Bytes,
    CorruptBatch,
    RecordBatchHeader,
    batch_of,
)
from protocol.record_scan import scan_records
from storage.log.batch_body import BatchBody
from storage.log.refusal import LOG_APPEND_TIME, LONG_MAX, AppendRefusal, out_of_range
from storage.log_config import LogConfig

_CODECS = {
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
_ERRORS_SHOWN = 3
RECORD_ERRORS_MAX = 10_000
"""The most record errors in an answer: a batch of 94 KB may hold ten million records, and each may
have an error."""
PACKED_AT_ONCE_BYTES = 64 * 1024
"""The most bytes that the loop compresses at once; the strongest levels take a millisecond."""


def target_codec(config: LogConfig, header: RecordBatchHeader) -> int:
    """Return the codec that the batch has to have in this topic's log."""
    return _CODECS.get(config.compression_type, header.compression)


def must_decode(config: LogConfig, header: RecordBatchHeader) -> bool:
    """Return whether the topic's configs require that a client's batch is decoded."""
    return (
        config.compact
        or target_codec(config, header) != header.compression
        or (config.limits_records and header.compression != Codec.NONE)
        or (
            config.message_timestamp_before_max_ms != LONG_MAX
            and config.message_timestamp_type != LOG_APPEND_TIME
        )
    )


def check_records(
    batch: memoryview,
    header: RecordBatchHeader,
    config: LogConfig,
    now_ms: int,
    partition: str,
    allocate: Allocate = bytearray,
) -> Steps[memoryview | AppendRefusal]:
    """Check each record of a batch. Return the batch to append, or the refusal.

    The result is `batch` itself, or a new batch under the topic's codec.
    """
    body = BatchBody(batch, header, allocate)
    outcome: memoryview | AppendRefusal
    try:
        yield from body.open()
        outcome = yield from _look_at_body(batch, header, body.view, config, now_ms, partition)
    except CorruptBatch as damage:
        outcome = AppendRefusal(ErrorCode.INVALID_RECORD, str(damage))
    yield from body.close()
    return outcome


def _look_at_body(
    batch: memoryview,
    header: RecordBatchHeader,
    body: memoryview,
    config: LogConfig,
    now_ms: int,
    partition: str,
) -> Steps[memoryview | AppendRefusal]:
    """Check each record of a decompressed body. Return the batch to append, which has the topic's
    codec, or a refusal."""
    checks = _RecordChecks(config, now_ms, partition)
    yield from checks.run(header, body)
    refusal = checks.refusal()
    if refusal is not None:
        return refusal
    codec = target_codec(config, header)
    if codec == header.compression:
        return batch
    return (yield from _recompressed(body, header, codec, config, checks, partition))


class _RecordChecks:
    """The checks of one batch's records, and their errors."""

    def __init__(self, config: LogConfig, now_ms: int, partition: str) -> None:
        self._config = config
        self._now_ms = now_ms
        self._partition = partition
        self._errors: list[tuple[int, str | None]] = []
        self._error_count = 0
        self._bad_time = False
        self.max_timestamp = NO_TIMESTAMP

    def run(self, header: RecordBatchHeader, body: memoryview) -> Steps[None]:
        """Check all records, and collect their errors and the largest timestamp. Raises
        CorruptBatch."""
        config = self._config
        compact = config.compact
        checks_time = config.message_timestamp_type != LOG_APPEND_TIME
        index = 0
        for record in scan_records(header, body, config.max_decompressed_message_bytes):
            if record is None:
                yield None
                continue
            offset, timestamp, key_length, *_ = record
            if timestamp > self.max_timestamp:
                self.max_timestamp = timestamp
            if compact and key_length < 0:
                self._note(index, None)
            elif checks_time and _is_out_of_range(timestamp, config, self._now_ms):
                self._bad_time = True
                self._note(index, out_of_range(timestamp, offset, config, self._now_ms))
            index += 1

    def _note(self, index: int, message: str | None) -> None:
        """Count a refused record, and keep its index and message while the list has room. None as
        the message: the record lacks a key."""
        self._error_count += 1
        if len(self._errors) < RECORD_ERRORS_MAX:
            if message is None:
                message = (
                    "Compacted topic cannot accept message without key in topic partition "
                    f"{self._partition}"
                )
            self._errors.append((index, message))

    def refusal(self) -> AppendRefusal | None:
        """Return the refusal, with Kafka's message, if a record had an error, else None."""
        errors = self._errors
        if not errors:
            return None
        if self._bad_time:
            text = "One or more records have been rejected due to invalid timestamp"
            return AppendRefusal(ErrorCode.INVALID_TIMESTAMP, text, errors)
        shown = ", ".join(
            f"RecordError(batchIndex={index}, message='{message}')"
            for index, message in errors[:_ERRORS_SHOWN]
        )
        text = (
            f"One or more records have been rejected due to {self._error_count} record errors in "
            f"total, and only showing the first three errors at most: [{shown}]"
        )
        return AppendRefusal(ErrorCode.INVALID_RECORD, text, errors)


def _is_out_of_range(timestamp: int, config: LogConfig, now_ms: int) -> bool:
    """Return whether a timestamp in ms is too far from now for the topic. A record without a
    timestamp is not."""
    if timestamp == NO_TIMESTAMP:
        return False
    difference = now_ms - timestamp
    return (
        difference > config.message_timestamp_before_max_ms
        or -difference > config.message_timestamp_after_max_ms
    )


def _recompressed(
    body: memoryview,
    header: RecordBatchHeader,
    codec: int,
    config: LogConfig,
    checks: _RecordChecks,
    partition: str,
) -> Steps[memoryview | AppendRefusal]:
    """Return the batch with the same records under the topic's codec.

    Return a refusal if the new batch is above the topic's size limit.
    """
    packed: Bytes = body
    if codec != Codec.NONE:
        call = partial(compress, codec, body, _compression_level(config, codec))
        packed = call() if len(body) <= PACKED_AT_ONCE_BYTES else (yield Job(call))
    size = HEADER_SIZE + len(packed)
    if size > config.max_message_bytes:
        return too_large(size, config, partition)
    attributes = header.attributes & (LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG) | codec
    new_header = header._replace(attributes=attributes, max_timestamp=checks.max_timestamp)
    return memoryview(batch_of(new_header, packed))


def too_large(size: int, config: LogConfig, partition: str) -> AppendRefusal:
    """Return the refusal of a batch of `size` bytes, which is above the topic's limit."""
    return AppendRefusal(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch size in the append to {partition} is {size} bytes which exceeds "
        f"the maximum configured value of {config.max_message_bytes}.",
    )


def _compression_level(config: LogConfig, codec: int) -> int | None:
    """Return the topic's level for a codec, None if the codec has no levels."""
    if codec == Codec.GZIP:
        return config.compression_gzip_level
    if codec == Codec.LZ4:
        return config.compression_lz4_level
    return config.compression_zstd_level if codec == Codec.ZSTD else None
