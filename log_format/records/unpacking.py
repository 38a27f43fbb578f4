"""The decompression of record batches, by the libraries of PySpark: pyarrow's codecs, and zlib.

Owns each codec's framing and the limit of a batch's unpacked size. Never reads records.

The framings are those that real clients write: gzip RFC 1952; snappy as xerial's stream of blocks
(Java, kafka-python) or as one raw block (librdkafka); lz4 and zstd frames (KIP-110).
"""

from __future__ import annotations

import zlib
from struct import Struct
from typing import Any

import pyarrow as pa

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs' names, by their numbers in a batch's attributes."""

UNPACKED_MAX_BYTES = 1024 * 1024 * 1024
"""The limit of a batch's unpacked size: above that of any producer's batch, far below the memory
of a machine."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER_BYTES = 16
_BLOCK_LENGTH = Struct(">i")
# 64 bytes of output take no fewer than 3 of input, so a claimed size above this is false.
_SNAPPY_MOST_PER_BYTE = 22
_FIRST_GUESS_FACTOR = 4
_FIRST_GUESS_BYTES = 128 * 1024
_GZIP = 16 + zlib.MAX_WBITS


class BadCompression(Exception):
    """Bytes that cannot be unpacked; `str()` says why."""


def unpack(codec: int, data: memoryview, limit_bytes: int = UNPACKED_MAX_BYTES) -> bytes:
    """Return the unpacked records of a batch, whose codec is 1 to 4. Raises BadCompression for
    other codecs, damaged bytes, and records of more than `limit_bytes`."""
    try:
        if codec == 1:
            return _gunzip(data, limit_bytes)
        if codec == 2:
            return b"".join(_unpack_snappy(block, limit_bytes) for block in _snappy_blocks(data))
        if codec in (3, 4):
            return _stream(CODECS[codec], data, limit_bytes)
    except (zlib.error, OSError, pa.ArrowException) as error:
        first = str(error).partition("\n")[0]
        raise BadCompression(f"its {CODECS[codec]} does not unpack ({first})") from None
    raise BadCompression(f"unknown compression {codec}")


def _gunzip(data: memoryview, limit_bytes: int) -> bytes:
    """Return the unpacked bytes of all gzip members of `data`, as Java's reader does.

    Raises BadCompression if they are cut off or exceed the limit.
    """
    out = b""
    rest: bytes | memoryview = data
    while len(rest):
        stream = zlib.decompressobj(_GZIP)
        out += stream.decompress(rest, max(limit_bytes - len(out), 1))
        if stream.unconsumed_tail or len(out) > limit_bytes:
            raise BadCompression(f"its records unpack to over {limit_bytes} bytes")
        if not stream.eof:
            raise BadCompression("its gzip is cut off")
        rest = stream.unused_data
    return out


def _stream(name: str, data: memoryview, limit_bytes: int) -> bytes:
    """Return the unpacked bytes of an lz4 or zstd stream; `name` is the codec's.

    Unpack in steps of growing size, because the unpacked size is unknown before the end. Raises
    BadCompression if the limit is exceeded, and pyarrow's errors.
    """
    room = max(_FIRST_GUESS_BYTES, _FIRST_GUESS_FACTOR * len(data))
    parts: list[Any] = []
    filled = 0
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), name) as stream:
        while not parts or len(parts[-1]):
            parts.append(stream.read_buffer(min(room, limit_bytes + 1 - filled)))
            filled += len(parts[-1])
            if filled > limit_bytes:
                raise BadCompression(f"its records unpack to over {limit_bytes} bytes")
            room *= 4
    return b"".join(parts)


def _snappy_blocks(data: memoryview) -> list[memoryview]:
    """Return the raw blocks of a xerial stream; or `data` itself, if it is one raw block.

    Raises BadCompression if a block is cut off.
    """
    if data[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return [data]
    blocks = []
    at = _XERIAL_HEADER_BYTES
    while at < len(data):
        if data[at : at + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:  # streams may follow each other
            at += _XERIAL_HEADER_BYTES
            continue
        if at + _BLOCK_LENGTH.size > len(data):
            raise BadCompression("its snappy is cut off")
        (length,) = _BLOCK_LENGTH.unpack_from(data, at)
        at += _BLOCK_LENGTH.size
        if not 0 < length <= len(data) - at:
            raise BadCompression(f"a snappy block of {length} bytes, {len(data) - at} remain")
        blocks.append(data[at : at + length])
        at += length
    return blocks


def _unpack_snappy(block: memoryview, limit_bytes: int) -> bytes:
    """Return the unpacked bytes of a raw snappy block.

    Raises BadCompression if its claimed size exceeds the limit or what snappy can pack, and
    pyarrow's errors.
    """
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > min(limit_bytes, _SNAPPY_MOST_PER_BYTE * len(block)):
        raise BadCompression(f"a snappy block of {len(block)} bytes claims {size} unpacked")
    out: bytes = pa.decompress(pa.py_buffer(block), size, codec="snappy", asbytes=True)
    return out
