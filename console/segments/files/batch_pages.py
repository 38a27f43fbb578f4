"""Pages of a segment's batches, from a place on or before a place, with checked CRCs.

A place is a position in bytes in the `.log` file. A browser may send any place, so the index and a
short walk lead to the batch around it. A CRC needs the whole batch, so a page checks at most
CHECKED_BYTES_MAX bytes of batches. Owns no state.
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
"""The CRC of a larger batch is not checked."""
_BACK_BYTES = 64 * 1024
"""The first step back in the search for the page before a place."""


class Page(NamedTuple):
    """A run of batches, each with True if its CRC is right, and None if it was not checked."""

    batches: list[tuple[Batch, bool | None]]
    following: int | None
    """The place of the next page, None for the last page."""
    damage: str | None
    """The fault that ends the page, None without one."""


def page_from(read: Read, size: int, offsets: IndexFile, place: int, limit: int) -> Page:
    """Return at most `limit` batches, from the batch around byte `place` on.

    `size` is the size of the file in bytes, `offsets` its offset index.
    """
    damage, batches = None, []
    position = place
    try:
        start = offsets.floor_position(place)
        first = batch_around(read, size, start, place)
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
    """Return whether a batch or damage begins at a position: the next page then reports it."""
    try:
        return next(walk(read, size, position), None) is not None
    except CorruptBatch:
        return True


def place_before(read: Read, size: int, offsets: IndexFile, place: int, limit: int) -> int:
    """Return the place of the page of `limit` batches that ends at byte `place`.

    Returns the first batch's place if fewer batches come before, 0 if there are none. Raises
    CorruptBatch.
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
    checked: list[tuple[Batch, bool | None]] = []
    for batch in batches:
        size = batch.header.size_in_bytes
        is_right = None
        if size <= min(room, CHECKED_BATCH_BYTES_MAX):
            room -= size
            data = read(size, batch.position)
            is_right = len(data) == size and crc_is_valid(data, 0, batch.header)
        checked.append((batch, is_right))
    return checked
