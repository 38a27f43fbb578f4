"""The header of a record batch (format v2), as a view over bytes that are not ours to copy.

Owns: where each field of the 61-byte header lies, what makes a header believable, the CRC-32C over
the rest of the batch, and the fields a leader writes over in place (base offset, leader epoch,
append time). It is on the path of every produce: one unpack a batch, no copy of the records.

Never: looks at a record (`protocol.records`) or unpacks a body (`protocol.compression`). Damage is
raised as `CorruptBatch`, which carries the error code that Kafka 4.3 answers a producer with (see
`tests/golden/damaged_batches.py`); whoever reads bytes of a client turns it into that answer.

Follows KIP-98 (the v2 format), KIP-32 (timestamp types), KIP-534 (delete horizon) and Kafka's
`DefaultRecordBatch`; the two older formats, magic 0 and 1, are refused since Kafka 4.0 (KIP-724).

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
"""Bytes of a batch before its first record."""
LOG_OVERHEAD = 12
"""Bytes that `batch_length` does not count: the base offset and the length itself."""
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
_MEANT = 0x7F

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
# What one byte can unpack to, by codec: deflate's, snappy's, lz4's and zstd's best case.
_MOST_UNPACKED_PER_BYTE = (1, 1032, 22, 255, 32768)

# An older batch is shorter than 61 bytes, so its magic is looked at before its length is.
_SMALLEST_OLD_BATCH = 14


class CorruptBatch(Exception):
    """The bytes are not a record batch: a length, a count or a checksum contradicts another.

    `error_code` is what Kafka answers to a producer that sent it.
    """

    error_code = ErrorCode.CORRUPT_MESSAGE


class TruncatedBatch(CorruptBatch):
    """The bytes end inside a batch. Ordinary at the end of a fetch or of a torn log segment."""

    error_code = ErrorCode.INVALID_RECORD


class InvalidBatch(CorruptBatch):
    """The header is whole and says what no producer may say."""

    error_code = ErrorCode.INVALID_RECORD


class UnknownCodec(CorruptBatch):
    """The batch is packed with a codec that Kafka does not have.

    Kafka 4.3 runs into an exception and answers UNKNOWN_SERVER_ERROR; this code says what is wrong.
    """

    error_code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class UnsupportedMagic(CorruptBatch):
    """The batch says it has another format than v2.

    `magic` 0 and 1 are Kafka's formats before 0.11; anything else is damage.
    """

    def __init__(self, magic: int) -> None:
        super().__init__(f"record batch has magic {magic}, only magic 2 is supported")
        self.magic = magic
        if magic in (0, 1):
            self.error_code = ErrorCode.INVALID_RECORD


class TimestampType(IntEnum):
    """Who set a batch's timestamps (KIP-32). The value is the attribute bit."""

    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class RecordBatchHeader(NamedTuple):
    """The 61 bytes before a batch's records: numbers as they lie there, bits as properties."""

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
        """The whole batch, header and records."""
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
        """Sequence of the last record, or -1 without one. Sequences wrap from 2^31-1 to 0."""
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
        """When compaction may drop this batch's tombstones (KIP-534), ms since the epoch.

        It lies in the base timestamp's place, and the records' timestamp deltas count from it.
        """
        return self.base_timestamp if self.attributes & DELETE_HORIZON_FLAG else None


# Half the price of RecordBatchHeader._make, which the produce path would notice.
_header_of: Callable[[type[RecordBatchHeader], tuple[int, ...]], RecordBatchHeader]
_header_of = tuple.__new__


def read_header(buf: Bytes, pos: int = 0, remaining: int | None = None) -> RecordBatchHeader:
    """The header of the batch that starts at `pos` and lies wholly in `buf`.

    A scan that reads headers alone says how many bytes of its file `remaining` has from there on;
    `buf` then needs to hold the header only.
    Length, magic, codec and last offset delta are checked, the CRC is not (`crc_is_valid`), nor
    what only a client's batch must hold (`produced_batch_fault`).
    Raises TruncatedBatch, UnsupportedMagic or CorruptBatch.
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
    """What is wrong with bytes that are too few for a v2 header."""
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
    return CorruptBatch(f"batch length {length} is below a header's length")


def _damage(header: RecordBatchHeader, remaining: int) -> CorruptBatch:
    """What is wrong with a header that `read_header` refused. Magic goes before all but the length:
    an older batch is laid out otherwise, so its other fields mean nothing here."""
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
    """Each batch of `buf` with the position it starts at.

    With `allow_partial_tail` the walk ends quietly before a batch that `buf` cuts off, which is how
    a fetch response or a torn segment may end; otherwise that raises TruncatedBatch.
    Raises as `read_header` does, after having given the batches before the damage.
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
    """CRC-32C of the batch of `size_in_bytes` at `pos`: all bytes from the attributes on."""
    view = memoryview(buf)[pos + ATTRIBUTES_OFFSET : pos + size_in_bytes]
    crc: int = crc32c(view)
    return crc


def batch_of(header: RecordBatchHeader, body: Bytes) -> bytearray:
    """The batch of these records, packed as `header` says; length, magic and CRC are made anew."""
    batch = bytearray(HEADER_SIZE)
    batch += body
    length = len(batch) - LOG_OVERHEAD
    HEADER.pack_into(batch, 0, *header._replace(batch_length=length, magic=CURRENT_MAGIC, crc=0))
    _CRC.pack_into(batch, CRC_OFFSET, crc_of(batch, 0, len(batch)))
    return batch


def crc_is_valid(buf: Bytes, pos: int, header: RecordBatchHeader) -> bool:
    """Whether the batch at `pos` has the checksum its header says."""
    return crc_of(buf, pos, LOG_OVERHEAD + header.batch_length) == header.crc


def produced_batch_fault(header: RecordBatchHeader) -> str | None:
    """What a client's batch must not be, as a message for INVALID_RECORD; None when all is well.

    Follows Kafka's `LogValidator.validateBatch` for batches that come from a client: offsets count
    the records, control batches are the broker's own, an idempotent batch has a sequence. The count
    is held against the batch's size, too, because nobody counts the records on this path: else
    three records could take two thousand million offsets.
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
    """Write what the leader assigns. Both lie before the CRC's range, so the CRC stays right."""
    _BASE_OFFSET.pack_into(buf, pos, base_offset)
    _LEADER_EPOCH.pack_into(buf, pos + _LEADER_EPOCH_OFFSET, leader_epoch)


def patch_log_append_time(buf: bytearray | memoryview, pos: int, now_ms: int) -> None:
    """Make the batch one of LogAppendTime: flag and max timestamp, then the CRC anew. Bits of the
    attributes that have no meaning are cleared, as by Kafka.

    The records keep their deltas; a reader takes the max timestamp for all of them (KIP-32).
    """
    (batch_length,) = _LENGTH.unpack_from(buf, pos + _LENGTH_OFFSET)
    (attributes,) = _ATTRIBUTES.unpack_from(buf, pos + ATTRIBUTES_OFFSET)
    _ATTRIBUTES.pack_into(buf, pos + ATTRIBUTES_OFFSET, attributes & _MEANT | LOG_APPEND_TIME_FLAG)
    _MAX_TIMESTAMP.pack_into(buf, pos + _MAX_TIMESTAMP_OFFSET, now_ms)
    _CRC.pack_into(buf, pos + CRC_OFFSET, crc_of(buf, pos, LOG_OVERHEAD + batch_length))
