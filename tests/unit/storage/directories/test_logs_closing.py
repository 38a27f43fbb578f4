"""Before a clean stop: several logs at a time go to disk, and none twice."""

from __future__ import annotations

import pytest

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.directories.logs_closing import LogsClosing
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, batch

TOPIC_ID = bytes(range(16))


class Node:
    """Logs in two directories, in turn, each with a batch that is not flushed."""

    def __init__(self, logs: int = 8, at_once: int = 2) -> None:
        self.filesystem, self.jobs = MemoryFilesystem(), Jobs()
        self.failures = LogDirFailureChannel()
        self.manager = LogManager(
            LogEnvironment(self.filesystem, SimScheduler(), self.jobs, self.failures),
            LogManagerSettings(("/a", "/b"), num_recovery_threads_per_data_dir=at_once),
            lambda _: LogConfig(),
            lambda n: bytes(n),
        )
        self.manager.lock()
        self.manager.load()
        for index in range(logs):
            log = self.manager.get_or_create(("t", index), TOPIC_ID)
            log.append_as_leader(batch(b"v"), 0, NOW_MS)
        self.jobs.held = True
        self.done: list[bool] = []

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


def test_nothing_to_close_is_done_at_once() -> None:
    done: list[bool] = []
    LogsClosing([[], []], 2, lambda: done.append(True)).begin()
    assert done == [True]


def test_a_directory_that_fails_is_left_and_the_other_goes_on() -> None:
    node = Node(8)
    node.filesystem.inject("sync", path_part="/a/")
    node.begin()
    node.jobs.run()
    assert node.done == [True]
    assert node.manager.online_dirs == ["/b"]
    assert [log.recovery_point for log in node.manager.logs] == [1] * 4
    assert node.manager.close() is False
