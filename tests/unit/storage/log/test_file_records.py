"""A slice of a file that Fetch answers with."""

from __future__ import annotations

from pathlib import Path

from ground.filesystem import LocalFilesystem
from storage.log.file_records import FileRecords


def test_a_slice_reads_its_own_bytes_and_names_its_descriptor(tmp_path: Path) -> None:
    file = LocalFilesystem().open(f"{tmp_path}/log", create=True)
    file.append(b"0123456789")
    records = FileRecords(file, 2, 5)
    assert records.read() == b"23456"
    assert (records.size, len(records), records.position) == (5, 5, 2)
    assert records.fileno() == file.fileno()


def test_a_slice_over_a_cut_file_is_shorter(tmp_path: Path) -> None:
    file = LocalFilesystem().open(f"{tmp_path}/log", create=True)
    file.append(b"0123456789")
    records = FileRecords(file, 2, 5)
    file.truncate(4)
    assert records.read() == b"23"


def test_a_slice_outlives_the_name_of_its_file(tmp_path: Path) -> None:
    filesystem = LocalFilesystem()
    file = filesystem.open(f"{tmp_path}/log", create=True)
    file.append(b"0123456789")
    records = FileRecords(file, 0, 3)
    del file
    filesystem.remove(f"{tmp_path}/log")
    assert records.read() == b"012"
