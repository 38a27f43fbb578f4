"""Which files are read, and what is added to one."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.config.start_error import StartError
from broker.groups.group_records import offset_commit_record
from command.dump.files import SegmentTail, entries_in, files_of
from protocol.messages.group_records import OffsetCommitValue
from protocol.records import Record
from tests.batches import build_batch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "__consumer_offsets-0"
    made.mkdir()
    return made


def batch(offset: int) -> bytes:
    key, value = offset_commit_record("g", "t", 0, OffsetCommitValue(offset=offset))
    return bytes(build_batch([Record(-1, 1000, key, value)], base_offset=offset))


def test_a_folder_stands_for_its_own_files(folder: Path) -> None:
    for name in ("0.log", "0.index", ".lock", "partition.metadata", "x.txt"):
        (folder / name).touch()
    (folder / "deeper").mkdir()
    names = [one.name for one in files_of((str(folder), str(folder / "x.txt")))]
    assert names == ["0.index", "0.log", "partition.metadata", "x.txt"]


def test_a_folder_without_such_files_says_what_is_in_it(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(StartError, match=r"name one of its folders, such as .*__consumer_off"):
        files_of((str(tmp_path),))
    with pytest.raises(StartError, match="holds no file that dump-log can read$"):
        files_of((str(folder),))


def test_the_decoder_is_that_of_the_folder_or_the_one_that_is_named(folder: Path) -> None:
    file = folder / "0.log"
    file.write_bytes(batch(3))
    _, record = entries_in(file, None, with_records=True)
    key = {"type": "1", "data": {"group": "g", "topic": "t", "partition": 0}}
    assert record.facts["key"] == key
    _, record = entries_in(file, "none", with_records=True)
    assert isinstance(record.facts["key"], bytes)


def offsets(tail: SegmentTail) -> list[object]:
    return [one.facts["baseOffset"] for one in tail.read()]


def test_what_is_added_comes_once_and_the_next_segment_after_it(folder: Path) -> None:
    file = folder / "00000000000000000000.log"
    file.write_bytes(batch(0) + batch(1)[:20])
    tail = SegmentTail(str(folder), None, with_records=False)
    assert offsets(tail) == [0] and offsets(tail) == []
    file.write_bytes(batch(0) + batch(1))
    (added,) = tail.read()
    assert (added.facts["baseOffset"], added.facts["position"]) == (1, len(batch(0)))
    (folder / "00000000000000000002.log").write_bytes(batch(2))
    assert offsets(tail) == [2] and tail.file.name == "00000000000000000002.log"
    assert offsets(tail) == []


def test_records_are_followed_when_wanted(folder: Path) -> None:
    (folder / "0.log").write_bytes(batch(0))
    tail = SegmentTail(str(folder / "0.log"), None, with_records=True)
    assert [one.kind for one in tail.read()] == ["batch", "record"]


def test_only_segments_are_followed(folder: Path) -> None:
    for path in (folder, folder / "0.index"):
        with pytest.raises(StartError, match=r"name a segment \(.log\) or a partition's folder"):
            SegmentTail(str(path), None, with_records=False)
