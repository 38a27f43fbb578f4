"""The header of a record batch (format v2): reading, checking and changing it in place.

Owns the positions and the checks of the fields of the 61-byte header, and the CRC-32C over the rest
of the batch. Owns the change of the fields that a leader overwrites (base offset, leader epoch,
append time). It is on the path of every produce: one unpack a batch, no copy of the records.

Never reads a record (`protocol.records`) or unpacks a body (`protocol.compression`). Raises
`CorruptBatch` for damage, with the error code of Kafka's response to a producer (see
`tests/golden/damaged_batches.py`); the handlers of clients' bytes put it into their response.

Follows KIP-98 (the v2 format), KIP-32 (timestamp types), KIP-534 (delete horizon) and Kafka's
`DefaultRecordBatch`; Kafka rejects the two older formats, magic 0 and 1, since 4.0 (KIP-724).

    0  base offset       int64    21 attributes          int16    43 producer id     int64
    8  batch length      int32    23 last offset delta   int32    51 producer epoch  int16
    12 leader epoch      int32    27 base timestamp      int64    53 base sequence   int32
    16 magic             int8     35 max timestamp       int64    57 record count    int32
    17 crc               uint32      (the CRC covers everything from byte 21 on)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from struct import Struct
from typing import NamedTuple, TypeAlias

from protocol.crc32c_function import crc32c
from protocol.errors import ErrorCode

Bytes: TypeAlias = bytes | bytearray | memoryview

HEADER_SIZE = 61
"""The number of bytes of a batch before its first record."""
LOG_OVERHEAD = 12
"""The number of bytes that `batch_length` does not count: the base offset and the length itself."""
CURRENT_MAGIC = 2
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_PARTITION_LEADER_EPOCH = -1

MAGIC_OFFSET = 16
CRC_OFFSET = 17
ATTRIBUTES_OFFSET = 21

CODEC_MASK = 0x07
LOG_APPEND_TIME_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40
_DEFINED_BITS = 0x7F

HEADER = Struct(">qiibIhiqqqhii")
_BASE_OFFSET = Struct(">q")
_LEADER_EPOCH = Struct(">i")
_LENGTH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")
_MAX_TIMESTAMP_OFFSET = 35
_LEADER_EPOCH_OFFSET = 12
_LENGTH_OFFSET = 8

# Length, attributes, two deltas, two null lengths, no headers: one byte each.
_SMALLEST_RECORD_BYTES = 7
# The most bytes that one byte can unpack to, by codec: none, deflate, snappy, lz4, zstd.
_MOST_UNPACKED_PER_BYTE = (1, 1032, 22, 255, 32768)

# A batch of an older format may be shorter than 61 bytes, so its magic is checked first.
_SMALLEST_OLD_BATCH = 14


class CorruptBatch(Exception):
    """Bytes that are no record batch: a length, a count or a checksum contradicts another.

    `error_code` is that of Kafka's response to the producer that sent them.
    """

    error_code = ErrorCode.CORRUPT_MESSAGE


class TruncatedBatch(CorruptBatch):
    """Bytes that end inside a batch, as they may at the end of a fetch or of a torn segment."""

    error_code = ErrorCode.INVALID_RECORD


class InvalidBatch(CorruptBatch):
    """A whole header with values that no producer may send."""

    error_code = ErrorCode.INVALID_RECORD


class UnknownCodec(CorruptBatch):
    """A batch with the number of a codec that Kafka does not have.

    Kafka fails with an exception and answers UNKNOWN_SERVER_ERROR; this error code is more
    precise.
    """

    error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class RecordTooLarge(CorruptBatch):
    """A record of a compressed batch that is larger than `max.decompressed.message.bytes`."""

    error_code = ErrorCode.INVALID_RECORD

    def __init__(self, size_bytes: int, most_bytes: int) -> None:
        super().__init__(
            f"Invalid record size: {size_bytes} exceeds the configured maximum record size of "
            f"{most_bytes}."
        )


class UnsupportedMagic(CorruptBatch):
    """A batch of another format than v2, by its magic.

    `magic` 0 and 1 are Kafka's formats before 0.11; any other value is damage.
    """

    def __init__(self, magic: int) -> None:
        """Set the error code: INVALID_RECORD for magic 0 and 1, else CORRUPT_MESSAGE."""
        super().__init__(f"record batch has magic {magic}, only magic 2 is supported")
        self.magic = magic
        if magic in (0, 1):
            self.error_code = ErrorCode.INVALID_RECORD


class TimestampType(IntEnum):
    """The source of a batch's timestamps (KIP-32): its producer, or the broker that appended it.
    The value is the attribute bit."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class RecordBatchHeader(NamedTuple):
    """The 61 bytes before a batch's records: the numbers in their order, the bits as properties."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_in_bytes(self) -> int:
        """The size of the whole batch, header and records."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset of the first record after this batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; -1: the batch has none. Sequences wrap from
        2^31-1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> int:
        """The codec's number, 0 (none) to 4 (zstd): see `protocol.compression.Codec`."""
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        if self.attributes & LOG_APPEND_TIME_FLAG:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL_FLAG != 0

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def delete_horizon_ms(self) -> int | None:
        """The time from which compaction may drop this batch's tombstones (KIP-534), in ms since
        the epoch; None: it is not set.

        It takes the place of the base timestamp, and the records' timestamp deltas count from it.
        """
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None


# This takes half the time of RecordBatchHeader._make, which matters for every produce.
_header_of: Callable[[type[RecordBatchHeader], tuple[int, ...]], RecordBatchHeader]
_header_of = tuple.__new__


def read_header(buf: Bytes, pos: int = 0, remaining: int | None = None) -> RecordBatchHeader:
    """Return the header of the batch that starts at `pos`. Raises TruncatedBatch, UnsupportedMagic
    or CorruptBatch.

    `buf` must have the whole batch, or only its header if `remaining` is the number of the file's
    bytes from `pos` on. Length, magic, codec and last offset delta are checked; the CRC is not
    (`crc_is_valid`), nor are the rules for clients' batches (`produced_batch_fault`).
    """
    if len(buf) - pos < HEADER_SIZE:
        raise _short_batch(buf, pos)
    if remaining is None:
        remaining = len(buf) - pos
    header = _header_of(RecordBatchHeader, HEADER.unpack_from(buf, pos))
    batch_length = header.batch_length
    if (
        batch_length < HEADER_SIZE - LOG_OVERHEAD
        or header.magic != CURRENT_MAGIC
        or batch_length + LOG_OVERHEAD > remaining
        or header.attributes & CODEC_MASK > 4
        or header.last_offset_delta < 0
    ):
        raise _damage(header, remaining)
    return header


def _short_batch(buf: Bytes, pos: int) -> CorruptBatch:
    """Return, without raising it, the error of bytes that are too few for a v2 header: a wrong
    length, an older magic, or TruncatedBatch."""
    remaining = len(buf) - pos
    if remaining >= LOG_OVERHEAD:
        (length,) = _LENGTH.unpack_from(buf, pos + _LENGTH_OFFSET)
        if length < _SMALLEST_OLD_BATCH:
            return _short_length(length)
        if remaining > MAGIC_OFFSET:
            magic = buf[pos + MAGIC_OFFSET]
            if magic != CURRENT_MAGIC:
                return UnsupportedMagic(magic - 256 if magic > 127 else magic)
            if length < HEADER_SIZE - LOG_OVERHEAD:
                return _short_length(length)
    return TruncatedBatch(f"{remaining} bytes remain, a batch header has {HEADER_SIZE}")


def _short_length(length: int) -> CorruptBatch:
    """Return the error of a batch whose length is below that of a header."""
    return CorruptBatch(f"batch length {length} is below a header's length")


def _damage(header: RecordBatchHeader, remaining: int) -> CorruptBatch:
    """Return the error of a header that `read_header` rejected. The magic is checked before all
    fields but the length, because an older batch has another layout."""
    if header.batch_length < _SMALLEST_OLD_BATCH:
        return _short_length(header.batch_length)
    if header.magic != CURRENT_MAGIC:
        return UnsupportedMagic(header.magic)
    if header.batch_length < HEADER_SIZE - LOG_OVERHEAD:
        return _short_length(header.batch_length)
    if header.size_in_bytes > remaining:
        return TruncatedBatch(f"{remaining} bytes remain of a batch of {header.size_in_bytes}")
    if header.compression > 4:
        return UnknownCodec(f"unknown compression type {header.compression}")
    return InvalidBatch(f"last offset delta {header.last_offset_delta} is negative")


def iterate_batches(
    buf: Bytes, pos: int = 0, *, allow_partial_tail: bool = False
) -> Iterator[tuple[int, RecordBatchHeader]]:
    """Yield the position and the header of each batch of `buf`.

    With `allow_partial_tail` the iteration ends before a batch that `buf` cuts off, as fetch
    responses and torn segments may; otherwise such a batch raises TruncatedBatch. Raises as
    `read_header` does, after the batches before the damage.
    """
    end = len(buf)
    while pos < end:
        try:
            header = read_header(buf, pos)
        except TruncatedBatch:
            if allow_partial_tail:
                return
            raise
        yield pos, header
        pos += LOG_OVERHEAD + header.batch_length


def crc_of(buf: Bytes, pos: int, size_in_bytes: int) -> int:
    """Return the CRC-32C of the batch of `size_in_bytes` at `pos`, over all bytes from the
    attributes on."""
    view = memoryview(buf)[pos + ATTRIBUTES_OFFSET : pos + size_in_bytes]
    crc: int = crc32c(view)
    return crc


def batch_of(header: RecordBatchHeader, body: Bytes) -> bytearray:
    """Return the batch of `header` and `body`, which is compressed as the header says. Length,
    magic and CRC of the header are replaced by the right values."""
    batch = bytearray(HEADER_SIZE)
    batch += body
    length = len(batch) - LOG_OVERHEAD
    HEADER.pack_into(batch, 0, *header._replace(batch_length=length, magic=CURRENT_MAGIC, crc=0))
    _CRC.pack_into(batch, CRC_OFFSET, crc_of(batch, 0, len(batch)))
    return batch


def crc_is_valid(buf: Bytes, pos: int, header: RecordBatchHeader) -> bool:
    """Return whether the batch at `pos` has the checksum of its header."""
    return crc_of(buf, pos, LOG_OVERHEAD + header.batch_length) == header.crc


def produced_batch_fault(header: RecordBatchHeader) -> str | None:
    """Return what is wrong with a client's batch, as a message for INVALID_RECORD; None: it is
    valid.

    Follows Kafka's `LogValidator.validateBatch` for batches that come from a client: the offsets
    match the record count, clients send no control batches, an idempotent batch has a sequence. The
    count must also be possible for the batch's size, because this path does not count the records:
    else three records could take two thousand million offsets.
    """
    if header.record_count <= 0 or header.record_count != header.last_offset_delta + 1:
        return (
            f"Inconsistent batch offset range explicit in the batch header: "
            f"last offset delta {header.last_offset_delta}, record count {header.record_count}"
        )
    if header.record_count * _SMALLEST_RECORD_BYTES > (
        (header.batch_length - HEADER_SIZE + LOG_OVERHEAD)
        * _MOST_UNPACKED_PER_BYTE[header.attributes & CODEC_MASK]
    ):
        return f"{header.record_count} records do not go into {header.batch_length} bytes"
    if header.attributes & CONTROL_FLAG:
        return "Clients are not allowed to write control records"
    if header.producer_id > NO_PRODUCER_ID and header.base_sequence < 0:
        return (
            f"Invalid sequence number {header.base_sequence} in record batch "
            f"with producerId {header.producer_id}"
        )
    return None


def patch_base_offset_and_epoch(
    buf: bytearray | memoryview, pos: int, base_offset: int, leader_epoch: int
) -> None:
    """Write the base offset and the epoch, which the leader assigns. Both are before the CRC's
    range, so the CRC stays valid."""
    _BASE_OFFSET.pack_into(buf, pos, base_offset)
    _LEADER_EPOCH.pack_into(buf, pos + _LEADER_EPOCH_OFFSET, leader_epoch)


def patch_log_append_time(buf: bytearray | memoryview, pos: int, now_ms: int) -> None:
    """Make the batch a LogAppendTime batch: set the flag, the max timestamp and the CRC. Unused
    bits of the attributes are cleared, as by Kafka.

    The records keep their deltas; readers use the max timestamp for all of them (KIP-32).
    """
    (batch_length,) = _LENGTH.unpack_from(buf, pos + _LENGTH_OFFSET)
    (attributes,) = _ATTRIBUTES.unpack_from(buf, pos + ATTRIBUTES_OFFSET)
    _ATTRIBUTES.pack_into(
        buf, pos + ATTRIBUTES_OFFSET, attributes & _DEFINED_BITS | LOG_APPEND_TIME_FLAG
    )
    _MAX_TIMESTAMP.pack_into(buf, pos + _MAX_TIMESTAMP_OFFSET, now_ms)
    _CRC.pack_into(buf, pos + CRC_OFFSET, crc_of(buf, pos, LOG_OVERHEAD + batch_length))
