"""`raft_client`: the order of effects, group commit, delivery from memory and disk."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from typing import Any

import pytest

from controller.metadata.image import MetadataImage
from controller.metadata.loader import CommittedBatch
from controller.raft import raft_messages as m
from controller.raft.raft_client import NotLeader, RaftClient
from controller.raft.raft_log import RaftLog
from controller.settings import ControllerSettings
from controller.voter_set import ReplicaKey, VoterSet
from ground.memory_filesystem import MemoryFilesystem
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.messages.metadata_records import ConfigRecord, NoOpRecord
from storage.log.log_dir_failure import LogDirFailureChannel
from storage.log.log_environment import LogEnvironment


class Network:
    """Notes what is sent, and what was on disk at that moment."""

    def __init__(self, filesystem: MemoryFilesystem) -> None:
        self.filesystem = filesystem
        self.sent: list[tuple[m.Message, bytes]] = []

    def send(self, message: m.Send) -> None:
        self.note(message.message)

    def when_resignation_acknowledged(self, done: Callable[[], None]) -> None:
        done()

    def close(self) -> None:
        pass

    def note(self, message: m.Message) -> None:
        path = "/d/__cluster_metadata-0/quorum-state"
        state = self.filesystem.read(path) if self.filesystem.exists(path) else b""
        self.sent.append((message, state))


class Member:
    """One member of a quorum, with its listener."""

    def __init__(
        self, *voters: int, filesystem: MemoryFilesystem | None = None, delay_ms: float = 0
    ) -> None:
        self.filesystem = filesystem or MemoryFilesystem()
        self.filesystem.make_dirs("/d")
        self.scheduler = SimScheduler(3)
        self.blocking = SimBlocking(self.scheduler, delay_ms)
        environment = LogEnvironment(
            self.filesystem, self.scheduler, self.blocking, LogDirFailureChannel()
        )
        settings = ControllerSettings(
            node_id=1,
            cluster_id="c",
            directory_id=b"",
            metadata_log_dir="/d",
            static_voters=VoterSet.of_ids(*voters),
        )
        self.network = Network(self.filesystem)
        self.failures: list[Exception] = []
        self.client = RaftClient(
            settings,
            RaftLog(settings, environment),
            self.scheduler,
            random.Random(1).randrange,
            self.failures.append,
            self.network,
        )
        self.batches: list[CommittedBatch] = []
        self.images: list[MetadataImage] = []
        self.leaders: list[tuple[int | None, int]] = []

    def start(self) -> Member:
        self.client.start(self, 0)
        return self

    def handle_commit(self, batch: CommittedBatch) -> None:
        self.batches.append(batch)

    def handle_load_snapshot(self, image: MetadataImage) -> None:
        self.images.append(image)

    def handle_leader_change(self, leader_id: int | None, epoch: int) -> None:
        self.leaders.append((leader_id, epoch))

    def append(self, *records: Any) -> int:
        return self.client.append(self.client.epoch, records, 30)

    def settle(self) -> None:
        self.scheduler.run_for(1_000)


def config(value: str) -> ConfigRecord:
    return ConfigRecord(4, "", "key", value)


def test_told_of_its_leadership_when_it_is_proved() -> None:
    member = Member(1).start()
    assert member.leaders == []
    member.settle()
    assert member.leaders == [(1, 1)]
    assert [(b.base_offset, b.records) for b in member.batches] == [(0, ())]


def test_who_can_lead() -> None:
    member = Member(1, 2, 3).start()
    begin = m.BeginQuorumEpoch(5, 2)
    member.client.receive(m.Received(2, begin, lambda _: None))
    said = [(2, 5), (3, 5), (3, 4), (3, 6), (9, 6)]
    assert [member.client.can_lead(*one) for one in said] == [True, False, True, True, False]


def test_batches_are_delivered_once_and_in_order() -> None:
    member = Member(1).start()
    member.settle()
    assert member.append(config("a"), config("b")) == 2
    assert member.append(config("c")) == 3
    assert len(member.batches) == 1
    member.settle()
    assert [(b.base_offset, b.last_offset) for b in member.batches] == [(0, 0), (1, 2), (3, 3)]
    assert [r.value for b in member.batches for r in b.records] == ["a", "b", "c"]
    assert member.client.high_watermark == member.client.end_offset == 4


def test_one_fsync_for_what_came_while_another_ran() -> None:
    member = Member(1, delay_ms=10).start()
    member.settle()
    del member.filesystem.calls[:]
    for number in range(50):
        member.append(config(str(number)))
    member.settle()
    syncs = [call for call in member.filesystem.calls if call[0] == "sync"]
    logs = [path for _, path in syncs if path.endswith(".log")]
    assert len(logs) == 2
    assert len(member.batches) == 51


def test_after_a_restart_the_log_is_delivered_from_disk() -> None:
    member = Member(1).start()
    member.settle()
    member.append(config("a"))
    member.settle()
    member.client.close()
    again = Member(1, filesystem=member.filesystem).start()
    again.settle()
    assert [(b.base_offset, b.epoch, len(b.records)) for b in again.batches] == [
        (0, 1, 0),
        (1, 1, 1),
        (2, 2, 0),
    ]
    assert again.batches[1].records == [config("a")]
    assert again.leaders == [(1, 2)]


def test_who_does_not_lead_appends_nothing() -> None:
    member = Member(1).start()
    member.settle()
    with pytest.raises(NotLeader):
        member.client.append(7, [NoOpRecord()], 30)
    member.client.resign(1)
    with pytest.raises(NotLeader):
        member.append(NoOpRecord())
    assert member.leaders[-1] == (None, 1)


def test_a_vote_is_on_disk_before_it_is_sent() -> None:
    member = Member(1, 2, 3, delay_ms=5).start()
    member.client.receive(
        m.Received(2, m.Vote(4, ReplicaKey(2, b""), 0, 0, False), member.network.note)
    )
    assert member.network.sent == []
    member.scheduler.run_for(10)
    (message, state), *_ = member.network.sent
    assert message == m.VoteReply(4, None, True, False)
    assert b'"leaderEpoch":4,"votedId":2' in state


def test_a_follower_copies_and_delivers() -> None:
    leader = Member(1).start()
    leader.settle()
    leader.append(config("a"))
    leader.settle()
    data = leader.filesystem.read("/d/__cluster_metadata-0/00000000000000000000.log")
    member = Member(1, 2, 3).start()
    member.client.receive(m.Received(2, m.BeginQuorumEpoch(1, 2), member.network.note))
    member.scheduler.run_for(0)
    batches = (m.AppendedBatch(1, 0, 1), m.AppendedBatch(1, 1, 2))
    reply = m.FetchReply(1, 2, 1, (0, 0), 0, batches=batches, records=data)
    member.client.receive(m.Received(2, reply))
    member.scheduler.run_for(0)
    assert [b.base_offset for b in member.batches] == [0]
    fetches = [s for s, _ in member.network.sent if isinstance(s, m.Fetch)]
    assert fetches[-1] == m.Fetch(1, ReplicaKey(1, b""), 2, 1)
    member.client.receive(m.Received(2, m.FetchReply(1, 2, 2, (2, 1), 2)))
    assert member.batches[1].records == [config("a")]
    assert member.leaders == [(2, 1)]


def test_a_failed_vote_ends_it() -> None:
    member = Member(1)
    member.filesystem.inject("replace")
    member.start()
    member.settle()
    assert len(member.failures) == 1
    assert not member.client.is_leader
    assert member.leaders == []


def test_closed_means_silent() -> None:
    member = Member(1, 2, 3).start()
    member.client.close()
    member.scheduler.run_for(60_000)
    assert member.network.sent == []


@pytest.mark.parametrize(("operation", "path_part"), [("sync", ".log"), ("replace", "quorum")])
def test_a_lack_of_descriptors_is_waited_out(operation: str, path_part: str) -> None:
    member = Member(1)
    member.filesystem.inject(operation, errno.EMFILE, path_part=path_part, count=3)
    member.start().settle()
    member.append(config("a"))
    member.settle()
    assert not member.failures
    assert [one.value for batch in member.batches for one in batch.records] == ["a"]
    assert not member.filesystem.faults_left
