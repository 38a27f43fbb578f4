"""Retention while a node runs: when, on which logs, what stays on disk, what a restart finds."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import SlicedWork
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.records import Record
from storage.directories.log_dir_state import LogDirState
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.directories.log_upkeep import LogUpkeep
from storage.directories.offset_checkpoints import read_offsets
from storage.log.checkpoints import HIGH_WATERMARK_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.retention import Breaches
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.batches import build_batch
from tests.unit.storage.harness import LOG_DIR, Jobs, batch, environment, open_log

TOPIC_ID = bytes(range(16))
CHECK_MS = 1_000


class Node:
    """A log manager that looks through its logs once a second."""

    def __init__(self, config: LogConfig) -> None:
        self.filesystem = MemoryFilesystem()
        self.config = config
        self.retained: list[tuple[UnifiedLog, Breaches]] = []
        self.start()

    def start(self) -> None:
        self.scheduler = SimScheduler()
        environment = LogEnvironment(
            self.filesystem, self.scheduler, Jobs(), LogDirFailureChannel()
        )
        settings = LogManagerSettings(
            ("/data",), log_retention_check_interval_ms=CHECK_MS, log_initial_task_delay_ms=500
        )
        self.logs = LogManager(environment, settings, lambda _: self.config, lambda n: bytes(n))
        self.logs.upkeep.on_retained(lambda log, gone: self.retained.append((log, gone)))
        self.logs.lock()
        self.logs.load()
        self.logs.start()

    def restart(self, *, clean: bool) -> None:
        if clean:
            assert self.logs.close()
        else:
            self.filesystem.kill()
        self.start()

    def log(self, index: int = 0) -> UnifiedLog:
        return self.logs.get_or_create(("t", index), TOPIC_ID)

    def fill(self, count: int, index: int = 0, *, age_ms: int = 0) -> UnifiedLog:
        """Append batches of ten records, each in a segment of its own."""
        log = self.log(index)
        at = self.scheduler.wall_ms() - age_ms
        for _ in range(count):
            if log.log_end_offset:
                log.roll()
            records = [Record(-1, at, b"key %d" % n, b"v") for n in range(10)]
            info = log.append_as_leader(memoryview(build_batch(records)), 0, at)
            assert info.error is ErrorCode.NONE, info
        log.update_high_watermark(log.log_end_offset)
        return log

    def names(self) -> list[str]:
        return [n for n in self.filesystem.list_dir("/data/t-0") if ".log" in n]


def test_old_segments_go_at_the_check_and_their_files_after_the_delay() -> None:
    node = Node(LogConfig(retention_ms=60_000, file_delete_delay_ms=5_000))
    log = node.fill(3, age_ms=61_000)
    node.fill(1)
    node.scheduler.run_for(499)
    assert log.segments.base_offsets == [0, 10, 20, 30]
    node.scheduler.run_for(2)
    assert log.segments.base_offsets == [30]
    assert log.log_start_offset == 30
    assert [one[1] for one in node.retained] == [Breaches(time=3)]
    assert log.read(29, 100).error is ErrorCode.OFFSET_OUT_OF_RANGE
    assert [name for name in node.names() if name.endswith(".deleted")]
    node.scheduler.run_for(5_001)
    assert node.names() == [f"{30:020d}.log"]
    assert not [n for n in node.filesystem.list_dir("/data/t-0") if f"{0:020d}" in n]


def test_a_log_that_had_its_time_whole_goes_on_empty_where_it_ended() -> None:
    node = Node(LogConfig(retention_ms=60_000, file_delete_delay_ms=0))
    log = node.fill(2, age_ms=61_000)
    node.scheduler.run_for(CHECK_MS)
    assert (log.log_start_offset, log.log_end_offset) == (20, 20)
    assert log.segments.base_offsets == [20]
    assert log.leader_epochs.entries in ([], [(0, 20)])
    info = log.append_as_leader(batch(b"v"), 0, node.scheduler.wall_ms())
    assert info.first_offset == 20
    for clean in (True, False):
        node.restart(clean=clean)
        log = node.log()
        assert (log.log_start_offset, log.log_end_offset) == (20, 21)


def test_a_later_check_takes_what_became_old_meanwhile() -> None:
    node = Node(LogConfig(retention_ms=1_200, file_delete_delay_ms=0))
    log = node.fill(2)
    node.scheduler.run_for(1_000)
    assert log.log_start_offset == 0
    node.scheduler.run_for(1_000)
    assert log.log_start_offset == 20


def test_what_is_not_committed_stays() -> None:
    node = Node(LogConfig(retention_ms=1))
    log = node.fill(3, age_ms=60_000)
    log.high_watermark = 15
    node.scheduler.run_for(CHECK_MS)
    assert log.log_start_offset == 10


def test_deleted_records_free_the_disk_and_stay_deleted() -> None:
    node = Node(LogConfig(file_delete_delay_ms=0))
    log = node.fill(4)
    size = log.segments.size_bytes
    assert log.increment_log_start_offset(25) is ErrorCode.NONE
    node.scheduler.run_for(CHECK_MS)
    assert log.segments.base_offsets == [20, 30]
    assert log.segments.size_bytes == size // 2
    assert node.names() == [f"{20:020d}.log", f"{30:020d}.log"]
    assert log.log_start_offset == 25
    assert log.leader_epochs.entries == [(0, 25)]
    node.logs.upkeep.checkpoint_log_starts()
    for clean in (False, True):
        node.restart(clean=clean)
        assert node.log().log_start_offset == 25
        assert node.log().read(24, 100).error is ErrorCode.OFFSET_OUT_OF_RANGE


def test_side_files_of_what_went_go_too() -> None:
    node = Node(LogConfig(retention_ms=60_000, file_delete_delay_ms=0))
    node.fill(3, age_ms=61_000)
    node.fill(1)
    node.scheduler.run_for(CHECK_MS)
    left = node.filesystem.list_dir("/data/t-0")
    assert {name.partition(".")[0] for name in left if name[0].isdigit()} == {f"{30:020d}"}


@pytest.mark.parametrize("policy", [("compact",), ("compact", "delete")])
def test_compacted_logs(policy: tuple[str, ...]) -> None:
    node = Node(LogConfig(cleanup_policy=policy, retention_ms=1, file_delete_delay_ms=0))
    log = node.fill(3, age_ms=60_000)
    log.increment_log_start_offset(10)
    node.scheduler.run_for(CHECK_MS)
    assert log.log_start_offset == (30 if "delete" in policy else 10)
    assert log.segments.base_offsets[0] == log.log_start_offset


def test_a_log_that_the_cleaner_has_in_hand_is_left_alone() -> None:
    node = Node(LogConfig(retention_ms=1))
    log = node.fill(3, age_ms=60_000)
    log.set_being_cleaned(True)
    node.scheduler.run_for(CHECK_MS)
    assert log.log_start_offset == 0
    log.set_being_cleaned(False)
    node.scheduler.run_for(CHECK_MS)
    assert log.log_start_offset == 30


def test_many_logs_are_looked_through_in_several_goes() -> None:
    node = Node(LogConfig(retention_ms=1))
    for index in range(120):
        node.fill(1, index, age_ms=60_000)
    node.logs.upkeep.retain()
    assert len(node.retained) == 50
    node.scheduler.run_for(0)
    assert len(node.retained) == 120


def test_a_changed_config_counts_at_the_next_check() -> None:
    node = Node(LogConfig(file_delete_delay_ms=0))
    log = node.fill(3, age_ms=60_000)
    node.scheduler.run_for(CHECK_MS)
    assert log.log_start_offset == 0
    log.update_config(LogConfig(retention_bytes=0, file_delete_delay_ms=0))
    node.scheduler.run_for(CHECK_MS)
    assert log.log_start_offset == 30


@pytest.mark.parametrize("call", ["rename", "remove", "replace"])
def test_a_disk_that_fails_goes_offline_and_the_node_lives(call: str) -> None:
    node = Node(LogConfig(retention_ms=60_000, file_delete_delay_ms=0))
    node.fill(3, age_ms=61_000)
    node.fill(1)
    node.filesystem.inject(call, path_part="/t-0/")
    node.scheduler.run_for(3 * CHECK_MS)
    assert node.logs.online_dirs == []
    assert node.logs.get(("t", 0)) is None


def test_nothing_is_done_after_the_stop() -> None:
    node = Node(LogConfig(retention_ms=1))
    log = node.fill(2, age_ms=60_000)
    node.logs.close()
    node.scheduler.run_for(5 * CHECK_MS)
    assert log.log_start_offset == 0


def in_checkpoint(node: Node) -> int:
    """How many logs the high watermarks' file names by now."""
    node.scheduler.run_for(1)
    return int(node.filesystem.read("/data/replication-offset-checkpoint").splitlines()[1])


def test_deletions_write_the_checkpoints_at_their_end_even_if_one_fails() -> None:
    node = Node(LogConfig())
    for index in range(3):
        node.log(index)
    node.logs.upkeep.checkpoint_high_watermarks()
    assert in_checkpoint(node) == 3
    with pytest.raises(ZeroDivisionError), node.logs.upkeep.deletions():
        with node.logs.upkeep.deletions():
            node.logs.delete(("t", 0))
        node.logs.delete(("t", 1))
        assert in_checkpoint(node) == 3
        _ = 1 / 0
    assert in_checkpoint(node) == 1
    node.logs.delete(("t", 2))
    assert in_checkpoint(node) == 0


class ManyLogs:
    """The upkeep of one directory in which one log lies under 1,100 names."""

    def __init__(self) -> None:
        self.filesystem = MemoryFilesystem()
        self.filesystem.make_dirs(LOG_DIR)
        self.ports = environment(self.filesystem)
        self.state = LogDirState(LOG_DIR, self.ports)
        self.log = open_log(ports=self.ports)
        for number in range(1_100):
            self.state.logs[TopicPartition("t", number)] = self.log
        scheduler = self.ports.scheduler
        assert isinstance(scheduler, SimScheduler)
        self.scheduler = scheduler
        self.sliced = SlicedWork(scheduler, self.ports.blocking, 0)
        settings = LogManagerSettings(
            (LOG_DIR,),
            replica_high_watermark_checkpoint_interval_ms=10 * CHECK_MS,
            producer_id_expiration_check_interval_ms=CHECK_MS,
        )
        self.upkeep = LogUpkeep(self.ports, settings, lambda: [self.state], self.sliced)

    def written(self, name: str) -> set[int] | None:
        path = f"{LOG_DIR}/{name}"
        if not self.filesystem.exists(path):
            return None
        return set((read_offsets(self.filesystem, path) or {}).values())


def test_checkpoints_of_many_logs_are_made_in_slices() -> None:
    many = ManyLogs()
    many.log.append_as_leader(batch(b"a", b"b"), 0, many.scheduler.wall_ms())
    many.upkeep.checkpoint_recovery_points()
    assert (many.sliced.slices, many.written(RECOVERY_POINT_CHECKPOINT)) == (0, None)
    many.scheduler.run_for(0)
    assert (many.sliced.slices, many.written(RECOVERY_POINT_CHECKPOINT)) == (3, {0})


def test_what_a_truncation_left_is_written_after_the_checkpoint_under_way() -> None:
    many = ManyLogs()
    many.log.append_as_leader(batch(b"a", b"b"), 0, many.scheduler.wall_ms())
    many.log.flush()
    many.upkeep.checkpoint_recovery_points()
    many.log.truncate_to(0)
    many.upkeep.checkpoint_soon()
    many.scheduler.step()
    assert many.written(RECOVERY_POINT_CHECKPOINT) is None
    many.upkeep.checkpoint_soon()  # none is due any more that has not begun
    many.scheduler.run_for(0)
    assert many.written(RECOVERY_POINT_CHECKPOINT) == {0}
    assert many.written(HIGH_WATERMARK_CHECKPOINT) == {0}


def test_a_checkpoint_that_a_stop_overtakes_is_not_written() -> None:
    many = ManyLogs()
    many.upkeep.checkpoint_high_watermarks()
    many.upkeep.stop()
    many.scheduler.run_for(0)
    assert many.written(HIGH_WATERMARK_CHECKPOINT) is None


def test_producers_of_many_logs_are_forgotten_in_slices() -> None:
    many = ManyLogs()
    many.upkeep.start()
    many.scheduler.run_for(CHECK_MS - 1)
    assert many.sliced.slices == 0
    many.scheduler.run_for(1)
    assert many.sliced.slices == 1_100 // 50 - 1
