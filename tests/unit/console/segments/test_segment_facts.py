"""What is told of a segment at little cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.segments.files.partition_files import partition_files
from console.segments.segment_facts import SegmentReader, density, index_shown, scan_shown
from log_format.damage import LogError
from log_format.files import Files
from log_format.segment_names import INDEX_SUFFIX
from tests.unit.console.one_console import plain
from tests.unit.console.segments.segments_fixture import batches, write_segment


def test_facts_of_a_segment(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    data = write_segment(folder, 12, batches(12, 4, time=2000))
    (folder / f"{12:020d}.txnindex").write_bytes(bytes(68))
    files = Files()
    segment = partition_files(files, str(folder)).segments[0]
    reader = SegmentReader(files)
    found = reader.facts(segment)
    assert (found.first_time, found.largest_time, found.retention_time) == (2000, 2011, 2011)
    assert found.size == len(data) and found.aborted == 2
    size = len(data) // 4
    assert plain(index_shown(found.offsets)) == {
        "size": 16,
        "entries": 2,
        "room": 2,
        "lastKey": 23,
        "lastValue": 3 * size,
    }
    near = plain(density(found, found.size))
    assert near is not None and near["entries"] == 2 and near["bytesBetween"] == 2 * size
    assert reader.facts(segment) is found


def test_without_indexes_there_are_none_and_the_file_tells_its_time(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / f"{0:020d}.log").touch()
    files = Files()
    segment = partition_files(files, str(folder)).segments[0]
    reader = SegmentReader(files)
    found = reader.facts(segment)
    assert found.offsets is None and found.first_time == found.largest_time == -1
    assert found.retention_time == found.modified_ms > 0 and plain(density(found, 0)) is None
    assert plain(index_shown(None)) is None and plain(scan_shown(None)) is None
    with reader.index(segment, INDEX_SUFFIX) as index:
        assert len(index) == 0


def test_a_segment_that_is_gone_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "t-0"
    write_segment(folder, 0, batches(0, 2))
    segment = partition_files(Files(), str(folder)).segments[0]
    (folder / f"{0:020d}.log").unlink()
    with pytest.raises(LogError):
        SegmentReader(Files()).facts(segment)
