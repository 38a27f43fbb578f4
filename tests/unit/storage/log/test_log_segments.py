"""The order of segments."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from storage.log.log_segment import LogSegment
from storage.log.log_segments import WARM_SEGMENTS_MAX, LogSegments
from storage.log_config import LogConfig


def segments(*bases: int) -> LogSegments:
    filesystem, result = MemoryFilesystem(), LogSegments()
    for base in bases:
        result.add(LogSegment(filesystem, "", base, LogConfig(), created_ms=0, create=True))
    return result


def test_order_does_not_depend_on_the_order_of_adding() -> None:
    found = segments(20, 0, 10)
    assert found.base_offsets == [0, 10, 20] == [segment.base_offset for segment in found]
    assert (found.first.base_offset, found.active.base_offset, len(found)) == (0, 20, 3)


def test_floor_and_what_comes_after() -> None:
    found = segments(5, 10, 20)
    floors = [found.floor(offset) for offset in (4, 5, 9, 10, 99)]
    assert [None if floor is None else floor.base_offset for floor in floors] == [
        None,
        5,
        5,
        10,
        20,
    ]
    assert [segment.base_offset for segment in found.from_floor(12)] == [10, 20]
    assert [segment.base_offset for segment in found.from_floor(0)] == [5, 10, 20]
    assert [segment.base_offset for segment in found.read_from(12)] == [10, 20]
    assert [segment.base_offset for segment in found.read_from(0)] == [5, 10, 20]
    assert [segment.base_offset for segment in found.beyond(10)] == [20]
    assert [segment.base_offset for segment in found.beyond(9)] == [10, 20]


def test_two_segments_of_one_base_are_a_broken_invariant() -> None:
    found = segments(5)
    with pytest.raises(AssertionError):
        found.add(found.first)


def test_only_a_few_closed_segments_keep_their_index_files_open() -> None:
    found = segments(*range(0, 100, 10))
    closed = list(found)[:-1]
    for segment in closed:
        segment.become_inactive()
    for segment in closed:
        found.mark_read(segment)
        segment.offset_index.lookup(segment.path(".index"), 1000)
    still_open = [segment for segment in closed if segment.offset_index._file is not None]
    assert still_open == closed[-WARM_SEGMENTS_MAX:]
    found.mark_read(found.active)
    assert found.active.offset_index.is_open


def test_a_removed_segment_is_forgotten() -> None:
    found = segments(0, 10)
    found.mark_read(found.first)
    found.remove(found.first)
    assert found.base_offsets == [10]
    assert found.size_bytes == 0
