"""The quorum's log on a disk in memory."""

from __future__ import annotations

from typing import Any

from controller.raft.raft_log import RaftLog
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet
from ground.filesystem import Filesystem
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.records import Record
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment
from tests.batches import build_batch

FOLDER = "/d/__cluster_metadata-0"


def open_log(filesystem: Filesystem, **settings: Any) -> RaftLog:
    scheduler = SimScheduler()
    environment = LogEnvironment(
        filesystem, scheduler, SimBlocking(scheduler), LogDirFailureChannel()
    )
    values = {
        "cluster_id": "c",
        "directory_id": b"",
        "static_voters": VoterSet.of_ids(1),
        **settings,
    }
    log = RaftLog(ControllerSettings(node_id=1, metadata_log_dir="/d", **values), environment)
    log.scheduler = scheduler  # type: ignore[attr-defined]
    return log


def run(log: RaftLog) -> None:
    log.scheduler.run_for(100_000)  # type: ignore[attr-defined]


def add(log: RaftLog, epoch: int, count: int = 1, size: int = 1) -> None:
    records = [Record(-1, 0, None, b"x" * size) for _ in range(count)]
    log.append(build_batch(records, base_offset=log.end_offset, leader_epoch=epoch), epoch)


def new_filesystem() -> MemoryFilesystem:
    filesystem = MemoryFilesystem()
    filesystem.make_dirs("/d")
    filesystem.sync_dir("/")
    return filesystem
