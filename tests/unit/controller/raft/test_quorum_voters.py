"""`controller.raft.quorum_voters`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller.metadata.control_records import control_batch
from controller.metadata.records import MetadataRecordError
from controller.metadata.snapshot import SnapshotId, decode_snapshot, encode_snapshot
from controller.raft.quorum_state import ElectionState
from controller.raft.quorum_voters import QuorumVoters
from controller.settings import ControllerSettings
from ground.memory_filesystem import MemoryFilesystem
from protocol.control_records import ControlRecordType
from protocol.messages.consumer_protocol import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    VotersRecord,
    VotersRecordVoter,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.primitives import ZERO_UUID
from tests.unit.controller.controller_fixture import LOG_DIR, OneNode

OWN, OTHER = b"o" * 16, b"p" * 16


def settings(**values: Any) -> ControllerSettings:
    return ControllerSettings(
        **{
            "node_id": 1,
            "cluster_id": "c",
            "directory_id": OWN,
            "metadata_log_dir": "/d",
            "voters": (1,),
            **values,
        }
    )


def voter(node_id: int = 1, directory_id: bytes = OWN) -> VotersRecordVoter:
    endpoints = [Endpoint("OTHER", "nowhere", 1), Endpoint("CONTROLLER", "host", 9090 + node_id)]
    return VotersRecordVoter(node_id, directory_id, endpoints, KRaftVersionFeature(0, 1))


def control(*voters: VotersRecordVoter, level: int = 1) -> list[tuple[ControlRecordType, Any]]:
    return [
        (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(0, level)),
        (ControlRecordType.KRAFT_VOTERS, VotersRecord(0, list(voters))),
    ]


def batch(*voters: VotersRecordVoter) -> memoryview:
    return memoryview(control_batch(control(*voters), 7, 2, 0))


def test_a_static_quorum_has_the_voters_of_the_configuration() -> None:
    voters = QuorumVoters(settings(voters=(1, 2)))
    voters.read([], [])
    assert (voters.ids, voters.kraft_version) == ((1, 2), 0)
    assert voters.directory_of(1) == ZERO_UUID
    assert not voters.is_stranger(1, OTHER)
    assert voters.control_records() == []
    assert json.loads(voters.encode_election(ElectionState(3, 1)))["data_version"] == 0


def test_a_dynamic_quorum_has_those_of_the_log() -> None:
    voters = QuorumVoters(settings(voters=(1, 2)))
    voters.read(control(voter(), voter(2, OTHER)), [])
    assert (sorted(voters.ids), voters.kraft_version) == ([1, 2], 1)
    assert (voters.directory_of(2), voters.directory_of(3)) == (OTHER, ZERO_UUID)
    assert voters.is_stranger(2, OWN)
    assert not voters.is_stranger(2, OTHER)
    state = json.loads(voters.encode_election(ElectionState(3, None, 2)))
    assert (state["data_version"], state["votedId"]) == (1, 2)
    assert state["votedDirectoryId"] == "cHBwcHBwcHBwcHBwcHBwcA"


def test_the_last_record_counts() -> None:
    voters = QuorumVoters(settings())
    voters.read(control(voter(1, OTHER)), [batch(voter(), voter(2)), batch(voter())])
    assert voters.ids == (1,)
    assert voters.control_records()[1][1].voters[0].voter_directory_id == OWN


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (control(voter(), voter(2, OTHER)), "set controller.quorum.voters=1@host:9091,2@host:9092"),
        (control(voter(3, OTHER)), "set controller.quorum.voters=3@host:9093"),
        (control(voter(1, OTHER)), "names voter 1 with the directory id cHBwcHBwcHBwcHBwcHBwcA"),
        (control(voter(), level=2), "kraft.version 2"),
    ],
)
def test_what_this_node_cannot_run_with(
    found: list[tuple[ControlRecordType, Any]], text: str
) -> None:
    with pytest.raises(MetadataRecordError) as refused:
        QuorumVoters(settings()).read(found, [])
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_change_of_voters_while_it_runs_stops_the_node() -> None:
    voters = QuorumVoters(settings())
    voters.read_appended(batch(voter()))
    assert voters.kraft_version == 1
    with pytest.raises(MetadataRecordError):
        voters.read_appended(batch(voter(), voter(2, OTHER)))


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
    assert len(snapshots) == 2
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


def test_another_nodes_folder_is_refused() -> None:
    filesystem = MemoryFilesystem()
    OneNode(filesystem).stop()
    formatted_as_kafka_does(filesystem, OTHER)
    with pytest.raises(MetadataRecordError, match="use the folder that this voter was formatted"):
        OneNode(filesystem, seed=2)
