"""What a leader of the quorum answers: requests with their answers as Apache Kafka gave them.

`python -m tests.golden.raft_cases` records `raft_answers_kafka.json` anew from a real broker
with one static voter, number 1, in its first epoch; `tests/unit/controller/raft/test_raft_apis.py`
gives the same requests to Ottla's and compares. None of them changes the quorum, but for the last.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from protocol.message import as_dict
from protocol.messages import begin_quorum_epoch as begin
from protocol.messages import describe_quorum as describe
from protocol.messages import end_quorum_epoch as end
from protocol.messages import fetch as fetching
from protocol.messages import fetch_snapshot as snapshots
from protocol.messages import vote as voting
from tests.kept_json import write_json

RECORDED = Path(__file__).parent / "raft_answers_kafka.json"
CLUSTER_ID = "raft-golden-cluster-id"
EPOCH = 1
LEADER = 1
FAR = 1_000_000
TOPIC = "__cluster_metadata"
TOPIC_ID = bytes(15) + b"\x01"
OWN_DIRECTORY = bytes(range(16))

Case = tuple[str, Any, int]


def _vote(
    cluster: str | None = CLUSTER_ID, voter: int = 1, topic: str = TOPIC, **fields: Any
) -> Any:
    values = {"replica_epoch": EPOCH, "replica_id": 2, "last_offset_epoch": 0, **fields}
    partition = voting.VoteRequestPartitionData(**values)
    return voting.VoteRequest(cluster, voter, [voting.VoteRequestTopicData(topic, [partition])])


def _begin(cluster: str | None = CLUSTER_ID, voter: int = 1, topic: str = TOPIC, **f: Any) -> Any:
    partition = begin.BeginQuorumEpochRequestPartitionData(**{"leader_id": 2, **f})
    topics = [begin.BeginQuorumEpochRequestTopicData(topic, [partition])]
    return begin.BeginQuorumEpochRequest(cluster, voter, topics)


def _end(cluster: str | None = CLUSTER_ID, topic: str = TOPIC, **fields: Any) -> Any:
    partition = end.EndQuorumEpochRequestPartitionData(**{"leader_id": 2, **fields})
    topics = [end.EndQuorumEpochRequestTopicData(topic, [partition])]
    return end.EndQuorumEpochRequest(cluster, topics)


def _fetch(
    replica: int = 9,
    cluster: str | None = CLUSTER_ID,
    topic_id: bytes = TOPIC_ID,
    max_wait_ms: int = 0,
    **fields: Any,
) -> Any:
    values = {
        "current_leader_epoch": EPOCH,
        "fetch_offset": 0,
        "last_fetched_epoch": 0,
        "partition_max_bytes": 1 << 20,
        **fields,
    }
    topic = fetching.FetchTopic(TOPIC, topic_id, [fetching.FetchPartition(**values)])
    return fetching.FetchRequest(
        cluster_id=cluster,
        replica_id=replica,
        replica_state=fetching.ReplicaState(replica),
        max_wait_ms=max_wait_ms,
        max_bytes=1 << 20,
        topics=[topic],
    )


def _snapshot(cluster: str | None = CLUSTER_ID, topic: str = TOPIC, **fields: Any) -> Any:
    snapshot_id = snapshots.FetchSnapshotRequestSnapshotId(FAR, EPOCH)
    values = {"current_leader_epoch": EPOCH, "snapshot_id": snapshot_id, "position": 0, **fields}
    partition = snapshots.FetchSnapshotRequestPartitionSnapshot(**values)
    topics = [snapshots.FetchSnapshotRequestTopicSnapshot(topic, [partition])]
    return snapshots.FetchSnapshotRequest(cluster, 9, 1_000, topics)


def _describe(topic: str = TOPIC) -> Any:
    partition = describe.DescribeQuorumRequestPartitionData(0)
    return describe.DescribeQuorumRequest(
        [describe.DescribeQuorumRequestTopicData(topic, [partition])]
    )


def cases() -> list[Case]:
    """(name, request, version), in the order in which they are sent."""
    return [
        *[(f"fetch from the start, v{v}", _fetch(), v) for v in range(13, 19)],
        *[(f"describe v{v}", _describe(), v) for v in range(3)],
        *[(f"vote for another in this epoch, v{v}", _vote(), v) for v in range(3)],
        ("pre-vote while there is a leader", _vote(pre_vote=True, last_offset_epoch=1), 2),
        ("vote of an earlier epoch", _vote(replica_epoch=0, last_offset_epoch=-1), 2),
        ("vote of an earlier epoch, no log", _vote(replica_epoch=0, pre_vote=True), 2),
        ("vote, no cluster id", _vote(None), 2),
        ("vote, another cluster", _vote("another-cluster-id----"), 2),
        ("vote, another topic", _vote(topic="foo"), 2),
        ("vote, another partition", _vote(partition_index=1), 2),
        ("vote meant for another", _vote(voter=7), 2),
        ("vote meant for another directory", _vote(voter_directory_id=OWN_DIRECTORY), 2),
        ("vote without a voter", _vote(voter=-1), 2),
        ("vote, the log's epoch is not earlier", _vote(last_offset_epoch=1), 2),
        ("pre-vote, the log's epoch is later", _vote(pre_vote=True, last_offset_epoch=2), 2),
        ("vote, negative offset", _vote(last_offset=-1), 2),
        ("vote for nobody", _vote(replica_id=-1), 2),
        *[(f"begin an earlier epoch, v{v}", _begin(leader_epoch=0), v) for v in range(2)],
        ("begin, another cluster", _begin("another-cluster-id----", leader_epoch=1), 1),
        ("begin, another topic", _begin(topic="foo", leader_epoch=1), 1),
        ("begin led by nobody", _begin(leader_id=-1, leader_epoch=1), 1),
        *[(f"end an earlier epoch, v{v}", _end(leader_epoch=0), v) for v in range(2)],
        ("end, another cluster", _end("another-cluster-id----", leader_epoch=1), 1),
        ("end, another topic", _end(topic="foo", leader_epoch=1), 1),
        ("end led by nobody", _end(leader_id=-1, leader_epoch=1), 1),
        ("fetch, another cluster", _fetch(cluster="another-cluster-id----"), 18),
        ("fetch, no cluster id", _fetch(cluster=None), 18),
        ("fetch, another topic", _fetch(topic_id=OWN_DIRECTORY), 18),
        ("fetch, another partition", _fetch(partition=1), 18),
        ("fetch in an earlier epoch", _fetch(current_leader_epoch=0), 18),
        ("fetch in a later epoch", _fetch(current_leader_epoch=2), 18),
        ("fetch without an epoch", _fetch(current_leader_epoch=-1), 18),
        ("fetch in an epoch below none", _fetch(current_leader_epoch=-2), 18),
        ("fetch after an unknown epoch", _fetch(last_fetched_epoch=-1), 18),
        ("fetch after a later epoch", _fetch(last_fetched_epoch=2), 18),
        ("fetch from a negative offset", _fetch(fetch_offset=-1), 18),
        ("fetch, negative wait", _fetch(max_wait_ms=-1), 18),
        ("fetch beyond the end", _fetch(fetch_offset=FAR, last_fetched_epoch=1), 18),
        ("fetch of what another epoch wrote", _fetch(fetch_offset=1, last_fetched_epoch=0), 18),
        ("fetch of a consumer", _fetch(replica=-1), 18),
        *[(f"snapshot that is not there, v{v}", _snapshot(), v) for v in range(2)],
        ("snapshot, another cluster", _snapshot("another-cluster-id----"), 1),
        ("snapshot, another topic", _snapshot(topic="foo"), 1),
        ("snapshot in an earlier epoch", _snapshot(current_leader_epoch=0), 1),
        ("snapshot in a later epoch", _snapshot(current_leader_epoch=2), 1),
        ("snapshot without an epoch", _snapshot(current_leader_epoch=-1), 1),
        ("snapshot in an epoch below none", _snapshot(current_leader_epoch=-2), 1),
        ("describe, another topic", _describe("foo"), 2),
        ("vote of a later epoch, a shorter log", _vote(replica_epoch=9), 2),
    ]


def comparable(response: Any) -> Any:
    """The answer without what differs from run to run: ports, times, how long the log is."""
    return _plain(as_dict(response))


def _plain(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _plain(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part, name) for part in value]
    if name in ("port", "last_fetch_timestamp", "last_caught_up_timestamp"):
        return value if value == -1 else name
    if name in ("high_watermark", "log_end_offset", "end_offset") and value > 1:
        return name
    if name in ("host", "replica_directory_id"):
        return name
    if name == "records":
        return "some" if value else "none"
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return value


def record() -> None:
    """Ask a real Apache Kafka, and write its answers down."""
    from tests.clients.wire_client import WireClient
    from tests.tools.apache_kafka import ApacheKafka
    from tests.tools.java_tools import FAST_START

    answers: dict[str, Any] = {}
    kafka = ApacheKafka(
        static_voters=True, cluster_id=CLUSTER_ID, jvm_options=FAST_START, heap="512m"
    )
    with kafka:
        client = WireClient(kafka.controller_port)
        for name, request, version in cases():
            answers[name] = comparable(client.call(request, version))
    write_json(RECORDED, answers)


if __name__ == "__main__":
    record()
