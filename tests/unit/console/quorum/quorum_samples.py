"""A metadata log in a folder, and an answer of DescribeQuorum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from console.quorum.metadata_folder import (
    FOLDER,
)
from controller.metadata.control_records import control_batch, leader_change
from controller.metadata.records import encode_record
from protocol.control_records import ControlRecordType
from protocol.messages.describe_quorum import (
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.records import RecordBatchBuilder

NOW = 1_000_000


def leader_batch(offset: int, epoch: int, leader: int) -> bytes:
    message = leader_change(leader, (1, 2, 3), (1, 2))
    return bytes(control_batch([(ControlRecordType.LEADER_CHANGE, message)], offset, epoch, NOW))


def batch(offset: int, *records: Any, epoch: int = 1) -> bytes:
    builder = RecordBatchBuilder(base_offset=offset, leader_epoch=epoch)
    for one in records:
        builder.append(None, bytes(encode_record(one, 0)), NOW)
    return bytes(builder.build())


def log_in(folder: Path, *batches: bytes, base: int = 0, cluster: str = "C") -> Path:
    partition = folder / FOLDER
    partition.mkdir(parents=True, exist_ok=True)
    (folder / "meta.properties").write_text(f"#\ncluster.id={cluster}\nnode.id=1\n")
    (partition / f"{base:020d}.log").write_bytes(b"".join(batches))
    return partition


def fetched(*batches: bytes, high_watermark: int = 99, **fields: Any) -> FetchResponse:
    """An answer of the leader."""
    records = memoryview(b"".join(batches)) if batches else None
    data = PartitionData(0, 0, high_watermark, records=records)
    for name, value in fields.items():
        setattr(data, name, value)
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[data])])


def state(number: int, end: int, fetched: int, caught_up: int) -> ReplicaState:
    return ReplicaState(number, bytes([number]) * 16, end, fetched, caught_up)


def answer(leader: int = 1, **fields: Any) -> DescribeQuorumResponse:
    partition = DescribeQuorumResponsePartitionData(
        leader_id=leader,
        leader_epoch=7,
        high_watermark=99,
        current_voters=[
            state(3, -1, -1, -1),
            state(1, 100, NOW, NOW),
            state(2, 60, NOW - 10, NOW - 9_000),
        ],
        observers=[state(9, 100, NOW - 20, NOW - 30)],
        **fields,
    )
    topics = [DescribeQuorumResponseTopicData("__cluster_metadata", [partition])]
    return DescribeQuorumResponse(
        topics=topics, nodes=[Node(2, [Listener("CONTROLLER", "two", 9093)])]
    )
