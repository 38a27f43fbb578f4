"""Scenarios S5 and S7 for one log: every call to the disk is the last, or fails, once each.

A fixed life of a log (appends, rolls, flushes, checkpoints, retention, a truncation, a clean stop)
is lived again and again. Each time the process dies, or the power goes, before another change of
the disk; or another call says EIO or ENOSPC. Afterwards a new start holds what was promised: all
that was acknowledged after the death of the process, all that was flushed after a loss of power.
"""

from __future__ import annotations

import errno
import random

import pytest

from ground.memory_filesystem import Died, MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.record_batch import iterate_batches
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.log import next_segment
from storage.log.log_dir_failure import LogDirFailure, LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, batch, read_all

TOPIC_ID = bytes(range(16))
CONFIG = LogConfig(segment_bytes=1_000, index_interval_bytes=100, file_delete_delay_ms=0)
POINTS_MAX = 1_000
CALLS = ("append", "sync", "replace", "rename", "remove", "sync_dir", "truncate", "open", "pread")
AHEAD_CALLS = ("usage", "make_with_room", "give_back_room")
FAULTS = [(call, code) for call in CALLS for code in (errno.EIO, errno.ENOSPC)] + [
    (call, errno.EIO) for call in AHEAD_CALLS
]


@pytest.fixture(autouse=True)
def _next_segments_are_made_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_segment, "SEGMENT_BYTES_MIN", 0)


class Life:
    """A node with one log, and what it has promised."""

    def __init__(self, filesystem: MemoryFilesystem) -> None:
        self.filesystem = filesystem
        self.scheduler, self.jobs = SimScheduler(), Jobs()
        self.failures = LogDirFailureChannel()
        environment = LogEnvironment(filesystem, self.scheduler, self.jobs, self.failures)
        self.manager = LogManager(
            environment, LogManagerSettings(("/data",)), lambda _: CONFIG, lambda n: bytes(n)
        )
        self.acknowledged: dict[int, bytes] = {}
        self.flushed = 0
        self.start = 0
        self.refused = False

    def open(self) -> UnifiedLog:
        self.manager.lock()
        self.manager.load()
        log = self.manager.get_or_create(("t", 0), TOPIC_ID)
        self.scheduler.run_for(0)  # the turn is over: its folder is made durable
        log.is_replicated = True
        return log

    def live(self) -> None:
        log = self.open()
        self.filesystem.sync_dir("/")
        self._append(log, 12)
        self._flush(log)
        self._checkpoint()
        self._append(log, 9)
        if log.increment_log_start_offset(8) is ErrorCode.NONE:
            self.start = 8
        self.manager.upkeep.retain()
        self.scheduler.run_for(10)  # files are removed
        self._checkpoint()
        log.assign_epoch_start(1, log.log_end_offset)
        self._append(log, 3, epoch=1)
        self._flush(log)
        cut = log.log_end_offset - 2
        self.flushed = min(self.flushed, cut)  # from now on nobody counts on what lies above
        self.acknowledged = {at: value for at, value in self.acknowledged.items() if at < cut}
        log.truncate_to(cut)
        self._append(log, 7, epoch=2)
        self._flush(log)
        self._checkpoint()
        self._append(log, 2, epoch=2)
        self.manager.close(9)

    def _append(self, log: UnifiedLog, count: int, epoch: int = 0) -> None:
        for _ in range(count):
            value = b"value %d of %d" % (log.log_end_offset, epoch) + b"." * 80
            info = log.append_as_leader(batch(value), epoch, NOW_MS)
            if info.error:
                assert info.error is ErrorCode.KAFKA_STORAGE_ERROR
                self.refused = True
                continue
            assert not self.refused, "an append after one that failed (KAFKA-10778)"
            self.acknowledged[info.first_offset] = value
            log.update_high_watermark(log.log_end_offset)

    def _flush(self, log: UnifiedLog) -> None:
        log.flush()
        self.flushed = log.recovery_point

    def _checkpoint(self) -> None:
        self.manager.upkeep.checkpoint_recovery_points()
        self.manager.upkeep.checkpoint_log_starts()
        self.manager.upkeep.checkpoint_high_watermarks()


def check(disk: MemoryFilesystem, life: Life, *, power: bool, what: object) -> None:
    """The next start holds what was promised, goes on, and stops cleanly."""
    again = Life(disk)
    log = again.open()
    assert again.manager.online_dirs == ["/data"], what
    data = read_all(log)
    offsets = [
        offset
        for _, header in iterate_batches(data)
        for offset in range(header.base_offset, header.last_offset + 1)
    ]
    assert offsets == sorted(set(offsets)), what
    assert log.log_start_offset <= max(life.start, 0), what
    for offset, value in life.acknowledged.items():
        if offset >= life.start and (not power or offset < life.flushed):
            assert value in data, (what, offset, log.log_end_offset)
    starts = [start for _, start in log.leader_epochs.entries]
    assert starts == sorted(starts), what
    for _, header in iterate_batches(data):
        if header.base_offset >= life.start:  # what was deleted, and is back, has no epoch any more
            known = log.leader_epochs.epoch_for(header.base_offset)
            assert known == header.partition_leader_epoch, (what, header)
    info = log.append_as_leader(batch(b"next"), 5, NOW_MS)
    assert not info.error and info.first_offset == log.log_end_offset - 1, what
    assert again.manager.close(10), what


@pytest.mark.parametrize("power", [False, True])
def test_the_process_ends_before_each_change(power: bool) -> None:
    for point in range(POINTS_MAX):
        disk = MemoryFilesystem()
        disk.die_at, disk.torn = point, point % 3 / 2
        life = Life(disk)
        died = False
        try:
            life.live()
        except Died:
            died = True
        disk.die_at = None
        if power:
            disk.lose_power(random.Random(point))
        else:
            disk.kill()
        disk.heal()
        check(disk, life, power=power, what=point)
        if not died:
            assert point > 100
            return
    raise AssertionError("it never ends")


@pytest.mark.parametrize(("call", "code"), FAULTS)
def test_each_call_fails_once(call: str, code: int) -> None:
    """The directory goes offline, and nothing that was acknowledged is lost."""
    failed = 0
    for skip in range(POINTS_MAX):
        disk = MemoryFilesystem()
        life = Life(disk)
        disk.inject(call, code, path_part="/data", skip=skip)
        try:
            life.live()
        except LogDirFailure:
            pass  # a log that cannot be made, an epoch that cannot be written
        except OSError:
            assert call == "sync_dir", "the test's own"
        offline = life.failures.is_offline("/data")
        if not offline and life.manager.online_dirs:
            break
        failed += 1
        assert not disk.exists("/data/.kafka_cleanshutdown"), (call, skip)
        disk.kill()
        disk.heal()
        check(disk, life, power=False, what=(call, skip))
    assert failed > 0, call


def test_no_room_ahead_is_no_failure() -> None:
    disk = MemoryFilesystem()
    life = Life(disk)
    disk.inject("make_with_room", errno.ENOSPC, path_part="/data", count=100)
    life.live()
    assert not life.refused and not life.failures.is_offline("/data")
    check(disk, life, power=False, what="no room")
