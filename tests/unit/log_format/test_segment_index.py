from __future__ import annotations

import numpy as np

from log_format.segment_index import SegmentIndex, index_of, read_index
from protocol.records import Record
from storage.log.indexes import OFFSET_ENTRY, TIME_ENTRY
from tests.batches import build_batch
from tests.unit.log_format.pieces import piece_of

OFFSETS = b"".join(OFFSET_ENTRY.pack(*one) for one in ((4, 100), (9, 250), (20, 400)))
TIMES = b"".join(TIME_ENTRY.pack(*one) for one in ((1000, 2), (5000, 9), (9000, 25)))


def index() -> SegmentIndex:
    found = read_index(1000, 500, OFFSETS, TIMES)
    assert isinstance(found, SegmentIndex)
    return found


def test_where_a_scan_begins_and_ends() -> None:
    found = index()
    assert [found.start_of(offset) for offset in (1000, 1003, 1004, 1008, 1009, 2000)] == [
        *(0, 0, 100, 100, 250, 400)
    ]
    assert [found.end_of(offset, 500) for offset in (1001, 1004, 1005, 1010, 1020, 1021)] == [
        *(250, 250, 400, 500, 500, 500)
    ]


def test_times() -> None:
    found = index()
    assert found.largest_time() == 9000
    assert [found.before_time(time) for time in (0, 999, 1000, 5001, 9999)] == [
        *(None, None, 1002, 1009, 1025)
    ]


def test_cuts_are_where_batches_begin() -> None:
    found = index()
    assert found.cuts(0, 500, 1) == [100, 250, 400]
    assert found.cuts(0, 500, 200) == [250]
    assert found.cuts(100, 400, 100) == [250]
    assert found.cuts(0, 500, 1000) == []


def test_room_at_the_end_is_no_entry() -> None:
    found = read_index(1000, 500, OFFSETS + bytes(80), TIMES + bytes(24))
    assert isinstance(found, SegmentIndex)
    assert found.offsets.tolist() == [1004, 1009, 1020] and found.largest_time() == 9000


def test_what_is_wrong_is_said() -> None:
    assert read_index(0, 500, None, TIMES) == ".index is missing"
    assert read_index(0, 500, OFFSETS, None) == ".timeindex is missing"
    assert read_index(0, 500, OFFSETS[:-1], TIMES) == ".index is cut off (23 bytes)"
    assert read_index(0, 500, OFFSETS, TIMES[:-1]) == ".timeindex is cut off (35 bytes)"
    assert read_index(0, 400, OFFSETS, TIMES) == ".index does not fit its segment"
    assert read_index(0, 500, OFFSETS + OFFSETS, TIMES) == ".index does not fit its segment"
    assert read_index(0, 500, OFFSETS, TIMES[12:] + TIMES) == ".timeindex does not fit its segment"
    assert read_index(0, 500, b"", b"") == ".timeindex is empty"
    assert isinstance(read_index(0, 0, b"", b""), SegmentIndex)


def test_an_index_made_from_headers() -> None:
    times = (5, 9, 3, 9, 12, 1)
    batches = [
        bytes(build_batch([Record(at, time, None, b"v" * 3000)], base_offset=at))
        for at, time in enumerate(times)
    ]
    piece = piece_of(b"".join(batches))
    found = index_of([(piece.headers, piece.positions)])
    size = len(batches[0])
    assert found.largest_time() == 12
    for at in range(len(times)):
        assert found.start_of(at) <= at * size < found.end_of(at + 1, len(piece.data))
    for time in range(14):
        first = next((at for at, one in enumerate(times) if one >= time), None)
        if first is not None:
            before = found.before_time(time)
            assert found.start_of(before or 0) <= first * size
    assert len(found.positions) < len(times)
    empty = index_of([])
    assert empty.largest_time() is None and empty.start_of(5) == 0


def test_headers_may_come_in_several_arrays() -> None:
    batches = [
        bytes(build_batch([Record(at, at, None, b"v" * 900)], base_offset=at)) for at in range(20)
    ]
    piece = piece_of(b"".join(batches))
    parts = [np.arange(7), np.arange(7, 20)]
    found = index_of((piece.headers[one], piece.positions[one]) for one in parts)
    for at in range(20):
        assert found.start_of(at) <= piece.positions[at]
        assert found.start_of(found.before_time(at) or 0) <= piece.positions[at]
