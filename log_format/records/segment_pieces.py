"""A segment as pieces of whole batches, each with the checks that a consumer makes.

Owns the walk through a file in steps of some MiB, and the checks of a batch: its format, its
length, its CRC-32C, its offsets, which rise from batch to batch. Never reads a record, or decides
what a damaged batch means: it raises DamagedLog after the batches before the damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from log_format.batch_headers import (
    CODEC_MASK,
    CRC_FROM,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    Ints,
    batch_positions,
    column,
    headers_at,
    last_offsets,
)
from log_format.damage import DamagedLog, LogError, OldFormat
from log_format.files import Read
from log_format.records.arrow_batches import Piece
from log_format.records.unpacking import CODECS

PIECE_BYTES = 4 * 1024 * 1024

Crc: TypeAlias = Callable[[memoryview], int]


def crc32c_function() -> Crc:
    """Return the function CRC-32C of the package crc32c. Raises LogError if it is not installed."""
    try:
        from crc32c import crc32c
    except ModuleNotFoundError:
        raise LogError(
            "this Python has no package crc32c, with which batches are checked: install it "
            "(pip install crc32c), or read unchecked with the option check.crcs=false"
        ) from None
    function: Crc = crc32c
    return function


def pieces(
    path: str, read: Read, start: int, end: int, crc: Crc | None, least: int = 0
) -> Iterator[Piece]:
    """Yield the batches from byte `start`, at which a batch begins, to `end`, at which one ends.

    The first batch's offset must be `least` or more. Raises DamagedLog after the batches before the
    damage, also if a batch continues past `end`, and OldFormat. Without `crc`, no checksum is
    compared.
    """
    at, room = start, PIECE_BYTES
    while at < end:
        data = read(min(room, end - at), at)
        positions, upto = batch_positions(data)
        if len(positions):
            piece = Piece(path, at, data, positions, headers_at(data, positions))
            sound, damage = _sound(piece, crc, least)
            if sound:
                is_sound = np.arange(len(positions)) < sound
                yield piece if damage is None else piece.select(is_sound)
            if damage is not None:
                raise damage
            least = int(last_offsets(piece.headers[-1:])[0]) + 1
            at, room = at + upto, PIECE_BYTES
            continue
        needed = _next_size(data)
        if len(data) < min(room, end - at) or needed <= len(data) or at + needed > end:
            raise _cut_off_error(path, at, data, end)
        room = needed


def _next_size(data: bytes) -> int:
    """Return the size in bytes, header included, that the batch at the start of `data` claims."""
    return LOG_OVERHEAD + int.from_bytes(data[8:LOG_OVERHEAD], "big", signed=True)


def _cut_off_error(path: str, at: int, data: bytes, end: int) -> DamagedLog:
    """Return the error for a batch that does not fit into the data left; OldFormat if it is of an
    older format."""
    needed = _next_size(data)
    if len(data) > HEADER_BYTES and needed > len(data):
        magic = data[16]
        if magic in (0, 1):
            return OldFormat(path, at, magic)
        return DamagedLog(path, at, f"a batch says it has {needed} bytes, {end - at} are there")
    if len(data) <= HEADER_BYTES:
        return DamagedLog(path, at, f"{len(data)} bytes are left, too few for a batch")
    return DamagedLog(path, at, f"a batch says it has {needed} bytes")


def _sound(piece: Piece, crc: Crc | None, least: int) -> tuple[int, DamagedLog | None]:
    """Return the number of valid batches before the first invalid batch, and the error of that
    batch; None: all are valid."""
    first, why = _first_bad_header(piece, least)
    if crc is not None:
        bad = _first_bad_crc(piece, crc, first)
        if bad is not None:
            first, why = bad, "the bytes do not fit their checksum (CRC-32C)"
    if first == len(piece.positions):
        return first, None
    magic = int(piece.headers["magic"][first])
    if magic in (0, 1):
        return first, OldFormat(piece.path, piece.position + int(piece.positions[first]), magic)
    return first, piece.damaged(first, why)


def _first_bad_header(piece: Piece, least: int) -> tuple[int, str]:
    """Return the index of the first batch with a bad header, and why.

    Without one, the index is the number of batches.
    """
    headers = piece.headers
    base, last = column(headers, "base_offset"), last_offsets(headers)
    before = np.concatenate(([least - 1], last[:-1]))
    checks = (
        (headers["magic"] != MAGIC, "the format is none that is known"),
        (column(headers, "length") < HEADER_BYTES - LOG_OVERHEAD, "the length cannot be"),
        ((column(headers, "attributes") & CODEC_MASK) >= len(CODECS), "the codec is unknown"),
        (last < base, "the last offset is before the first"),
        (base <= before, "the offset does not follow that of the batch before"),
    )
    first, why = len(base), ""
    for wrong, reason in checks:
        if wrong.any() and int(np.argmax(wrong)) < first:
            first, why = int(np.argmax(wrong)), reason
    return first, why


def _first_bad_crc(piece: Piece, crc: Crc, upto: int) -> int | None:
    """Return the index of the first batch before `upto` with a wrong checksum, None without one."""
    view = memoryview(piece.data)
    sizes: Ints = LOG_OVERHEAD + column(piece.headers, "length")
    for number, (at, size, checksum) in enumerate(
        zip(
            piece.positions[:upto].tolist(),
            sizes[:upto].tolist(),
            piece.headers["crc"][:upto].tolist(),
            strict=True,
        )
    ):
        if crc(view[at + CRC_FROM : at + size]) != checksum:
            return number
    return None


def sound_batch_in(data: bytes, crc: Crc | None, least: int) -> int | None:
    """Return the position in `data` of a whole valid batch with an offset of `least` or more; None:
    there is none.

    For the bytes after damage, which have no known start of a batch. Without `crc`, a plausible
    header is enough.
    """
    raw = np.frombuffer(data, dtype=np.uint8)
    if len(raw) < HEADER_BYTES:
        return None
    places = np.flatnonzero(raw[16 : len(raw) - HEADER_BYTES + 17] == MAGIC)
    headers = headers_at(data, places.astype(np.int64))
    length, base = column(headers, "length"), column(headers, "base_offset")
    fits = (length >= HEADER_BYTES - LOG_OVERHEAD) & (places + LOG_OVERHEAD + length <= len(raw))
    fits &= (base >= least) & (base < least + 2**31) & (column(headers, "attributes") < 128)
    fits &= column(headers, "attributes") >= 0
    view = memoryview(data)
    for at, size, checksum in zip(
        places[fits].tolist(), length[fits].tolist(), headers["crc"][fits].tolist(), strict=True
    ):
        if crc is None or crc(view[at + CRC_FROM : at + LOG_OVERHEAD + size]) == checksum:
            return int(at)
    return None
