"""When the files of a segment are open."""

import random

import pytest

from ground.memory_filesystem import MemoryFilesystem
from storage.log.closed_files import ClosedFiles
from storage.log.log_segment import LogSegment
from storage.log.segment_files import sync_path
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, append, batch, environment, open_log


def segment_in(filesystem: MemoryFilesystem, files: ClosedFiles, base: int = 0) -> LogSegment:
    filesystem.make_dirs("/log")
    segment = LogSegment(
        filesystem, "/log", base, LogConfig(), created_ms=NOW_MS, create=True, files=files
    )
    data = batch(b"value", base_offset=base)
    segment.note(base, NOW_MS, segment.append(data), len(data))
    return segment


def test_a_closed_segment_gives_its_file_up_and_takes_it_back_when_it_is_active_again() -> None:
    filesystem, files = MemoryFilesystem(), ClosedFiles()
    segment = segment_in(filesystem, files)
    assert segment.open_file is not None and len(files) == 0
    segment.become_inactive()
    assert segment.open_file is not None and len(files) == 1
    files.close_excess(0)
    assert segment.open_file is None and len(files) == 0
    assert segment.locate(0) == (0, segment.size)
    assert len(files) == 2, "the index that was searched, and the file"
    segment.reopen(1)
    files.close_excess(0)
    assert segment.open_file is not None and len(files) == 0


def test_a_folder_of_another_name_is_where_a_closed_segment_is_opened() -> None:
    filesystem, files = MemoryFilesystem(), ClosedFiles()
    segment = segment_in(filesystem, files)
    segment.become_inactive()
    filesystem.rename("/log", "/other")
    segment.set_directory("/other")
    assert segment.locate(0) == (0, segment.size)


def test_what_is_closed_is_made_durable_by_its_name() -> None:
    filesystem, files = MemoryFilesystem(), ClosedFiles()
    segment = segment_in(filesystem, files)
    segment.become_inactive()
    files.close_excess(0)
    segment.sync_job()()
    segment.sync_job()()
    filesystem.sync_dir("/log")
    filesystem.sync_dir("/")
    filesystem.lose_power(random.Random(1))
    assert filesystem.size("/log/00000000000000000000.log") == segment.size


def test_a_file_that_is_gone_needs_no_sync_unless_its_folder_went() -> None:
    filesystem = MemoryFilesystem()
    filesystem.make_dirs("/log")
    sync_path(filesystem, "/log/gone")
    with pytest.raises(FileNotFoundError):
        sync_path(filesystem, "/elsewhere/gone")


def test_syncs_that_are_late_keep_no_descriptors_from_readers() -> None:
    filesystem, room = MemoryFilesystem(), 8
    files = ClosedFiles(lambda: room)
    segments, jobs = [], []
    for base in range(20):
        segment = segment_in(filesystem, files, base)
        segment.become_inactive()
        segments.append(segment)
        jobs.append(segment.sync_job())
    assert all(segment.read(base, 100, None, True) for base, segment in enumerate(segments))
    filesystem.calls.clear()
    for job in jobs:
        job()
    synced = [path for operation, path in filesystem.calls if operation == "sync"]
    assert sum(path.endswith(".log") for path in synced) == 20


def test_a_roll_that_is_synced_late_keeps_no_descriptor_of_the_next_segment() -> None:
    log = open_log(config=LogConfig(segment_bytes=500), ports=environment(MemoryFilesystem()))
    files = log.environment.descriptors.closed_files
    files.room = lambda: 4
    jobs = log.environment.blocking
    assert isinstance(jobs, Jobs)
    jobs.held = True
    append(log, times=60)
    assert len(log.segments.base_offsets) > 10 and jobs.waiting
    assert len(files) <= 4
    files.close_excess(0)
    assert len(files) <= 2
    jobs.run()
    assert log.recovery_point == log.segments.active.base_offset
