"""What changes a log's offsets and files: rolling, cutting, moving its start."""

from __future__ import annotations

import random

import pytest

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from storage.log.log_dir_failure import LogDirFailure
from storage.log.retention import delete_segments_before_log_start
from storage.log_config import LogConfig
from tests.unit.storage.harness import (
    DIRECTORY,
    NOW_MS,
    Jobs,
    append,
    bases,
    batch,
    environment,
    open_log,
)

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def test_high_watermark_stays_between_start_and_end() -> None:
    log = open_log()
    append(log, 5)
    assert log.update_high_watermark(9) == log.high_watermark == 5
    assert log.update_high_watermark(-1) == 0
    log.update_high_watermark(3)
    log.increment_log_start_offset(2)
    assert log.update_high_watermark(1) == 2


def test_last_stable_offset_is_below_open_transactions_and_the_watermark() -> None:
    log = open_log()
    append(log, 5)
    sent = batch(b"t", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.append_as_leader(sent, 0, NOW_MS)
    log.update_high_watermark(4)
    assert log.last_stable_offset == 4
    log.update_high_watermark(6)
    assert log.last_stable_offset == 5


@pytest.mark.parametrize(
    ("target", "end"), [(0, 0), (3, 3), (4, 3), (5, 3), (6, 6), (29, 27), (90, 90), (95, 90)]
)
def test_truncation_cuts_at_a_batch(target: int, end: int) -> None:
    log = open_log(config=SMALL)
    append(log, 3, times=30)
    log.update_high_watermark(80)
    assert log.truncate_to(target) is (target < 90)
    assert log.log_end_offset == end
    assert bases(log) == list(range(0, end, 3))
    assert log.high_watermark == min(end, 80)
    assert log.recovery_point <= end
    append(log, 1, epoch=1)
    assert bases(log) == [*range(0, end, 3), end]


def test_truncation_drops_epochs_and_producers_beyond_it() -> None:
    log = open_log(config=SMALL)
    for sequence in range(20):
        sent = batch(b"v" * 60, producer_id=7, producer_epoch=0, base_sequence=sequence)
        log.append_as_leader(sent, sequence // 5, NOW_MS)
    log.truncate_to(8)
    assert log.leader_epochs.entries == [(0, 0), (1, 5)]
    assert log.producers[0].last_sequence == 7
    log.truncate_to(0)
    assert (log.leader_epochs.entries, log.producers) == ([], [])


def test_truncation_beyond_the_end_still_cleans_the_epochs() -> None:
    log = open_log()
    append(log, 3)
    log.assign_epoch_start(4, 3)
    assert log.truncate_to(3) is False
    assert log.leader_epochs.entries == [(0, 0)]


def test_truncation_fully_begins_anew() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, SMALL)
    append(log, 3, times=20)
    log.truncate_fully_and_start_at(100)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (100, 100, 100)
    assert log.segments.base_offsets == [100]
    append(log, 2, epoch=1)
    assert bases(log) == [100]
    names = filesystem.list_dir(DIRECTORY)
    assert [name for name in names if name.endswith(".log")] == ["00000000000000000100.log"]
    log.truncate_fully_and_start_at(50, 20)
    assert (log.log_start_offset, log.log_end_offset) == (20, 50)


def test_segments_that_a_truncation_takes_are_removed_elsewhere_and_later() -> None:
    """Unlinking a large file may take long: the loop only renames it."""
    filesystem = MemoryFilesystem()
    ports = environment(filesystem)
    log = open_log(filesystem, SMALL, ports=ports)
    append(log, 3, times=20)
    segments = len(log.segments.base_offsets)
    log.truncate_to(1)
    names = filesystem.list_dir(DIRECTORY)
    assert sum(name.endswith(".log.deleted") for name in names) == segments - 1
    append(log, 3, epoch=1, times=2)
    assert isinstance(ports.scheduler, SimScheduler)
    ports.scheduler.run_for(SMALL.file_delete_delay_ms + 1)
    assert not [name for name in filesystem.list_dir(DIRECTORY) if name.endswith(".deleted")]
    assert bases(log) == [0, 3]


def test_a_crash_in_a_truncation_leaves_segments_without_a_gap() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, SMALL)
    append(log, 3, times=20)
    before = log.segments.base_offsets
    filesystem.inject("truncate")
    with pytest.raises(LogDirFailure):
        log.truncate_to(1)
    reopened = open_log(filesystem, SMALL, clean=False)
    assert reopened.segments.base_offsets == before[: len(reopened.segments.base_offsets)]
    assert bases(reopened) == list(range(0, reopened.log_end_offset, 3))


def test_truncation_before_the_first_segment_is_full() -> None:
    log = open_log()
    log.truncate_fully_and_start_at(100)
    append(log, 2)
    assert log.truncate_to(40)
    assert (log.log_start_offset, log.log_end_offset) == (40, 40)


def test_the_log_start_moves_up_to_the_watermark_only() -> None:
    log = open_log()
    append(log, 5)
    append(log, 5, epoch=2)
    log.update_high_watermark(7)
    assert log.increment_log_start_offset(8) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.increment_log_start_offset(6) is ErrorCode.NONE
    assert log.increment_log_start_offset(2) is ErrorCode.NONE
    assert log.log_start_offset == 6
    assert log.leader_epochs.entries == [(2, 6)]


def test_segments_before_the_log_start_go_after_the_delay() -> None:
    filesystem, scheduler = MemoryFilesystem(), SimScheduler()
    ports = environment(filesystem)
    object.__setattr__(ports, "scheduler", scheduler)
    log = open_log(config=SMALL, ports=ports)
    append(log, 3, times=30)
    second, third = log.segments.base_offsets[1:3]
    log.update_high_watermark(90)
    log.increment_log_start_offset(third - 1)
    held = log.read(third - 1, 10)
    assert delete_segments_before_log_start(log) == 1
    assert log.segments.base_offsets[0] == second
    assert f"{0:020d}.log.deleted" in filesystem.list_dir(DIRECTORY)
    assert held.size
    scheduler.run_for(60_000)
    assert not [name for name in filesystem.list_dir(DIRECTORY) if name.endswith(".deleted")]
    assert delete_segments_before_log_start(log) == 0


def test_rolling_writes_indexes_and_a_snapshot_and_flushes() -> None:
    filesystem, jobs = MemoryFilesystem(), Jobs()
    jobs.held = True
    log = open_log(config=SMALL, ports=environment(filesystem, jobs=jobs))
    append(log, 3, times=10)
    log.roll()
    assert log.recovery_point == 0
    names = filesystem.list_dir(DIRECTORY)
    assert f"{0:020d}.index" in names and f"{0:020d}.timeindex" in names
    assert f"{30:020d}.snapshot" in names
    jobs.run()
    assert log.recovery_point == 30
    log.roll()
    assert log.segments.base_offsets[-1] == 30, "an empty segment is not rolled"


@pytest.mark.parametrize(
    ("operation", "action"),
    [
        ("truncate", lambda log: log.truncate_to(1)),
        ("rename", lambda log: log.truncate_fully_and_start_at(9)),
        ("replace", lambda log: log.roll()),
        ("sync", lambda log: log.flusher.flush_now()),
        ("sync", lambda log: log.close()),
        ("rename", lambda log: log.rename("/data/other")),
    ],
)
def test_other_work_on_a_failing_disk_raises(operation: str, action: object) -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem)
    append(log, 3)
    filesystem.inject(operation)
    with pytest.raises(LogDirFailure):
        action(log)  # type: ignore[operator]
    assert log.offline


def test_an_epoch_without_a_batch_costs_no_write_and_is_gone_with_the_process() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem)
    append(log, 3)
    log.flush()
    written = len(filesystem.calls)
    log.assign_epoch_start(7, 3)
    log.flush()
    assert "replace" not in [operation for operation, _ in filesystem.calls[written:]]
    assert log.latest_epoch == 7
    log.close()
    assert open_log(filesystem).latest_epoch == 0


def test_an_epoch_with_batches_is_known_after_a_kill_and_after_a_loss_of_power() -> None:
    for power in (False, True):
        filesystem = MemoryFilesystem()
        log = open_log(filesystem)
        filesystem.sync_dir("/")
        filesystem.sync_dir("/data")
        append(log, 3)
        log.assign_epoch_start(4, 3)
        append(log, 2, epoch=4)
        log.flush()
        log.assign_epoch_start(6, 5)
        append(log, 2, epoch=6)
        recovery_point = log.recovery_point
        if power:
            filesystem.lose_power(random.Random(1))
        else:
            filesystem.kill()
        again = open_log(filesystem, clean=False, recovery_point=recovery_point)
        wanted = [(0, 0), (4, 3), (6, 5)]
        assert again.leader_epochs.entries == wanted[: None if again.log_end_offset > 5 else 2]
        assert power or again.log_end_offset == 7


def test_a_retired_log_gives_nothing() -> None:
    log = open_log()
    append(log, 3)
    held = log.read(0, 1000)
    log.rename("/data/topic-0.x-delete")
    log.retire()
    assert log.directory == "/data/topic-0.x-delete"
    assert log.read(0, 1000).error is ErrorCode.KAFKA_STORAGE_ERROR
    assert not isinstance(held.records, bytes) and len(held.records.read()) == held.size


def test_a_renamed_log_goes_on_in_its_new_folder() -> None:
    filesystem = MemoryFilesystem()
    log = open_log(filesystem, SMALL)
    append(log, 3, times=10)
    log.rename("/data/topic-1")
    append(log, 3, times=10)
    assert bases(log) == list(range(0, 60, 3))
    log.close()
    again = open_log(filesystem, SMALL, directory="/data/topic-1", recovery_point=60)
    assert bases(again) == list(range(0, 60, 3))


def test_a_changed_config_holds_for_the_active_segment() -> None:
    log = open_log()
    append(log, 3)
    log.update_config(LogConfig(segment_bytes=200, max_message_bytes=100))
    too_large = log.append_as_leader(batch(b"v" * 100), 0, NOW_MS)
    assert too_large.error is ErrorCode.MESSAGE_TOO_LARGE
    log.update_config(LogConfig(segment_bytes=250))
    append(log, 1)
    assert log.segments.base_offsets == [0, 3]


def test_expired_producers_are_forgotten() -> None:
    log = open_log(ports=environment(MemoryFilesystem(), expiration_ms=1000))
    sent = batch(b"t", producer_id=1, producer_epoch=0, base_sequence=0)
    log.append_as_leader(sent, 0, NOW_MS)
    assert log.producer_state.remove_expired(NOW_MS + 999) == 0
    assert log.producer_state.remove_expired(NOW_MS + 1000) == 1
