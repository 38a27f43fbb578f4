"""Offset and time index: look-ups in memory and by pread agree, bytes are Kafka's, lies refused."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ground.memory_filesystem import MemoryFilesystem
from storage.log.indexes import CorruptIndex, OffsetIndex, TimeIndex

PATH = "/index"
INDEX_BYTES_MAX = 10_485_760


def offset_index(filesystem: MemoryFilesystem, base: int = 100) -> OffsetIndex:
    return OffsetIndex(filesystem, base, INDEX_BYTES_MAX)


def time_index(filesystem: MemoryFilesystem, base: int = 100) -> TimeIndex:
    return TimeIndex(filesystem, base, INDEX_BYTES_MAX)


def test_offset_entries_are_eight_bytes_relative_and_big_endian() -> None:
    index = offset_index(MemoryFilesystem())
    index.append(105, 4096)
    index.append(2**31 + 100, 1_000_000)
    assert index.encode() == pack(">Ii", 5, 4096) + pack(">Ii", 2**31, 1_000_000)


def test_time_entries_are_twelve_bytes() -> None:
    index = time_index(MemoryFilesystem())
    index.maybe_append(1_700_000_000_000, 107)
    assert index.encode() == pack(">qi", 1_700_000_000_000, 7)


@given(
    gaps=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=60),
    asked=st.lists(st.integers(0, 3500), min_size=1, max_size=20),
)
def test_a_closed_offset_index_answers_as_an_open_one(
    gaps: list[tuple[int, int]], asked: list[int]
) -> None:
    filesystem = MemoryFilesystem()
    index, offset, position = offset_index(filesystem), 100, 0
    for offset_gap, position_gap in gaps:
        offset, position = offset + offset_gap, position + position_gap
        index.append(offset, position)
    filesystem.replace_atomically(PATH, index.encode())
    in_memory = [index.lookup(PATH, target) for target in asked]
    last, entries = index.last(PATH), index.entries(PATH)
    index.release()
    assert not index.is_open
    assert [index.lookup(PATH, target) for target in asked] == in_memory
    assert (index.last(PATH), index.entries(PATH)) == (last, entries)
    index.open(PATH)
    assert [index.lookup(PATH, target) for target in asked] == in_memory


@given(
    entries=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 50)), max_size=60),
    asked=st.lists(st.integers(0, 400), min_size=1, max_size=20),
)
def test_a_closed_time_index_answers_as_an_open_one(
    entries: list[tuple[int, int]], asked: list[int]
) -> None:
    filesystem = MemoryFilesystem()
    index, timestamp, offset = time_index(filesystem), 0, 100
    for later, further in entries:
        timestamp, offset = timestamp + later, offset + further
        index.maybe_append(timestamp, offset)
    filesystem.replace_atomically(PATH, index.encode())
    in_memory = [index.lookup(PATH, target) for target in asked]
    last = index.last(PATH)
    index.release()
    assert [index.lookup(PATH, target) for target in asked] == in_memory
    assert index.last(PATH) == last
    index.open(PATH)
    assert [index.lookup(PATH, target) for target in asked] == in_memory


def test_look_ups_outside_the_entries() -> None:
    index = offset_index(MemoryFilesystem())
    assert index.lookup(PATH, 100) == 0
    index.append(110, 500)
    assert [index.lookup(PATH, at) for at in (50, 109, 110, 999)] == [0, 0, 500, 500]
    times = time_index(MemoryFilesystem())
    assert times.lookup(PATH, 5) == (-1, 100)
    assert times.last(PATH) == (-1, 100)


def test_time_entries_only_rise() -> None:
    index = time_index(MemoryFilesystem())
    index.maybe_append(10, 101)
    index.maybe_append(10, 102)
    index.maybe_append(9, 103)
    index.maybe_append(-1, 104)
    index.maybe_append(11, 105)
    assert index.entries(PATH) == 2
    assert index.last(PATH) == (11, 105)


def test_an_offset_entry_that_goes_back_is_a_broken_invariant() -> None:
    index = offset_index(MemoryFilesystem())
    index.append(105, 10)
    with pytest.raises(AssertionError):
        index.append(105, 20)


def test_truncation_forgets_entries_from_the_offset_on() -> None:
    index, times = offset_index(MemoryFilesystem()), time_index(MemoryFilesystem())
    for step in range(1, 6):
        index.append(100 + step, step * 10)
        times.maybe_append(1000 + step, 100 + step)
    index.truncate_to(103)
    times.truncate_to(103)
    assert index.last(PATH) == (102, 20)
    assert times.last(PATH) == (1002, 102)
    index.truncate_to(50)
    times.truncate_to(100)
    assert index.entries(PATH) == times.entries(PATH) == 0


def test_full_by_segment_index_bytes() -> None:
    index = OffsetIndex(MemoryFilesystem(), 0, 17)
    index.append(1, 1)
    assert not index.is_full
    index.append(2, 2)
    assert index.is_full
    times = TimeIndex(MemoryFilesystem(), 0, 36)
    times.maybe_append(1, 1)
    assert not times.is_full
    times.maybe_append(2, 2)
    assert times.is_full, "the last slot is for the entry that rolling adds"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(pack(">Ii", 5, 10) + b"\0", id="half an entry"),
        pytest.param(pack(">IiIi", 5, 10, 5, 20), id="offsets do not rise"),
        pytest.param(pack(">IiIi", 5, 10, 6, 10), id="positions do not rise"),
        pytest.param(pack(">IiIi", 5, 10, 0, 0), id="never trimmed"),
    ],
)
def test_a_damaged_offset_index_is_refused(data: bytes) -> None:
    filesystem = MemoryFilesystem()
    filesystem.replace_atomically(PATH, data)
    index = offset_index(filesystem)
    with pytest.raises(CorruptIndex):
        index.open(PATH)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(pack(">Ii", 5, 10) + b"\0", id="half an entry"),
        pytest.param(pack(">IiIi", 5, 10, 0, 0), id="never trimmed"),
        pytest.param(pack(">Ii", 5, 10_000), id="beyond its segment"),
    ],
)
def test_a_damaged_closed_offset_index_is_refused(data: bytes) -> None:
    filesystem = MemoryFilesystem()
    filesystem.replace_atomically(PATH, data)
    index = offset_index(filesystem)
    index.release()
    with pytest.raises(CorruptIndex):
        index.check(PATH, 1000)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\0" * 13, id="half an entry"),
        pytest.param(pack(">qiqi", 5, 1, 5, 2), id="does not rise"),
        pytest.param(pack(">qiqi", 5, 1, 0, 0), id="never trimmed"),
        pytest.param(pack(">qi", 5, -1), id="before the segment"),
    ],
)
def test_a_damaged_time_index_is_refused(data: bytes) -> None:
    filesystem = MemoryFilesystem()
    filesystem.replace_atomically(PATH, data)
    with pytest.raises(CorruptIndex):
        time_index(filesystem).open(PATH)


@pytest.mark.parametrize("data", [b"\0" * 13, pack(">qiqi", 5, 1, 0, 0), pack(">qi", 5, -1)])
def test_a_damaged_closed_time_index_is_refused(data: bytes) -> None:
    filesystem = MemoryFilesystem()
    filesystem.replace_atomically(PATH, data)
    index = time_index(filesystem)
    index.release()
    with pytest.raises(CorruptIndex):
        index.check(PATH)


def test_sound_closed_indexes_pass_and_empty_ones_too() -> None:
    filesystem = MemoryFilesystem()
    index, times = offset_index(filesystem), time_index(filesystem)
    for data in (b"", pack(">Ii", 5, 10)):
        filesystem.replace_atomically(PATH, data)
        index.release()
        index.check(PATH, 1000)
    for data in (b"", pack(">qi", 5, 10)):
        filesystem.replace_atomically(PATH, data)
        times.release()
        times.check(PATH)


def test_a_missing_index_is_a_missing_file() -> None:
    with pytest.raises(FileNotFoundError):
        offset_index(MemoryFilesystem()).open("/missing")


def test_clear_makes_an_empty_open_index() -> None:
    index, times = offset_index(MemoryFilesystem()), time_index(MemoryFilesystem())
    index.append(101, 5)
    times.maybe_append(5, 101)
    index.clear()
    times.clear()
    assert index.encode() == times.encode() == b""
