"""The headers of the record batches in a piece of a segment, as one array of numpy.

Owns the header's layout and the walk from batch to batch by their lengths, which is the only step
that takes each batch by itself. Never reads a record or a file.

Format of KIP-98 (Kafka's `DefaultRecordBatch`), 61 bytes, big-endian. `batch length` counts from
byte 12 on, the CRC-32C covers all from the attributes on.
"""

from __future__ import annotations

from struct import Struct
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

HEADER_BYTES = 61
LOG_OVERHEAD = 12
MAGIC = 2
MAGIC_AT = 16
CRC_FROM = 21
SMALLEST_BATCH_BYTES = 26
"""The size of the smallest batch of any format: an empty message v0."""

CODEC_MASK, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20

HEADER = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
assert HEADER.itemsize == HEADER_BYTES

Ints: TypeAlias = npt.NDArray[np.int64]
Headers: TypeAlias = npt.NDArray[np.void]

_LENGTH = Struct(">i")


def batch_positions(data: bytes, start: int = 0) -> tuple[Ints, int]:
    """Return the position of each batch, from `start` on, that is whole in `data`, and the position
    after the last.

    Only the lengths are read; an impossible length ends the walk.
    """
    positions = []
    at, size, length_at = start, len(data), _LENGTH.unpack_from
    while at + MAGIC_AT < size:
        (length,) = length_at(data, at + 8)
        following = at + LOG_OVERHEAD + length
        if following > size or length < SMALLEST_BATCH_BYTES - LOG_OVERHEAD:
            break
        positions.append(at)
        at = following
    return np.array(positions, dtype=np.int64), at


def headers_at(data: bytes, positions: Ints) -> Headers:
    """Return the headers of the batches that begin at `positions`, an array of `HEADER`.

    A batch of an older format may be shorter than a header; the rest of its header is undefined.
    """
    raw = np.frombuffer(data, dtype=np.uint8)
    places = positions[:, None] + np.arange(HEADER_BYTES)
    headers: Headers = np.take(raw, places, mode="clip").view(HEADER)[:, 0]
    return headers


def column(headers: Headers, name: str) -> Ints:
    """Return a field of all headers, as int64 in this machine's byte order."""
    return headers[name].astype(np.int64)


def last_offsets(headers: Headers) -> Ints:
    """Return the offset of the last record that each batch had when it was written."""
    return column(headers, "base_offset") + column(headers, "last_offset_delta")
