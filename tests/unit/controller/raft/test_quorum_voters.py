"""`controller.raft.quorum_voters`."""

from __future__ import annotations

import json

import pytest

from controller.metadata.control_records import control_batch
from controller.metadata.records import MetadataRecordError
from controller.metadata.snapshot import SnapshotId, decode_snapshot, encode_snapshot
from controller.raft.quorum_state import ElectionState
from controller.raft.quorum_voters import ControlRecords, QuorumVoters, control_records
from controller.voter_set import ReplicaKey, Voter, VoterEndpoint, VoterSet
from ground.memory_filesystem import MemoryFilesystem
from protocol.control_records import ControlRecordType
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.primitives import ZERO_UUID
from tests.unit.controller.controller_fixture import LOG_DIR, OneNode

OWN, OTHER = b"o" * 16, b"p" * 16


def voter(node_id: int = 1, directory_id: bytes = OWN) -> Voter:
    endpoints = (
        VoterEndpoint("OTHER", "nowhere", 1),
        VoterEndpoint("CONTROLLER", "host", 9090 + node_id),
    )
    return Voter(ReplicaKey(node_id, directory_id), endpoints, (0, 1))


def control(*voters: Voter, level: int = 1) -> ControlRecords:
    return control_records(level, VoterSet(voters))


def batch(base_offset: int, *voters: Voter) -> memoryview:
    return memoryview(control_batch(list(control(*voters)), base_offset, 2, 0))


def static() -> QuorumVoters:
    return QuorumVoters(VoterSet.static({1: ("one", 9091), 2: ("two", 9092)}, "CONTROLLER"))


def test_a_static_quorum_has_the_voters_of_the_configuration() -> None:
    voters = static()
    assert (voters.latest.ids, voters.kraft_version, voters.is_dynamic) == ((1, 2), 0, False)
    assert voters.latest.address(2, "CONTROLLER") == ("two", 9092)
    assert voters.latest.address(2, "OTHER") is voters.latest.address(3, "CONTROLLER") is None
    assert voters.directory_of(1) == ZERO_UUID
    assert ReplicaKey(1, OTHER) in voters.latest
    assert voters.at(100) == []
    assert json.loads(voters.encode_election(ElectionState(3, 1)))["data_version"] == 0


def test_a_dynamic_quorum_has_those_of_the_log() -> None:
    voters = static()
    voters.snapshot_loaded(0, control(voter(), voter(3, OTHER)))
    assert (voters.latest.ids, voters.kraft_version, voters.latest_offset) == ((1, 3), 1, -1)
    assert (voters.directory_of(3), voters.directory_of(2)) == (OTHER, ZERO_UUID)
    assert ReplicaKey(3, OTHER) in voters.latest
    assert ReplicaKey(3, OWN) not in voters.latest
    state = json.loads(voters.encode_election(ElectionState(3, None, 3, OTHER)))
    assert (state["data_version"], state["votedId"]) == (1, 3)
    assert state["votedDirectoryId"] == "cHBwcHBwcHBwcHBwcHBwcA"


def test_a_record_counts_until_the_log_is_truncated_before_it() -> None:
    voters = QuorumVoters(VoterSet())
    voters.snapshot_loaded(0, control(voter()))
    voters.log_read([batch(7, voter(), voter(2)), batch(20, voter(2))])
    assert voters.latest.ids == (2,)
    assert [len(voters.at(end)) for end in (0, 7, 8, 9, 21, 22)] == [2, 2, 2, 2, 2, 2]
    sets = [VoterSet.of_record(voters.at(end)[1][1]).ids for end in (0, 8, 9, 21, 22)]
    assert sets == [(1,), (1,), (1, 2), (1, 2), (2,)]
    voters.truncated(21)
    assert (voters.latest.ids, voters.latest_offset) == ((1, 2), 8)
    voters.truncated(8)
    assert (voters.latest.ids, voters.latest_offset) == ((1,), -1)
    assert voters.kraft_version == 1


def test_what_a_snapshot_replaced_is_forgotten() -> None:
    voters = QuorumVoters(VoterSet())
    voters.snapshot_loaded(0, control(voter()))
    voters.log_read([batch(7, voter(), voter(2)), batch(20, voter(2))])
    voters.snapshot_taken(15)
    assert VoterSet.of_record(voters.at(15)[1][1]).ids == (1, 2)
    voters.truncated(15)
    assert voters.latest.ids == (1, 2)


def test_a_snapshot_of_the_leader_replaces_all() -> None:
    voters = static()
    voters.log_read([batch(7, voter(), voter(2))])
    voters.snapshot_loaded(100, control(voter(3)))
    assert (voters.latest.ids, voters.latest_offset) == ((3,), 99)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(MetadataRecordError, match="kraft.version 2; this release knows"):
        QuorumVoters(VoterSet()).snapshot_loaded(0, control(voter(), level=2))


def test_sets() -> None:
    one, two = voter(), voter(2)
    both = VoterSet((two, one))
    assert both == VoterSet.of_record(both.record()) == VoterSet((one,)).with_voter(two)
    assert both.without(two.key) == VoterSet((one,)) != both
    assert both.without(ReplicaKey(2, OTHER)) == both
    assert both.with_voter(voter(2, OTHER)).get(2) == voter(2, OTHER)
    assert VoterSet((one,)).is_only(one.key) and not both.is_only(one.key)
    assert str(both) == "1-b29vb29vb29vb29vb29vbw, 2-b29vb29vb29vb29vb29vbw"
    assert str(VoterSet.of_ids(4)) == "4"
    assert (one.supports(1), one.supports(2)) == (True, False)


# --- a whole node --------------------------------------------------------------------------------


def formatted_as_kafka_does(filesystem: MemoryFilesystem, directory_id: bytes) -> None:
    """What `kafka-storage format --standalone` adds to a folder."""
    folder = f"{LOG_DIR}/__cluster_metadata-0"
    filesystem.make_dirs(folder)
    data = encode_snapshot([], 30, 0, 0, 0, control(voter(1, directory_id)))
    filesystem.replace_atomically(f"{folder}/{SnapshotId(0, 0).file_name}", data)


def test_a_folder_with_a_dynamic_quorum_of_one() -> None:
    filesystem = MemoryFilesystem()
    formatted = OneNode(filesystem)
    directory_id = formatted.log_dirs[0]
    formatted.stop()
    folder = f"{LOG_DIR}/__cluster_metadata-0"
    for name in filesystem.list_dir(folder):
        filesystem.remove(f"{folder}/{name}")
    formatted_as_kafka_does(filesystem, directory_id)

    node = OneNode(filesystem, metadata_log_max_record_bytes_between_snapshots=3_000).start()
    assert node.node.kraft_version == 1
    node.register()
    for number in range(30):
        request = CreateTopicsRequest([CreatableTopic(f"topic-{number}", 3, 1)])
        assert node.call(request, 7).topics[0].error_code == 0
    node.stop()

    state = json.loads(filesystem.read(f"{folder}/quorum-state"))
    assert (state["data_version"], state["leaderId"]) == (1, 1)
    snapshots = sorted(name for name in filesystem.list_dir(folder) if ".checkpoint" in name)
    assert len(snapshots) >= 2
    for name in snapshots:
        content = decode_snapshot(filesystem.read(f"{folder}/{name}"))
        assert [kind for kind, _ in content.control] == [
            ControlRecordType.KRAFT_VERSION,
            ControlRecordType.KRAFT_VOTERS,
        ]
        assert content.control[1][1].voters[0].voter_directory_id == directory_id
    again = OneNode(filesystem, seed=2).start()
    assert again.node.kraft_version == 1
    assert len(again.node.image.topics.by_name) == 30
    again.stop()


def test_a_node_with_another_disk_says_that_it_is_no_voter(
    caplog: pytest.LogCaptureFixture,
) -> None:
    filesystem = MemoryFilesystem()
    OneNode(filesystem).stop()
    formatted_as_kafka_does(filesystem, OTHER)
    node = OneNode(filesystem, seed=2)
    node.node.start()
    node.scheduler.run_for(60_000)
    assert not node.node.raft.is_leader
    node.stop()
    assert "voter 1 has the directory id cHBwcHBwcHBwcHBwcHBwcA" in caplog.text
