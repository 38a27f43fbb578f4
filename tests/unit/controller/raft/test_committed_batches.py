"""`controller.raft.committed_batches`: each batch once, in order, from memory and from the log."""

from __future__ import annotations

from typing import Any

from controller.metadata.loader import CommittedBatch
from controller.metadata.records import encode_record
from controller.raft.committed_batches import CommittedBatches
from controller.raft.raft_log import RaftLog
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.messages.metadata_records import ConfigRecord
from protocol.records import RecordBatchBuilder
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment


class Feed:
    """A log, and what is handed over of it."""

    def __init__(self, from_offset: int = 0) -> None:
        filesystem, scheduler = MemoryFilesystem(), SimScheduler()
        filesystem.make_dirs("/d")
        environment = LogEnvironment(
            filesystem, scheduler, SimBlocking(scheduler), LogDirFailureChannel()
        )
        settings = ControllerSettings(
            node_id=1,
            cluster_id="c",
            directory_id=b"",
            metadata_log_dir="/d",
            static_voters=VoterSet.of_ids(1),
        )
        self.log = RaftLog(settings, environment)
        self.got: list[CommittedBatch] = []
        self.batches = CommittedBatches(self.log, from_offset, self.got.append)

    def write(self, count: int, in_memory: bool = False) -> None:
        base = self.log.end_offset
        records: list[Any] = [ConfigRecord(4, "", "k", f"{base + n}") for n in range(count)]
        builder = RecordBatchBuilder(base_offset=base, leader_epoch=1)
        for record in records:
            builder.append(None, encode_record(record, 0), 5)
        self.log.append(builder.build(), 1)
        if in_memory:
            self.batches.appended(CommittedBatch(base, base + count - 1, 1, 5, records))

    @property
    def offsets(self) -> list[tuple[int, int]]:
        return [(batch.base_offset, batch.last_offset) for batch in self.got]


def test_from_the_log_and_from_memory_in_one_order() -> None:
    feed = Feed()
    feed.write(2)
    feed.write(1)
    feed.write(3, in_memory=True)
    feed.write(1, in_memory=True)
    feed.batches.deliver(2)
    assert feed.offsets == [(0, 1)]
    feed.batches.deliver(6)
    feed.batches.deliver(6)
    assert feed.offsets == [(0, 1), (2, 2), (3, 5)]
    feed.batches.deliver(7)
    assert [r.value for b in feed.got for r in b.records] == [str(n) for n in range(7)]


def test_what_was_cut_is_never_handed_over() -> None:
    feed = Feed()
    feed.write(2, in_memory=True)
    feed.write(2, in_memory=True)
    feed.log.truncate_to(2)
    feed.batches.truncated(2)
    feed.write(1)
    feed.batches.deliver(3)
    assert feed.offsets == [(0, 1), (2, 2)]


def test_it_goes_on_after_a_snapshot() -> None:
    feed = Feed()
    feed.write(4, in_memory=True)
    feed.batches.snapshot_loaded(4)
    feed.write(1)
    feed.batches.deliver(5)
    assert feed.offsets == [(4, 4)]


def test_it_begins_where_the_listener_is() -> None:
    feed = Feed(from_offset=2)
    feed.write(2)
    feed.write(2)
    feed.batches.deliver(4)
    assert feed.offsets == [(2, 3)]
