"""A log manager on a disk in memory, and its next lives."""

from __future__ import annotations

import random

from ground.filesystem import Filesystem
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from storage.directories.log_manager import LogManager, LogManagerSettings
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from storage.log.unified_log import UnifiedLog
from storage.log_config import LogConfig
from tests.unit.storage.harness import NOW_MS, Jobs, batch

TOPIC_ID, OTHER_ID = bytes(range(16)), bytes(range(1, 17))
A, B = "/a", "/b"
SMALL = LogConfig(segment_bytes=1000)


class Node:
    """A log manager with its ports, and its next lives on the same disk."""

    def __init__(
        self, filesystem: Filesystem | None = None, dirs: tuple[str, ...] = (A, B)
    ) -> None:
        self.filesystem = filesystem or MemoryFilesystem()
        self.settings = LogManagerSettings(dirs)
        self.config = SMALL
        self.manager = self.new()

    def new(self) -> LogManager:
        self.scheduler, self.jobs = SimScheduler(), Jobs()
        self.failures = LogDirFailureChannel()
        environment = LogEnvironment(self.filesystem, self.scheduler, self.jobs, self.failures)
        chance = random.Random(1)
        return LogManager(
            environment,
            self.settings,
            lambda topic: self.config,
            chance.randbytes,
        )

    def start(self) -> LogManager:
        self.manager = self.new()
        self.manager.lock()
        self.previous_broker_epoch = self.manager.read_previous_broker_epoch()
        self.manager.load()
        self.manager.start()
        return self.manager

    def die(self) -> None:
        assert isinstance(self.filesystem, MemoryFilesystem)
        self.filesystem.kill()


def append(log: UnifiedLog, count: int = 1) -> None:
    for _ in range(count):
        info = log.append_as_leader(batch(b"v" * 50), 0, NOW_MS)
        assert info.error is ErrorCode.NONE, info
    log.update_high_watermark(log.log_end_offset)


def stop(manager: LogManager, broker_epoch: int = -1) -> bool:
    """As a process does it: flushed elsewhere first, then closed."""
    flushed: list[bool] = []
    manager.begin_close(lambda: flushed.append(True))
    scheduler = manager.sliced._scheduler
    assert isinstance(scheduler, SimScheduler)
    scheduler.run_until(lambda: flushed == [True])
    return manager.close(broker_epoch)


def started(count: int = 4) -> Node:
    node = Node()
    manager = node.start()
    for partition in range(count):
        append(manager.get_or_create(("t", partition), TOPIC_ID), partition + 1)
    node.scheduler.run_for(0)  # the turn is over: new folders are made durable
    return node
