"""Where a new log is made, and the file that names its topic."""

from __future__ import annotations

import random

import pytest

from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from ground.topic_partition import TopicPartition
from storage.directories.log_creation import LogCreation
from storage.directories.log_dir_state import LogDirState
from storage.log.log_dir_failure import LogDirFailure, LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import Jobs

TOPIC_ID = bytes(range(16))
A, B = "/a", "/b"
ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


class Node:
    """Two directories, and what makes logs in them."""

    def __init__(self) -> None:
        self.filesystem, self.scheduler = MemoryFilesystem(), SimScheduler()
        self.failures = LogDirFailureChannel()
        for path in (A, B):
            self.filesystem.make_dirs(path)
        self.filesystem.sync_dir("/")
        environment = LogEnvironment(self.filesystem, self.scheduler, Jobs(), self.failures)
        self.dirs = {path: LogDirState(path, environment) for path in (A, B)}
        self.creation = LogCreation(environment, self.dirs)

    def create(self, partition: TopicPartition = ONE, wanted: str | None = None) -> UnifiedLog:
        log = self.creation.create(partition, TOPIC_ID, LogConfig(), wanted)
        self.dirs[log.log_dir].logs[partition] = log
        return log

    def fail(self, path: str) -> None:
        self.failures.fail(path, "a test", OSError(5, "I/O error"))


def test_the_directory_with_the_fewest_logs_takes_it_unless_another_is_wanted() -> None:
    node = Node()
    assert [node.create(TopicPartition("t", n)).log_dir for n in range(3)] == [A, B, A]
    assert node.create(TopicPartition("t", 3), wanted=A).log_dir == A


def test_the_preferred_directory_goes_before_the_wanted_one_and_once() -> None:
    node = Node()
    node.creation.prefer(ONE, B)
    assert node.create(wanted=A).log_dir == B
    assert node.create(wanted=A).log_dir == A


def test_a_preferred_directory_that_failed_is_forgotten() -> None:
    node = Node()
    node.creation.prefer(ONE, B)
    node.fail(B)
    assert node.create().log_dir == A


def test_no_directory_is_online() -> None:
    node = Node()
    node.fail(A)
    node.fail(B)
    with pytest.raises(LogDirFailure, match=f"No log directory is online .*{A},{B}"):
        node.create()


def test_the_folder_and_its_topic_survive_a_loss_of_power_once_the_turn_is_over() -> None:
    node = Node()
    path = f"{node.create().directory}/partition.metadata"
    node.scheduler.run_for(0)
    for seed in range(5):
        disk = node.filesystem.clone()
        disk.lose_power(random.Random(seed))
        assert b"topic_id: AAECAwQFBgcICQoLDA0ODw" in disk.read(path)


def test_a_log_that_cannot_be_made_takes_the_directory_offline() -> None:
    node = Node()
    node.filesystem.inject("make_dirs", path_part=A)
    with pytest.raises(LogDirFailure):
        node.create()
    assert node.failures.is_offline(A)
