"""Before a clean stop: several logs at a time go to disk, and none twice."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from ground.memory_filesystem import Died, MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.directories.logs_closing import VOLUME_FROM, LogsClosing
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, batch

TOPIC_ID = bytes(range(16))
MANY = 2 * VOLUME_FROM
"""Logs in two directories, each with as many as make one call for its volume worth it."""


class Node:
    """Logs in two directories, in turn, each with a batch that is not flushed."""

    def __init__(self, logs: int = 8, at_once: int = 2) -> None:
        self.filesystem, self.jobs = MemoryFilesystem(), Jobs()
        self.failures, self.scheduler = LogDirFailureChannel(), SimScheduler()
        self.manager = LogManager(
            LogEnvironment(self.filesystem, self.scheduler, self.jobs, self.failures),
            LogManagerSettings(("/a", "/b"), num_recovery_threads_per_data_dir=at_once),
            lambda _: LogConfig(),
            lambda n: bytes(n),
        )
        self.manager.lock()
        self.manager.load()
        for index in range(logs):
            log = self.manager.get_or_create(("t", index), TOPIC_ID)
            log.append_as_leader(batch(b"v"), 0, NOW_MS)
        self.scheduler.run_for(0)  # new folders are made durable
        self.jobs.held = True
        self.done: list[bool] = []

    def finish(self) -> int:
        """Let all of it be done; how many turns of the loop that took."""
        turns = 0
        self.jobs.held = False
        self.begin()
        while not self.done:
            assert self.scheduler.step()
            turns += 1
        return turns

    def begin(self) -> None:
        self.manager.begin_close(lambda: self.done.append(True))


@pytest.mark.parametrize("at_once", [1, 3])
def test_so_many_logs_of_a_directory_at_once(at_once: int) -> None:
    node = Node(8, at_once)
    node.begin()
    most = 0
    while node.jobs.waiting:
        most = max(most, len(node.jobs.waiting))
        assert node.done == []
        node.jobs.run_one(0)
    assert most == 2 * at_once
    assert node.done == [True]
    assert all(log.recovery_point == log.log_end_offset == 1 for log in node.manager.logs)


def test_the_close_that_follows_syncs_no_log_again() -> None:
    node = Node()
    node.begin()
    node.jobs.run()
    node.filesystem.inject("sync", path_part=".log")
    node.filesystem.inject("sync", path_part="index")
    assert node.manager.close() is True


def test_the_close_that_follows_takes_in_what_came_meanwhile() -> None:
    node = Node(2)
    node.begin()
    log = node.manager.logs[0]
    log.append_as_leader(batch(b"late"), 0, NOW_MS)
    node.jobs.run()
    assert log.recovery_point == 1
    assert node.manager.close() is True
    assert log.recovery_point == 2


def test_clean_logs_take_no_job() -> None:
    node = Node(3)
    for log in node.manager.logs:
        log.flush()
    node.begin()
    node.jobs.run()
    node.done.clear()
    node.begin()
    assert node.done == [True]
    assert node.jobs.waiting == []


@pytest.mark.parametrize("directories", [[], [(None, []), (None, [])]])
def test_nothing_to_close_is_done_at_once(
    directories: list[tuple[None, list[UnifiedLog]]],
) -> None:
    done: list[bool] = []
    node = Node(0)
    LogsClosing(node.manager.sliced, node.jobs, directories, 2, lambda: done.append(True)).begin()
    assert done == [True]


def calls(filesystem: MemoryFilesystem, operation: str) -> list[str]:
    """The paths that one of its calls was made for."""
    return [path for name, path in filesystem.calls if name == operation]


def test_many_logs_are_synced_by_one_call_for_their_volume() -> None:
    node = Node(MANY)
    node.filesystem.calls.clear()
    node.finish()
    assert sorted(calls(node.filesystem, "sync_volume")) == ["/a/.lock", "/b/.lock"]
    assert calls(node.filesystem, "sync") == []
    assert all(log.recovery_point == log.log_end_offset == 1 for log in node.manager.logs)
    assert node.manager.close() is True


def test_other_work_has_its_turn_while_many_logs_are_written() -> None:
    node = Node(MANY)
    turns = node.finish()
    assert turns >= MANY // 8


def test_a_system_without_such_a_call_syncs_each_log() -> None:
    node = Node(MANY)
    node.filesystem.can_sync_volumes = False
    node.filesystem.calls.clear()
    node.finish()
    assert len([path for path in calls(node.filesystem, "sync") if path.endswith(".log")]) == MANY
    assert node.manager.close() is True


def test_a_write_that_failed_on_the_volume_is_looked_for_log_by_log() -> None:
    """It may have been that of another program; else the directory fails, and has no marker."""
    node = Node(MANY)
    node.filesystem.inject("sync_volume", count=2)
    node.filesystem.inject("sync", path_part="/b/t-1/")
    node.finish()
    assert node.manager.online_dirs == ["/a"]
    assert node.manager.close() is False
    assert node.filesystem.exists("/a/.kafka_cleanshutdown")
    assert not node.filesystem.exists("/b/.kafka_cleanshutdown")


def test_no_marker_outlives_records_that_power_took() -> None:
    """Power goes at each of a stop's last changes: of a clean directory, all is there."""
    whole = Node(MANY)
    before = whole.filesystem.changes
    whole.finish()
    assert whole.manager.close() is True
    steps = whole.filesystem.changes - before
    clean = 0
    for step in range(steps - 24, steps + 1):
        node = Node(MANY)
        node.filesystem.sync_dir("/")
        node.filesystem.die_in(step)
        with suppress(Died):
            node.finish()
            node.manager.close()
        node.filesystem.lose_power(random.Random(step))
        if not node.filesystem.exists("/a/.kafka_cleanshutdown"):
            continue
        clean += 1
        for path, data in node.filesystem.files():
            if path.startswith("/a/t-") and path.endswith((".log", ".timeindex", ".snapshot")):
                assert data, (step, path)
    assert clean


def test_a_directory_that_fails_is_left_and_the_other_goes_on() -> None:
    node = Node(8)
    node.filesystem.inject("sync", path_part="/a/")
    node.begin()
    node.jobs.run()
    assert node.done == [True]
    assert node.manager.online_dirs == ["/b"]
    assert [log.recovery_point for log in node.manager.logs] == [1] * 4
    assert node.manager.close() is False
