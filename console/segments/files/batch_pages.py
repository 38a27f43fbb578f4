"""Pages of a segment's batches: from a place on, before a place, the last ones; CRCs checked.

A place is a byte of the file. It comes from a browser, so it is brought to the batch around it, by
the index and a short walk. Checksums take reading bodies, so a page checks so many bytes of them
and leaves the rest untold. Owns no state.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from console.segments.files.header_walk import HEADERS_MAX, Batch, batch_around, walk
from console.segments.files.index_entries import IndexFile
from log_format.files import Read
from protocol.record_batch import CorruptBatch, crc_is_valid

CHECKED_BYTES_MAX = 32 * 1024 * 1024
CHECKED_BATCH_BYTES_MAX = 4 * 1024 * 1024
_BACK_BYTES = 64 * 1024


class Page(NamedTuple):
    """Some batches, one behind the other, each with whether its CRC is right, None if not known."""

    batches: list[tuple[Batch, bool | None]]
    following: int | None
    """Where the next page begins."""
    damage: str | None
    """Why the page ends."""


def page_from(read: Read, size: int, offsets: IndexFile, place: int, limit: int) -> Page:
    """The batch around byte `place` and those after it."""
    damage, batches = None, []
    position = place
    try:
        known = offsets.floor_position(place)
        first = batch_around(read, size, known, place)
        if first is None:
            return Page([], None, None)
        position = first.position
        for batch in islice(walk(read, size, position), limit):
            batches.append(batch)
            position = batch.end
    except CorruptBatch as error:
        damage = f"byte {position}: {error}"
    more = len(batches) == limit and _is_batch(read, size, position)
    return Page(_checked(read, batches), position if more else None, damage)


def _is_batch(read: Read, size: int, position: int) -> bool:
    """Whether one follows; damage counts, so that the next page tells of it."""
    try:
        return next(walk(read, size, position), None) is not None
    except CorruptBatch:
        return True


def place_before(read: Read, size: int, offsets: IndexFile, place: int, limit: int) -> int:
    """Where the page of `limit` batches begins that ends before byte `place`; 0 for the first.

    Raises CorruptBatch.
    """
    place, back = min(place, size), _BACK_BYTES
    while True:
        start = offsets.floor_position(max(place - back, 0))
        earlier: list[int] = []
        for batch in islice(walk(read, size, start), HEADERS_MAX):
            if batch.position >= place:
                break
            earlier.append(batch.position)
        if len(earlier) >= limit:
            return earlier[-limit]
        if start == 0 or back > size:
            return earlier[0] if earlier else 0
        back *= 4


def _checked(read: Read, batches: list[Batch]) -> list[tuple[Batch, bool | None]]:
    room = CHECKED_BYTES_MAX
    found: list[tuple[Batch, bool | None]] = []
    for batch in batches:
        size = batch.header.size_in_bytes
        is_right = None
        if size <= min(room, CHECKED_BATCH_BYTES_MAX):
            room -= size
            data = read(size, batch.position)
            is_right = len(data) == size and crc_is_valid(data, 0, batch.header)
        found.append((batch, is_right))
    return found
