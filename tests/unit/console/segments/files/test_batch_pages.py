"""Pages of batches."""

from __future__ import annotations

import pytest

from console.segments.files import batch_pages
from console.segments.files.batch_pages import page_from, place_before
from console.segments.files.index_entries import IndexFile
from storage.log.indexes import OFFSET_ENTRY
from tests.unit.console.segments.segments_fixture import batches, reader

PARTS = batches(0, 10)
DATA = b"".join(PARTS)
SIZE = len(PARTS[0])
READ = reader(DATA)


def index() -> IndexFile:
    data = b"".join(OFFSET_ENTRY.pack(3 * one + 2, one * SIZE) for one in range(2, 10, 3))
    return IndexFile(reader(data), len(data), 0, of_times=False)


def bases(place: int, limit: int) -> tuple[list[int], int | None]:
    page = page_from(READ, len(DATA), index(), place, limit)
    return [one.header.base_offset // 3 for one, _ in page.batches], page.following


def test_a_page_begins_with_the_batch_around_a_byte() -> None:
    assert bases(0, 3) == ([0, 1, 2], 3 * SIZE)
    assert bases(3 * SIZE, 3) == ([3, 4, 5], 6 * SIZE)
    assert bases(3 * SIZE + 7, 2) == ([3, 4], 5 * SIZE)
    assert bases(8 * SIZE, 2) == ([8, 9], None)
    assert bases(10 * SIZE, 2) == ([], None)


def test_the_page_before() -> None:
    for place, start in ((5, 2), (2, 0), (3, 0), (10, 7)):
        assert place_before(READ, len(DATA), index(), place * SIZE, 3) == start * SIZE
    assert place_before(READ, len(DATA), index(), 10**9, 3) == 7 * SIZE


def test_the_page_before_is_found_over_many_small_batches() -> None:
    parts = batches(0, 3000, 1)
    data, size = b"".join(parts), len(parts[0])
    pairs = [OFFSET_ENTRY.pack(one, one * size) for one in range(100, 3000, 100)]
    packed = b"".join(pairs)
    offsets = IndexFile(reader(packed), len(packed), 0, of_times=False)
    found = place_before(reader(data), len(data), offsets, 2900 * size, 1500)
    assert found == 1400 * size


def test_checksums_are_told_and_those_of_large_batches_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    damaged = bytearray(DATA)
    damaged[SIZE + 70] ^= 1
    page = page_from(reader(bytes(damaged)), len(damaged), index(), 0, 3)
    assert [is_right for _, is_right in page.batches] == [True, False, True]
    monkeypatch.setattr(batch_pages, "CHECKED_BYTES_MAX", SIZE)
    page = page_from(READ, len(DATA), index(), 0, 2)
    assert [is_right for _, is_right in page.batches] == [True, None]


def test_damage_ends_a_page_and_is_told() -> None:
    data = b"".join(PARTS[:2]) + b"\1" * 100
    empty = IndexFile(reader(b""), 0, 0, of_times=False)
    page = page_from(reader(data), len(data), empty, 0, 5)
    assert len(page.batches) == 2
    assert page.damage is not None and page.damage.startswith(f"byte {2 * SIZE}: ")
    page = page_from(reader(data), len(data), empty, 0, 2)
    assert page.following == 2 * SIZE, "the next page tells of it"
