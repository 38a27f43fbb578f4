"""Offset checkpoints: one write at a time, the last state wins."""

from __future__ import annotations

from ground.memory_filesystem import MemoryFilesystem
from ground.topic_partition import TopicPartition
from storage.directories.offset_checkpoints import OffsetCheckpoint, Offsets, read_offsets
from tests.unit.storage.harness import Jobs

PATH = "/data/checkpoint"


def offsets(value: int) -> Offsets:
    return {TopicPartition("t", 0): value}


def checkpoint(filesystem: MemoryFilesystem, jobs: Jobs) -> tuple[OffsetCheckpoint, list[OSError]]:
    filesystem.make_dirs("/data")
    errors: list[OSError] = []
    return OffsetCheckpoint(filesystem, jobs, PATH, errors.append), errors


def test_what_changes_during_a_write_is_written_after_it() -> None:
    filesystem, jobs = MemoryFilesystem(), Jobs()
    jobs.held = True
    written, _ = checkpoint(filesystem, jobs)
    for value in (1, 2, 3):
        written.write(offsets(value))
    assert len(jobs.waiting) == 1
    jobs.run_one(0)
    assert read_offsets(filesystem, PATH) == offsets(1)
    assert len(jobs.waiting) == 1
    jobs.run_one(0)
    assert read_offsets(filesystem, PATH) == offsets(3)
    assert jobs.waiting == []


def test_the_same_is_not_written_twice() -> None:
    filesystem, jobs = MemoryFilesystem(), Jobs()
    written, _ = checkpoint(filesystem, jobs)
    written.write(offsets(1))
    changes = filesystem.changes
    written.write(offsets(1))
    written.write_now(offsets(1))
    assert filesystem.changes == changes
    written.write_now(offsets(2))
    assert read_offsets(filesystem, PATH) == offsets(2)


def test_an_error_is_told_and_what_is_on_disk_is_unknown_again() -> None:
    filesystem, jobs = MemoryFilesystem(), Jobs()
    written, errors = checkpoint(filesystem, jobs)
    written.write(offsets(1))
    filesystem.inject("sync")
    written.write(offsets(2))
    assert len(errors) == 1
    written.write(offsets(1))
    assert read_offsets(filesystem, PATH) == offsets(1)


def test_offsets_that_waited_behind_a_failed_write_do_not_replace_later_ones() -> None:
    filesystem, jobs = MemoryFilesystem(), Jobs()
    jobs.held = True
    written, _ = checkpoint(filesystem, jobs)
    filesystem.inject("sync")
    for value in (1, 2):
        written.write(offsets(value))
    jobs.run_one(0)
    written.write(offsets(3))
    while jobs.waiting:
        jobs.run_one(0)
    assert read_offsets(filesystem, PATH) == offsets(3)


def test_missing_and_damaged_files_say_nothing() -> None:
    filesystem = MemoryFilesystem()
    assert read_offsets(filesystem, "/missing") == {}
    filesystem.replace_atomically("/damaged", b"0\n5\n")
    assert read_offsets(filesystem, "/damaged") is None
