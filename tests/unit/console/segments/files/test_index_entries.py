"""Entries of indexes, and look-ups in them."""

from __future__ import annotations

import pytest

from console.segments.files.index_entries import IndexFile
from log_format.damage import LogError
from storage.log.indexes import OFFSET_ENTRY, TIME_ENTRY
from tests.unit.console.segments.segments_fixture import reader

ENTRIES = [(2, 100), (5, 300), (9, 900)]
DATA = b"".join(OFFSET_ENTRY.pack(*one) for one in ENTRIES)


@pytest.mark.parametrize("room", [0, 1, 1000])
def test_entries_end_where_the_unused_room_begins(room: int) -> None:
    data = DATA + bytes(room * OFFSET_ENTRY.size)
    index = IndexFile(reader(data), len(data), 50, of_times=False)
    assert (len(index), index.room, index.entry_bytes) == (3, 3 + room, 8)
    assert index[1] == (1, 55, 300) and index[1:9] == [(1, 55, 300), (2, 59, 900)]
    with pytest.raises(IndexError):
        index[3]


@pytest.mark.parametrize("data", [b"", bytes(80), bytes(5)])
def test_an_index_without_entries(data: bytes) -> None:
    index = IndexFile(reader(data), len(data), 0, of_times=False)
    assert len(index) == 0 and index.floor(5) is None and index.floor_position(7) == 0
    assert not index[0:5]


def test_one_entry_may_be_zeros() -> None:
    index = IndexFile(reader(bytes(8)), 8, 50, of_times=False)
    assert len(index) == 1 and index[0] == (0, 50, 0)


@pytest.mark.parametrize(
    ("offset", "found"), [(51, None), (52, 0), (54, 0), (55, 1), (58, 1), (59, 2), (99, 2)]
)
def test_a_floor(offset: int, found: int | None) -> None:
    index = IndexFile(reader(DATA), len(DATA), 50, of_times=False)
    entry = index.floor(offset)
    assert (None if entry is None else entry.number) == found


def test_a_floor_of_positions() -> None:
    index = IndexFile(reader(DATA), len(DATA), 50, of_times=False)
    asked = [0, 99, 100, 299, 300, 5000]
    assert [index.floor_position(one) for one in asked] == [0, 0, 100, 100, 300, 900]


def test_times() -> None:
    data = TIME_ENTRY.pack(1000, 4) + TIME_ENTRY.pack(2000, 9) + bytes(12)
    index = IndexFile(reader(data), len(data), 50, of_times=True)
    assert index[0:9] == [(0, 1000, 54), (1, 2000, 59)]
    assert index.floor(1999) == (0, 1000, 54)


def test_an_index_that_shrank_meanwhile_is_told() -> None:
    data = bytearray(DATA)
    index = IndexFile(lambda size, at: bytes(data[at : at + size]), len(data), 0, of_times=False)
    del data[8:]
    with pytest.raises(LogError, match="try again"):
        index[2]
