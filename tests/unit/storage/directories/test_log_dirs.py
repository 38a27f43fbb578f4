"""Locks, owners and markers of log directories."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from storage.directories.log_dirs import (
    LogDirLocked,
    leave_clean_marker,
    lock_dir,
    read_meta_properties,
    take_clean_marker,
    write_meta_properties,
)
from storage.log.checkpoints import MetaProperties

DIR = "/data"


@pytest.fixture
def filesystem() -> MemoryFilesystem:
    made = MemoryFilesystem()
    made.make_dirs(DIR)
    return made


def test_a_directory_has_one_owner_at_a_time(filesystem: MemoryFilesystem) -> None:
    lock = lock_dir(filesystem, DIR)
    with pytest.raises(LogDirLocked, match="/data"):
        lock_dir(filesystem, DIR)
    filesystem.replace_atomically(f"{DIR}/.lock", b"123\n")
    with pytest.raises(LogDirLocked, match=r"is using this directory \(process 123\)\."):
        lock_dir(filesystem, DIR)
    lock.release()
    lock_dir(filesystem, DIR)


def test_formatting_names_the_owner(filesystem: MemoryFilesystem) -> None:
    assert read_meta_properties(filesystem, DIR) is None
    properties = MetaProperties("cluster", 4, bytes(range(16)))
    write_meta_properties(filesystem, DIR, properties)
    assert read_meta_properties(filesystem, DIR) == properties
    write_meta_properties(filesystem, "/new/folder", properties)
    assert read_meta_properties(filesystem, "/new/folder") == properties


def test_a_damaged_owner_is_refused(filesystem: MemoryFilesystem) -> None:
    filesystem.replace_atomically(f"{DIR}/meta.properties", b"version=1\n")
    with pytest.raises(ValueError, match="damaged"):
        read_meta_properties(filesystem, DIR)


def test_a_marker_is_taken_once(filesystem: MemoryFilesystem) -> None:
    assert take_clean_marker(filesystem, DIR) is None
    leave_clean_marker(filesystem, DIR, 9)
    assert take_clean_marker(filesystem, DIR) == 9
    assert take_clean_marker(filesystem, DIR) is None
    assert filesystem.calls[-1] == ("sync_dir", DIR), "gone durably"


def test_kafkas_empty_marker_counts(filesystem: MemoryFilesystem) -> None:
    filesystem.replace_atomically(f"{DIR}/.kafka_cleanshutdown", b"")
    assert take_clean_marker(filesystem, DIR) == -1
