"""The four codecs of record batches, with a limit on the unpacked size of a batch.

Owns the codec numbers, the framing of each codec on Kafka's wire, and the limit: a size that the
packed bytes claim never decides how much is allocated (CVE-2023-34455). Never reads records. Raises
`CorruptBatch` for damaged bytes.

The codecs are cramjam's (Rust and the C reference libraries, without the GIL). Its
`decompress_into` functions stop when the output is full, so the limit is a hard one. cramjam is
loaded with the first compressed batch: 4 MB that a start does not need.

The framings are those that real clients write:
* gzip: RFC 1952, one member.
* snappy: Java, kafka-python and aiokafka write xerial's stream (a 16-byte header, then blocks of
  length and raw snappy); librdkafka writes one raw block. Both are read, the stream is written.
* lz4: LZ4 frame; Kafka's own reader rejects linked blocks, so independent blocks are written.
* zstd: zstd frame (KIP-110). Levels: KIP-390.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct

from protocol.record_batch import Bytes, CorruptBatch


class Codec(IntEnum):
    """A codec's number in a batch's attributes. Its name in lower case is that in
    `compression.type`."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class DecompressionLimit(CorruptBatch):
    """Compressed bytes that unpack to more than the caller's limit."""


LZ4_DEFAULT_LEVEL = 9
"""Kafka's default for `compression.lz4.level`, which selects its fast compressor."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\0\0\0\x01\0\0\0\x01"
_XERIAL_BLOCK_BYTES = 32 * 1024
_BLOCK_LENGTH = Struct(">i")
# A header in the place of a block's length begins another stream, after concatenated writes.
_XERIAL_MAGIC_AS_LENGTH = _BLOCK_LENGTH.unpack(_XERIAL_MAGIC[:4])[0]

# Raw snappy packs 64 bytes into no fewer than 3, so a claimed length above this is false.
_SNAPPY_MOST_PER_BYTE = 22
_LZ4_FASTEST = 0
_LZ4_HIGHEST = 12
_LZ4_STEP_BYTES = 1024 * 1024

_FIRST_GUESS_FACTOR = 4
_FIRST_GUESS_BYTES = 16 * 1024


def decompress(codec: int, data: Bytes, limit_bytes: int) -> bytes:
    """Return the unpacked `data`, at most `limit_bytes`.

    The memory in use stays below a few times the unpacked bytes, whatever lengths `data` claims.
    Raises DecompressionLimit if there are more bytes, CorruptBatch if `data` is damaged, cut off or
    followed by other bytes.
    """
    if codec == Codec.NONE:
        if len(data) > limit_bytes:
            raise DecompressionLimit(f"{len(data)} bytes, the limit is {limit_bytes}")
        return bytes(data)
    if codec == Codec.SNAPPY:
        return _decompress_snappy(memoryview(data), limit_bytes)
    return _decompress_stream(codec, data, limit_bytes)


def unpack_into(codec: int, data: Bytes, out: memoryview) -> int | None:
    """Unpack `data` into `out`. Return the number of unpacked bytes; None: `out` is too small.

    Raises CorruptBatch if `data` is damaged, cut off or followed by other bytes, or if `codec` is
    unknown or NONE.
    """
    if codec == Codec.SNAPPY:
        try:
            return _decompress_snappy_into(memoryview(data), out)
        except DecompressionLimit:
            return None
    try:
        name = _STREAMS[codec]
    except KeyError:
        raise CorruptBatch(f"unknown compression type {codec}") from None
    import cramjam

    try:
        size: int = getattr(cramjam, name).decompress_into(data, out)
    except cramjam.DecompressionError as error:
        if _output_was_full(error):
            return None
        raise CorruptBatch(f"compressed records are damaged: {error}") from None
    return size


def compress(codec: int, data: Bytes, level: int | None = None) -> bytes:
    """Return `data` compressed as Kafka's broker does it.

    `level` is a value of the topic config `compression.<codec>.level` (gzip -1 and 1 to 9, lz4 1 to
    17, zstd -131072 to 22); None and, for gzip, -1 are the codec's default. lz4 has 12 levels;
    higher values mean the highest. Raises ValueError for an unknown codec.
    """
    if codec == Codec.NONE:
        return bytes(data)
    if codec == Codec.SNAPPY:
        return _compress_snappy(memoryview(data))
    if codec == Codec.LZ4:
        return _compress_lz4(data, LZ4_DEFAULT_LEVEL if level is None else level)
    import cramjam

    if codec == Codec.GZIP:
        return bytes(cramjam.gzip.compress(data, None if level == -1 else level))
    if codec == Codec.ZSTD:
        return bytes(cramjam.zstd.compress(data, 3 if level is None else level))
    raise ValueError(f"unknown compression type {codec}")


# --- gzip, lz4, zstd ---------------------------------------------------------------------------

# The codecs' names in cramjam.
_STREAMS: dict[int, str] = {Codec.GZIP: "gzip", Codec.LZ4: "lz4", Codec.ZSTD: "zstd"}


def _decompress_stream(codec: int, data: Bytes, limit_bytes: int) -> bytes:
    """Return the unpacked `data`. Unpack into a buffer of a guessed size; if it is too small,
    unpack again into a buffer of 4 times the size.

    The sizes that the sender wrote cannot be trusted, so some batches are unpacked twice. Raises
    DecompressionLimit if the limit is exceeded, CorruptBatch as `unpack_into` does.
    """
    room = max(_FIRST_GUESS_BYTES, _FIRST_GUESS_FACTOR * len(data))
    while True:
        room = min(room, limit_bytes)
        out = memoryview(bytearray(room))
        size = unpack_into(codec, data, out)
        if size is not None:
            return bytes(out[:size])
        if room == limit_bytes:
            raise DecompressionLimit(f"records unpack to over {limit_bytes} bytes")
        room *= 4


def _output_was_full(error: Exception) -> bool:
    """Return whether cramjam's error says that the output buffer is too small."""
    # The words of Rust's std::io::ErrorKind::WriteZero, which cramjam passes on.
    return "failed to write whole buffer" in str(error)


def _compress_lz4(data: Bytes, level: int) -> bytes:
    """Return `data` as an LZ4 frame of independent blocks, without a checksum of the content."""
    import cramjam

    strength = _LZ4_FASTEST if level == LZ4_DEFAULT_LEVEL else min(level, _LZ4_HIGHEST)
    stream = cramjam.lz4.Compressor(level=strength, content_checksum=False, block_linked=False)
    whole = memoryview(data)
    for start in range(0, len(whole), _LZ4_STEP_BYTES):  # one copy of everything takes long
        stream.compress(bytes(whole[start : start + _LZ4_STEP_BYTES]))
    return bytes(stream.finish())


# --- snappy ------------------------------------------------------------------------------------


def _decompress_snappy(data: memoryview, limit_bytes: int) -> bytes:
    """Return the unpacked bytes of all blocks. Raises CorruptBatch if they are damaged,
    DecompressionLimit if they exceed the limit."""
    unpacked = bytearray()
    for block in _snappy_blocks(data):
        out = bytearray(_snappy_size(block, limit_bytes - len(unpacked)))
        _unpack_snappy_block(block, memoryview(out))
        unpacked += out
    return bytes(unpacked)


def _decompress_snappy_into(data: memoryview, out: memoryview) -> int:
    """Unpack all blocks into `out`, and return how many bytes they fill. Raises CorruptBatch if
    they are damaged, DecompressionLimit if `out` is too small."""
    filled = 0
    for block in _snappy_blocks(data):
        end = filled + _snappy_size(block, len(out) - filled)
        _unpack_snappy_block(block, out[filled:end])
        filled = end
    return filled


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """Yield the raw blocks of a xerial stream; or `data` itself, if it is one raw block.

    Raises CorruptBatch if the stream is cut off.
    """
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield data
        return
    if len(data) < len(_XERIAL_HEADER):
        raise CorruptBatch("snappy stream header is cut off")
    pos = len(_XERIAL_HEADER)
    while pos < len(data):
        if len(data) - pos < _BLOCK_LENGTH.size:
            raise CorruptBatch("snappy block length is cut off")
        (length,) = _BLOCK_LENGTH.unpack_from(data, pos)
        if length == _XERIAL_MAGIC_AS_LENGTH and len(data) - pos >= len(_XERIAL_HEADER):
            pos += len(_XERIAL_HEADER)
            continue
        pos += _BLOCK_LENGTH.size
        if not 0 < length <= len(data) - pos:
            raise CorruptBatch(f"snappy block of {length} bytes, {len(data) - pos} remain")
        yield data[pos : pos + length]
        pos += length


def _snappy_size(block: memoryview, limit_bytes: int) -> int:
    """Return the unpacked size that the block claims. Raises CorruptBatch if it is impossible,
    DecompressionLimit if it is over the limit."""
    import cramjam

    try:
        claimed: int = cramjam.snappy.decompress_raw_len(block)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"compressed records are damaged: {error}") from None
    if claimed > _SNAPPY_MOST_PER_BYTE * len(block):
        raise CorruptBatch(f"snappy block of {len(block)} bytes claims {claimed} unpacked")
    if claimed > limit_bytes:
        raise DecompressionLimit("records unpack to over the limit")
    return claimed


def _unpack_snappy_block(block: memoryview, out: memoryview) -> None:
    """Unpack a block that fills `out`. Raises CorruptBatch if it is damaged."""
    import cramjam

    try:
        size = cramjam.snappy.decompress_raw_into(block, out)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"compressed records are damaged: {error}") from None
    assert size == len(out)


def _compress_snappy(data: memoryview) -> bytes:
    """Return `data` compressed in xerial's framing, as Kafka's Java client does it."""
    import cramjam

    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES])
        out += _BLOCK_LENGTH.pack(len(block))
        out += bytes(block)
    return bytes(out)
