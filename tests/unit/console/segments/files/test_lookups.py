"""A look-up, step by step."""

from __future__ import annotations

import pytest

from console.segments.files import lookups
from console.segments.files.index_entries import IndexFile
from console.segments.files.lookups import find_offset, find_time
from protocol.record_batch import CorruptBatch
from storage.log.indexes import OFFSET_ENTRY, TIME_ENTRY
from tests.unit.console.segments.segments_fixture import batches, reader

PARTS = batches(0, 8)
DATA = b"".join(PARTS)
SIZE = len(PARTS[0])


def offsets() -> IndexFile:
    """Of the batches number 2 and 5: offsets 6 to 8, and 15 to 17."""
    data = OFFSET_ENTRY.pack(8, 2 * SIZE) + OFFSET_ENTRY.pack(17, 5 * SIZE)
    return IndexFile(reader(data), len(data), 0, of_times=False)


def test_an_entry_before_the_offset_and_the_scan_from_there() -> None:
    found = find_offset(reader(DATA), len(DATA), offsets(), 13)
    assert found.of_offset.entry == (0, 8, 2 * SIZE) and found.start == 2 * SIZE
    assert found.of_offset.around == [(0, 8, 2 * SIZE), (1, 17, 5 * SIZE)]
    assert [one.header.base_offset for one in found.passed] == [6, 9]
    assert (found.passed_count, found.passed_bytes) == (2, 2 * SIZE)
    assert found.batch is not None and found.batch.header.base_offset == 12 and found.is_exact


def test_before_the_first_entry_the_scan_begins_at_the_segments_begin() -> None:
    found = find_offset(reader(DATA), len(DATA), offsets(), 4)
    assert found.of_offset.entry is None and found.start == 0 and found.passed_count == 1


def test_behind_the_last_batch_there_is_nothing() -> None:
    found = find_offset(reader(DATA), len(DATA), offsets(), 24)
    assert found.batch is None and not found.is_exact and found.passed_count == 3


def test_in_a_gap_the_next_batch_is_found() -> None:
    data = b"".join([*batches(0, 1), *batches(9, 1)])
    empty = IndexFile(reader(b""), 0, 0, of_times=False)
    found = find_offset(reader(data), len(data), empty, 5)
    assert found.batch is not None and found.batch.header.base_offset == 9 and not found.is_exact


def test_a_time_leads_to_an_offset_and_that_to_a_batch() -> None:
    data = TIME_ENTRY.pack(1008, 8) + TIME_ENTRY.pack(1017, 17)
    times = IndexFile(reader(data), len(data), 0, of_times=True)
    found = find_time(reader(DATA), len(DATA), offsets(), times, 1010)
    assert found.of_time is not None and found.of_time.entry == (0, 1008, 8)
    assert found.start == 2 * SIZE
    assert found.batch is not None and found.batch.header.base_offset == 9
    early = find_time(reader(DATA), len(DATA), offsets(), times, 5)
    assert early.start == 0 and early.batch is not None and early.batch.position == 0


def test_a_scan_without_an_index_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "HEADERS_MAX", 2)
    empty = IndexFile(reader(b""), 0, 0, of_times=False)
    with pytest.raises(CorruptBatch, match="no entry nearby"):
        find_offset(reader(DATA), len(DATA), empty, 20)
