"""From an offset to a slice of the file: by memory, by the index, past damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ground.memory_filesystem import MemoryFilesystem
from protocol.record_batch import CorruptBatch
from storage.log.fetch_data import NO_RECORDS
from storage.log.indexes import OffsetIndex
from storage.log.recent_batches import RECENT_BATCHES_MAX
from tests.unit.storage.segment_fixture import base_offset_of, fill, reopened, segment_in


@given(counts=st.lists(st.integers(1, 9), min_size=1, max_size=40), data=st.data())
def test_every_offset_is_found_alike_from_memory_and_from_disk(
    counts: list[int], data: st.DataObject
) -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    bases = fill(segment, counts)
    end = sum(counts)
    offset = data.draw(st.integers(0, end - 1))
    expected = max(base for base in bases if base <= offset)
    assert base_offset_of(segment.read(offset, 10, None, True)) == expected
    place = segment.locate(offset)
    for active in (True, False):
        other = reopened(segment, filesystem, active=active)
        assert other.locate(offset) == place
        assert other.locate(end) is None
        segment = other


def test_recent_batches_are_bounded_and_older_ones_are_found_on_disk() -> None:
    segment = segment_in(MemoryFilesystem())
    count = 2 * RECENT_BATCHES_MAX + 100
    fill(segment, [1] * count)
    assert len(segment._recent.lasts) <= 2 * RECENT_BATCHES_MAX
    size = segment.size // count
    places = [segment.locate(offset) for offset in range(count)]
    assert places == [(offset * size, size) for offset in range(count)]


def test_a_read_ends_before_the_batch_that_holds_the_upper_offset() -> None:
    segment = segment_in(MemoryFilesystem())
    fill(segment, [3, 3, 3])
    size = segment.size // 3
    for upper, batches in ((3, 1), (4, 1), (5, 1), (6, 2), (9, 3), (99, 3)):
        info = segment.read(0, 10**6, upper, True)
        assert info is not None and info.size == batches * size, upper
    assert segment.read(4, 10**6, 5, True) == NO_RECORDS


def test_the_first_batch_comes_whole_only_when_asked() -> None:
    segment = segment_in(MemoryFilesystem())
    fill(segment, [3, 3])
    first = segment.size // 2
    whole = segment.read(0, 10, None, True)
    part = segment.read(0, 10, None, False)
    assert whole is not None and (whole.size, whole.first_batch_incomplete) == (first, False)
    assert part is not None and (part.size, part.first_batch_incomplete) == (0, True)
    assert segment.read(0, 0, None, False) == NO_RECORDS
    for min_one_message in (True, False):
        more = segment.read(0, first + 10, None, min_one_message)
        assert more is not None and more.size == first + 10


def test_a_read_past_the_end_is_for_the_next_segment() -> None:
    segment = segment_in(MemoryFilesystem())
    fill(segment, [3])
    assert segment.read(3, 100, None, True) is None


def test_gaps_that_compaction_left_lead_to_the_next_batch() -> None:
    segment = segment_in(MemoryFilesystem())
    fill(segment, [2], base=0)
    fill(segment, [2], base=10)
    assert base_offset_of(segment.read(5, 1, None, True)) == 10


def test_a_damaged_length_is_an_error_and_no_endless_walk() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [1] * 3)
    segment = reopened(segment, filesystem, active=True)
    segment.file.write_at(b"\0\0\0\0", 8)
    with pytest.raises(CorruptBatch):
        segment.locate(1)


def test_an_index_entry_that_lies_beyond_the_offset_passes_nothing_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    bases = fill(segment, [2] * 40)
    closed = reopened(segment, filesystem, active=False)
    expected = [closed.locate(offset) for offset in range(bases[-1] + 2)]
    for position in (1, closed.size - 1, closed.size, expected[30][0]):  # type: ignore[index]
        monkeypatch.setattr(OffsetIndex, "lookup", lambda *_, at=position: at)
        found = [closed.locate(offset) for offset in range(20)]
        assert found == expected[:20]


def test_a_look_up_on_disk_reads_no_place_twice() -> None:
    filesystem = MemoryFilesystem()
    segment = segment_in(filesystem)
    fill(segment, [2] * 40)
    closed = reopened(segment, filesystem, active=False)
    read: list[int] = []
    pread = closed.file.pread

    def counted(size: int, offset: int) -> bytes:
        read.append(offset)
        return pread(size, offset)

    closed.file.pread = counted  # type: ignore[method-assign]
    assert closed.locate(60) is not None
    assert len(read) == 1 and read[0] > 0
