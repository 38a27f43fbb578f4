"""What is on disk for sure: flushes, what overtakes them, disks that fail, a clean stop."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from ground.memory_filesystem import MemoryFile, MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from storage.log_config import LogConfig
from tests.unit.storage.harness import (
    DIRECTORY,
    Jobs,
    append,
    bases,
    environment,
    open_log,
    read_all,
)

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def test_flush_covers_what_was_there_when_it_was_asked() -> None:
    jobs = Jobs()
    jobs.held = True
    log = open_log(ports=environment(MemoryFilesystem(), jobs=jobs))
    append(log, 3)
    answers: list[Exception | None] = []
    log.flush(answers.append)
    append(log, 3)
    jobs.run()
    assert (answers, log.recovery_point) == ([None], 3)


def test_rolls_in_quick_succession_sync_each_segment_a_few_times_only() -> None:
    filesystem, jobs = MemoryFilesystem(), Jobs()
    log = open_log(config=SMALL, ports=environment(filesystem, jobs=jobs))
    filesystem.sync_dir("/")
    filesystem.sync_dir("/data")
    jobs.held = True
    append(log, 3, times=300)
    assert len(log.segments.base_offsets) > 50 and len(jobs.waiting) > 50
    synced: list[str] = []
    sync = MemoryFile.sync
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryFile, "sync", lambda file: (synced.append(file.path), sync(file)))
        jobs.run()
    most = Counter(path for path in synced if path.endswith(".log")).most_common(1)[0][1]
    assert most <= 2, "a flush syncs what the flushes before it, still under way, have in hand"
    assert log.recovery_point == log.segments.base_offsets[-1]
    log.flush()
    jobs.run()
    filesystem.lose_power(random.Random(1))
    assert bases(open_log(config=SMALL, ports=environment(filesystem), clean=False)) == [
        3 * number for number in range(300)
    ]


def test_a_flush_counts_on_no_flush_that_failed() -> None:
    jobs = Jobs()
    jobs.held = True
    ports = environment(MemoryFilesystem(), jobs=jobs)
    log = open_log(config=SMALL, ports=ports)
    append(log, 3, times=10)
    log.flush()
    log.flush()

    def failing() -> None:
        raise OSError("disk")

    jobs.waiting[0] = (failing, jobs.waiting[0][1])
    jobs.run_one(1)
    jobs.run_one(0)
    assert log.recovery_point == 0
    assert ports.failures.is_offline("/data")


def test_a_flush_after_a_truncation_counts_on_none_from_before_it() -> None:
    filesystem, jobs = MemoryFilesystem(), Jobs()
    log = open_log(config=SMALL, ports=environment(filesystem, jobs=jobs))
    jobs.held = True
    append(log, 3, times=100)
    log.truncate_to(270)
    waiting = len(jobs.waiting)
    log.flush()
    synced: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryFile, "sync", lambda file: synced.append(file.path))
        jobs.run_one(waiting)
    whole = {path for path in synced if path.endswith(".log")}
    assert len(whole) == len(log.segments.base_offsets)


def test_flush_ms() -> None:
    ports = environment(MemoryFilesystem())
    assert isinstance(ports.scheduler, SimScheduler)
    log = open_log(config=LogConfig(flush_ms=1000), ports=ports)
    append(log, 3)
    ports.scheduler.run_for(999)
    log.flusher.flush_if_due(log.config.flush_ms)
    assert log.recovery_point == 0
    ports.scheduler.run_for(1)
    log.flusher.flush_if_due(log.config.flush_ms)
    assert log.recovery_point == 3
    append(log, 3)
    log.flusher.flush_if_due(log.config.flush_ms)
    assert log.recovery_point == 3


def test_a_flush_that_a_truncation_overtook_proves_nothing() -> None:
    jobs = Jobs()
    jobs.held = True
    log = open_log(ports=environment(MemoryFilesystem(), jobs=jobs))
    append(log, 3, times=2)
    log.flush()
    log.truncate_to(3)
    append(log, 3, times=3)
    jobs.run()
    assert log.recovery_point == 0


def test_a_flush_that_a_deletion_overtook_fails_nobody() -> None:
    jobs = Jobs()
    jobs.held = True
    ports = environment(MemoryFilesystem(), jobs=jobs)
    log = open_log(config=SMALL, ports=ports)
    append(log, 3)
    answers: list[Exception | None] = []
    log.flush(answers.append)
    log.rename(f"{DIRECTORY}.0123456789abcdef0123456789abcdef-delete")
    log.retire()
    jobs.run()
    assert isinstance(answers[0], FileNotFoundError)
    assert not ports.failures.is_offline("/data")


def test_a_failed_fsync_is_final() -> None:
    filesystem = MemoryFilesystem()
    ports = environment(filesystem)
    log = open_log(ports=ports)
    append(log, 3)
    filesystem.inject("sync")
    answers: list[Exception | None] = []
    log.flush(answers.append)
    assert isinstance(answers[0], OSError)
    assert (log.recovery_point, log.offline) == (0, True)
    assert ports.failures.is_offline("/data")


def test_epochs_that_cannot_be_written_fail_the_flush() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem)
    log.assign_epoch_start(9, 0)
    append(log, 3, epoch=9)
    filesystem.inject("replace")
    answers: list[Exception | None] = []
    log.flush(answers.append)
    assert isinstance(answers[0], OSError)
    assert (log.recovery_point, log.offline) == (0, True)


def test_a_clean_stop_leaves_everything_durable() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, SMALL)
    append(log, 3, times=15)
    append(log, 3, times=15, epoch=1)
    data, epochs = read_all(log), log.leader_epochs.entries
    log.close()
    filesystem.sync_dir("/")
    filesystem.sync_dir("/data")
    for seed in range(20):
        twin = filesystem.clone()
        twin.lose_power(random.Random(seed))
        again = open_log(twin, SMALL, recovery_point=90)
        assert (again.log_end_offset, again.recovery.notes) == (90, [])
        assert read_all(again) == data
        assert again.leader_epochs.entries == epochs == [(0, 0), (1, 45)]
