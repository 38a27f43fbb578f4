"""All logs of a node: start, stop, checkpoints, deletion, and directories that fail."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from ground.filesystem import LocalFilesystem
from ground.memory_filesystem import Died, MemoryFilesystem
from protocol.errors import ErrorCode
from storage.directories import logs_closing
from storage.directories.log_dirs import LogDirLocked
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.directories.logs_closing import VOLUME_FROM
from storage.log.log_dir_failure import LogDirFailure
from storage.log.recovery_report import RecoveryReport
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, batch, read_all
from tests.unit.storage.log_manager_fixture import (
    OTHER_ID,
    SMALL,
    TOPIC_ID,
    A,
    B,
    Node,
    append,
    started,
    stop,
)


def test_logs_are_spread_over_the_directories_and_found() -> None:
    node = started()
    assert [log.partition.partition for log in node.manager.logs_in(A)] == [0, 2]
    assert [log.partition.partition for log in node.manager.logs_in(B)] == [1, 3]
    log = node.manager.get(("t", 3))
    assert log is not None and log.directory == "/b/t-3"
    assert log is node.manager.get_or_create(("t", 3), TOPIC_ID)
    assert node.manager.get(("t", 9)) is None
    assert len(node.manager.logs) == 4
    wanted = node.manager.get_or_create(("u", 0), TOPIC_ID, log_dir=B)
    assert wanted.log_dir == B


def test_a_new_log_is_durable_when_its_job_is_done() -> None:
    node = started(1)
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.filesystem.sync_dir("/")
    node.filesystem.lose_power(random.Random(3))
    log = node.start().get(("t", 0))
    assert log is not None and log.topic_id == TOPIC_ID


def test_a_clean_stop_and_start() -> None:
    node = started()
    assert stop(node.manager, 17) is True
    manager = node.start()
    assert manager.report == []
    assert node.previous_broker_epoch == 17
    for partition in range(4):
        log = manager.get(("t", partition))
        assert log is not None
        assert log.log_end_offset == log.high_watermark == log.recovery_point == partition + 1
        assert log.topic_id == TOPIC_ID
        assert log.recovery == RecoveryReport()


def test_process_death_is_recovered_and_told() -> None:
    node = started()
    node.die()
    manager = node.start()
    assert node.previous_broker_epoch == -1
    assert [line.partition(":")[0] for line in manager.report] == [
        "Recovered 2 log(s) in /a",
        "Recovered 2 log(s) in /b",
    ]
    assert [log.log_end_offset for log in manager.logs] == [1, 3, 2, 4]


def test_a_torn_tail_is_told_by_partition() -> None:
    node = started(1)
    node.filesystem.open(f"/a/t-0/{0:020d}.log").append(b"torn")
    node.die()
    assert "t-0: cut off 4 bytes, removed 0 segment(s); log end offset 1" in node.start().report


def test_the_marker_is_gone_as_soon_as_a_start_begins() -> None:
    node = started()
    node.manager.close()
    assert node.filesystem.exists("/a/.kafka_cleanshutdown")
    node.start()
    assert not node.filesystem.exists("/a/.kafka_cleanshutdown")
    node.die()
    assert node.start().report, "a crash right after a start is an unclean stop"


def test_a_failed_start_leaves_no_marker() -> None:
    """KAFKA-15375: a stop after a start that failed half way must not count as clean."""
    node = started()
    node.die()
    assert isinstance(node.filesystem, MemoryFilesystem)
    manager = node.new()
    node.filesystem.die_at = node.filesystem.changes + 3
    with pytest.raises(Died):
        manager.lock()
        manager.load()
    node.filesystem.die_at = None
    assert manager.close() is False
    assert not node.filesystem.exists("/a/.kafka_cleanshutdown")
    assert not node.filesystem.exists("/b/.kafka_cleanshutdown")


@pytest.mark.parametrize("end", [LogManager.close, stop])
@pytest.mark.parametrize("operation", ["sync", "replace", "rename", "sync_dir"])
def test_a_stop_that_fails_leaves_no_marker(
    operation: str, end: Callable[[LogManager], bool]
) -> None:
    """KAFKA-13773: a full or failing disk at the stop must not leave a marker."""
    node = started()
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.filesystem.inject(operation, path_part="/a")
    assert end(node.manager) is False
    assert not node.filesystem.exists("/a/.kafka_cleanshutdown")
    assert node.filesystem.exists("/b/.kafka_cleanshutdown"), "the other directory is clean"


@pytest.mark.parametrize(
    ("end", "volume_from"), [(LogManager.close, VOLUME_FROM), (stop, VOLUME_FROM), (stop, 1)]
)
def test_a_crash_at_every_step_of_a_stop_loses_nothing(
    end: Callable[[LogManager, int], bool], volume_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs_closing, "VOLUME_FROM", volume_from)
    reference = started()
    assert isinstance(reference.filesystem, MemoryFilesystem)
    before = reference.filesystem.changes
    end(reference.manager, 5)
    steps = reference.filesystem.changes - before
    assert steps > 20
    for step in range(steps + 1):
        for power in (False, True):
            node = started()
            filesystem = node.filesystem
            assert isinstance(filesystem, MemoryFilesystem)
            filesystem.sync_dir("/")
            for log in node.manager.logs:
                log.flush()
            node.manager.upkeep.checkpoint_recovery_points()
            filesystem.die_at = filesystem.changes + step
            with suppress(Died):
                end(node.manager, 5)
            if power:
                filesystem.lose_power(random.Random(step))
            else:
                filesystem.kill()
            manager = node.start()
            for partition in range(4):
                log = manager.get(("t", partition))
                assert log is not None
                assert log.log_end_offset == partition + 1
                assert len(read_all(log)) > 0
            clean = node.previous_broker_epoch == 5
            assert not (clean and manager.report)


def test_checkpoints_are_written_by_the_clock_only_when_they_changed() -> None:
    node = started()
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.scheduler.run_for(5_000)
    assert node.filesystem.read("/a/replication-offset-checkpoint") == b"0\n2\nt 0 1\nt 2 3\n"
    node.filesystem.calls.clear()
    node.scheduler.run_for(20_000)
    assert [path for _, path in node.filesystem.calls if "replication" in path] == []
    append(node.manager.logs[0])
    node.scheduler.run_for(5_000)
    assert node.filesystem.read("/a/replication-offset-checkpoint") == b"0\n2\nt 0 2\nt 2 3\n"
    for log in node.manager.logs:
        log.flush()
    node.scheduler.run_for(60_000)
    assert node.filesystem.read("/b/recovery-point-offset-checkpoint") == b"0\n2\nt 1 2\nt 3 4\n"


def test_log_starts_that_no_segment_tells_survive() -> None:
    node = started()
    log = node.manager.get(("t", 3))
    assert log is not None
    log.increment_log_start_offset(2)
    node.scheduler.run_for(60_000)
    assert node.filesystem.read("/b/log-start-offset-checkpoint") == b"0\n1\nt 3 2\n"
    node.die()
    again = node.start().get(("t", 3))
    assert again is not None and again.log_start_offset == 2


def test_high_watermarks_survive_process_death() -> None:
    node = started()
    log = node.manager.get(("t", 3))
    assert log is not None
    log.update_high_watermark(2)
    node.scheduler.run_for(5_000)
    node.die()
    again = node.start().get(("t", 3))
    assert again is not None and (again.high_watermark, again.log_end_offset) == (2, 4)


@pytest.mark.parametrize("data", [b"", b"\0" * 30, b"0\n9\nt 0 1\n"])
@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
    ],
)
def test_a_damaged_checkpoint_costs_a_scan_and_no_record(name: str, data: bytes) -> None:
    node = started()
    node.scheduler.run_for(60_000)
    node.filesystem.replace_atomically(f"/a/{name}", data)
    node.die()
    log = node.start().get(("t", 2))
    assert log is not None and log.log_end_offset == 3


def test_a_deleted_log_is_renamed_now_and_removed_later() -> None:
    node = started()
    held = node.manager.logs[0].read(0, 1000)
    assert node.manager.delete(("t", 0)) is True
    assert node.manager.delete(("t", 0)) is False
    assert node.manager.get(("t", 0)) is None
    renamed = f"t-0.{random.Random(1).randbytes(16).hex()}-delete"
    assert [n for n in node.filesystem.list_dir(A) if n.startswith("t-0")] == [renamed]
    assert not isinstance(held.records, bytes) and len(held.records.read()) == held.size
    node.scheduler.run_for(59_999)
    assert renamed in node.filesystem.list_dir(A)
    node.scheduler.run_for(1)
    assert [n for n in node.filesystem.list_dir(A) if n.startswith("t-0")] == []
    assert node.manager.get_or_create(("t", 0), OTHER_ID).log_end_offset == 0


def test_a_deletion_that_a_stop_interrupted_goes_on() -> None:
    node = started()
    node.manager.delete(("t", 0))
    node.manager.close()
    manager = node.start()
    assert manager.get(("t", 0)) is None
    node.scheduler.run_for(0)
    assert [n for n in node.filesystem.list_dir(A) if n.endswith("-delete")] == []


def test_a_log_of_another_topic_of_that_name_is_a_stray() -> None:
    """KAFKA-14616: a deleted and recreated topic must not go on with the old records."""
    node = started()
    log = node.manager.get_or_create(("t", 0), OTHER_ID)
    assert (log.log_end_offset, log.topic_id) == (0, OTHER_ID)
    assert [n for n in node.filesystem.list_dir(A) if n.endswith("-stray")]
    node.manager.close()
    again = node.start().get(("t", 0))
    assert again is not None and again.topic_id == OTHER_ID


def test_a_log_without_an_id_gets_the_one_it_is_asked_for() -> None:
    node = started()
    node.manager.close()
    node.filesystem.remove("/a/t-0/partition.metadata")
    manager = node.start()
    log = manager.get(("t", 0))
    assert log is not None and log.topic_id is None
    assert manager.get_or_create(("t", 0), TOPIC_ID) is log
    assert node.filesystem.read("/a/t-0/partition.metadata").startswith(b"version: 0\n")


def test_other_folders_are_left_alone() -> None:
    node = started()
    node.manager.close()
    stray = f"x-0.{'a' * 32}-stray"
    for name in ("__cluster_metadata-0", "lost+found", "x-0.abc-future", stray):
        node.filesystem.make_dirs(f"/a/{name}")
    manager = node.start()
    assert {log.partition.topic for log in manager.logs} == {"t"}
    assert stray in node.filesystem.list_dir(A)


def test_what_a_directory_had_and_has_not_any_more_is_known() -> None:
    node = started(4)
    assert node.manager.close()
    node.filesystem.remove_tree("/b/t-1")
    node.filesystem.make_dirs("/b/t-1.x-0")  # another topic's folder: t-1 is gone
    node.filesystem.rename("/b/t-3", f"/b/t-3.{'0' * 32}-delete")
    assert node.start().lacking == {("t", 1): B}


def test_one_failing_directory_leaves_the_other_serving() -> None:
    node = started()
    assert isinstance(node.filesystem, MemoryFilesystem)
    told: list[str] = []
    node.failures.listen(lambda log_dir, reason: told.append(log_dir))
    node.filesystem.inject("append", path_part="/a/")
    first, second = node.manager.get(("t", 0)), node.manager.get(("t", 1))
    assert first is not None and second is not None
    failed = first.append_as_leader(batch(b"v"), 0, NOW_MS)
    assert failed.error is ErrorCode.KAFKA_STORAGE_ERROR
    assert told == [A]
    assert node.manager.online_dirs == [B]
    assert node.manager.get(("t", 2)) is None, "its neighbours in the directory are offline too"
    append(second)
    assert node.manager.get_or_create(("u", 0), TOPIC_ID).log_dir == B
    assert node.manager.close() is False
    assert not node.filesystem.exists("/a/.kafka_cleanshutdown")


def test_without_an_online_directory_no_log_is_made() -> None:
    node = Node(dirs=(A,))
    manager = node.start()
    node.failures.fail(A, "test", OSError("gone"))
    with pytest.raises(LogDirFailure):
        manager.get_or_create(("t", 0), TOPIC_ID)


@pytest.mark.parametrize("operation", ["make_dirs", "replace", "open", "list_dir"])
def test_a_directory_that_fails_at_the_start_is_offline(operation: str) -> None:
    node = started()
    node.manager.close()
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.filesystem.kill()
    if operation in ("make_dirs", "replace"):
        manager = node.start()
        node.filesystem.inject(operation)
        with pytest.raises(LogDirFailure):
            manager.get_or_create(("new", 0), TOPIC_ID)
    else:
        node.filesystem.inject(operation, path_part="/a")
        manager = node.start()
    assert manager.online_dirs == [B]
    assert all(log.log_dir == B for log in manager.logs)


def test_a_failed_checkpoint_takes_the_directory_offline() -> None:
    node = started()
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.filesystem.inject("replace", path_part="/a/replication")
    node.scheduler.run_for(5_000)
    assert node.manager.online_dirs == [B]


def test_the_logs_of_some_topics_and_their_copies_are_told() -> None:
    node = started(1)
    log = node.manager.logs[0]
    other = node.manager.get_or_create(("u", 0), TOPIC_ID)
    copy = node.manager.future_logs.create(log, B if log.log_dir == A else A, SMALL)
    assert node.manager.logs_of({"t"}) == [log, copy]
    assert node.manager.logs_of({"t", "u", "v"}) == [log, other, copy]


def test_flush_ms_is_looked_at_by_the_clock() -> None:
    node = Node()
    node.settings = LogManagerSettings((A, B), log_flush_scheduler_interval_ms=500)
    node.config = LogConfig(flush_ms=1000)
    log = node.start().get_or_create(("t", 0), TOPIC_ID)
    append(log)
    node.scheduler.run_for(999)
    assert log.recovery_point == 0
    node.scheduler.run_for(1)
    assert log.recovery_point == 1


def test_silent_producers_are_forgotten_by_the_clock() -> None:
    node = started(1)
    log = node.manager.logs[0]
    sent = batch(b"v", producer_id=1, producer_epoch=0, base_sequence=0, timestamp=NOW_MS)
    log.append_as_leader(sent, 0, NOW_MS)
    node.scheduler.run_for(600_000)
    assert len(log.producers) == 1
    node.scheduler.run_for(86_400_000)
    assert log.producers == []


def test_after_the_stop_the_clock_writes_nothing() -> None:
    node = started()
    assert isinstance(node.filesystem, MemoryFilesystem)
    node.manager.close()
    changes = node.filesystem.changes
    node.scheduler.run_for(200_000)
    assert node.filesystem.changes == changes


def test_room_on_a_volume() -> None:
    node = started(1)
    assert isinstance(node.filesystem, MemoryFilesystem)
    assert node.manager.usage(A).total_bytes > 0
    node.filesystem.inject("usage")
    with pytest.raises(LogDirFailure):
        node.manager.usage(A)


@pytest.fixture
def local(tmp_path: Path) -> Callable[[], Node]:
    return lambda: Node(LocalFilesystem(), (f"{tmp_path}/a", f"{tmp_path}/b"))


def test_on_a_real_disk(local: Callable[[], Node]) -> None:
    node = local()
    manager = node.start()
    for partition in range(4):
        append(manager.get_or_create(("t", partition), TOPIC_ID), 30)
    expected = [read_all(log) for log in manager.logs]
    with pytest.raises(LogDirLocked):
        local().start()
    assert manager.close(3) is True
    manager = node.start()
    assert (manager.report, node.previous_broker_epoch) == ([], 3)
    assert sorted(map(read_all, manager.logs)) == sorted(expected)
    append(manager.logs[0], 5)
    for log_dir in manager._dirs.values():  # as the end of the process does
        assert log_dir.lock is not None
        log_dir.lock.release()
    manager = node.start()
    assert len(manager.report) == 2
    assert sum(log.log_end_offset for log in manager.logs) == 125
    manager.delete(("t", 0))
    node.scheduler.run_for(60_000)
    assert manager.close() is True


def test_a_folder_that_belongs_to_no_topic_is_put_aside_at_start() -> None:
    node = Node()
    append(node.start().get_or_create(("gone", 0), TOPIC_ID, log_dir=A))
    append(node.manager.get_or_create(("kept", 0), OTHER_ID, log_dir=A))
    node.die()
    node.manager = node.new()
    node.manager.lock()
    node.manager.load(lambda partition, topic_id: topic_id == TOPIC_ID)
    report = node.manager.report
    assert node.manager.get(("gone", 0)) is None
    assert node.manager.get(("kept", 0)) is not None
    (stray,) = [name for name in node.filesystem.list_dir(A) if name.endswith("-stray")]
    assert stray.startswith("gone-0.")
    assert report[0] == f"/a/gone-0 belongs to no topic: renamed to {stray}"
    node.die()
    assert [log.partition.topic for log in node.start().logs] == ["kept"]


def test_a_log_that_may_lie_in_a_failed_directory_is_not_made_anew() -> None:
    node = Node()
    manager = node.start()
    node.failures.fail(B, "opening logs", OSError("gone"))
    with pytest.raises(LogDirFailure, match="not made anew"):
        manager.get_or_create(("old", 0), TOPIC_ID, is_new=False)
    assert manager.get_or_create(("new", 0), OTHER_ID).log_dir == A
    assert [log.partition.topic for log in manager.logs] == ["new"]


def test_a_deleted_logs_high_watermark_is_not_its_successors() -> None:
    """Found by the simulator: records that nobody had committed were below a high watermark."""
    node = started(3)
    node.scheduler.run_for(5_000)
    node.manager.delete(("t", 2))
    successor = node.manager.get_or_create(("t", 2), OTHER_ID)
    node.scheduler.run_for(0)
    append_uncommitted(successor)
    node.die()
    log = node.start().get(("t", 2))
    assert log is not None and (log.high_watermark, log.log_end_offset) == (0, 1)


def test_a_high_watermark_without_its_log_does_not_wait_for_a_successor() -> None:
    node = started(1)
    node.scheduler.run_for(5_000)
    node.filesystem.remove_tree("/a/t-0")  # deleted right before the end
    node.die()
    node.start()
    node.scheduler.run_for(0)
    append_uncommitted(node.manager.get_or_create(("t", 0), OTHER_ID))
    node.die()
    log = node.start().get(("t", 0))
    assert log is not None and (log.high_watermark, log.log_end_offset) == (0, 1)


def append_uncommitted(log: UnifiedLog) -> None:
    assert log.append_as_leader(batch(b"v" * 50), 0, NOW_MS).error is ErrorCode.NONE
