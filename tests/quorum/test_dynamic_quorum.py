"""A quorum of three whose voters are in the log (kraft.version 1, KIP-853), as
`kafka-storage format --initial-controllers` begins one: with a snapshot of two control records."""

from __future__ import annotations

import json

from controller.metadata.snapshot import SnapshotId, encode_snapshot
from controller.raft.raft_messages import BeginQuorumEpoch, EndQuorumEpoch, Vote
from controller.raft.raft_requests import RaftRequests
from protocol.control_records import ControlRecordType
from protocol.messages.consumer_protocol import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    VotersRecord,
    VotersRecordVoter,
)
from tests.golden import raft_cases
from tests.quorum.quorum_world import CLUSTER_ID, Context, QuorumNode, QuorumWorld

FOLDER = "/d/__cluster_metadata-0"


def directory_of(node_id: int) -> bytes:
    return node_id.to_bytes(16, "big")


def format_as_kafka_does(node: QuorumNode, *voters: int) -> None:
    named = [
        VotersRecordVoter(
            voter,
            directory_of(voter),
            [Endpoint("CONTROLLER", "host", voter)],
            KRaftVersionFeature(0, 1),
        )
        for voter in voters
    ]
    control = [
        (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(0, 1)),
        (ControlRecordType.KRAFT_VOTERS, VotersRecord(0, named)),
    ]
    node.filesystem.make_dirs(FOLDER)
    data = encode_snapshot([], 30, 0, 0, 0, control)
    node.filesystem.replace_atomically(f"{FOLDER}/{SnapshotId(0, 0).file_name}", data)


def dynamic_world(seed: str) -> QuorumWorld:
    world = QuorumWorld(seed, 3, 1, snapshot_bytes=3_000)
    for node in world.nodes.values():
        if node.is_voter:
            format_as_kafka_does(node, 1, 2, 3)
    return world.start()


def test_it_elects_commits_fails_over_and_keeps_its_voters_in_every_snapshot() -> None:
    world = dynamic_world("a dynamic quorum")
    for _ in range(3):
        leader = world.wait_for_leader()
        for _ in range(40):
            world.propose()
            world.world.run_for(50)
        leader.stop()
        world.wait_for_leader(beside=leader.id)
        leader.start()
    world.wait_until_equal()
    for node in world.nodes.values():
        assert node.failures == []
        assert node.log.snapshots and node.log.snapshots[0] != SnapshotId(0, 0)
        state = json.loads(node.filesystem.read(f"{FOLDER}/quorum-state"))
        if node.is_voter:
            assert (node.log.voters.kraft_version, state["data_version"]) == (1, 1)
            assert node.log.voters.directory_of(2) == directory_of(2)


def test_a_voter_with_another_disk_does_not_count() -> None:
    """Its id is a voter's, its log is not: what it fetches proves nothing of what is committed."""
    world = dynamic_world("another disk")
    leader = world.wait_for_leader()
    other = next(one for one in (1, 2, 3) if one != leader.id)
    for one in (1, 2, 3):
        if one not in (leader.id, other):
            world.nodes[one].stop()
    world.nodes[other].stop()
    before = leader.raft.high_watermark
    world.propose()

    def fetch(directory_id: bytes) -> None:
        request = raft_cases._fetch(
            other,
            CLUSTER_ID,
            current_leader_epoch=leader.raft.epoch,
            fetch_offset=leader.raft.end_offset,
            last_fetched_epoch=leader.raft.epoch,
            replica_directory_id=directory_id,
        )
        leader.apis.handle(Context(18), request, lambda _answer: None)
        world.world.run_for(10)

    world.world.run_for(10)
    fetch(b"another disk" + bytes(4))
    assert leader.raft.high_watermark == before
    fetch(directory_of(other))
    assert leader.raft.high_watermark != before


def test_requests_name_the_directories_of_voters() -> None:
    node = dynamic_world("requests").nodes[1]
    requests = RaftRequests(node.settings(), node.log.voters)
    candidate = node.settings().replica_key
    vote = requests.request(2, Vote(1, candidate, 0, 0, False), None).topics[0].partitions[0]
    assert vote.voter_directory_id == directory_of(2)
    assert vote.replica_directory_id == directory_of(1)
    begun = requests.request(3, BeginQuorumEpoch(1, 1), None).topics[0].partitions[0]
    assert begun.voter_directory_id == directory_of(3)
    ended = requests.request(2, EndQuorumEpoch(1, 1, (3, 2)), None).topics[0].partitions[0]
    assert [one.candidate_directory_id for one in ended.preferred_candidates] == [
        directory_of(3),
        directory_of(2),
    ]
