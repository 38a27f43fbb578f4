"""The metadata quorum as its leader reports it, and the finalized features of the cluster.

Pure: turns answers to DescribeQuorum and ApiVersions into plain values. Follows KIP-595, KIP-836
(times in DescribeQuorum), KIP-853 (directories and endpoints of voters), KIP-584 (features).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from client.cluster_status import METADATA_TOPIC, VOTER_BEHIND_MS_MAX
from client.refusals import Refused, why
from controller.metadata.version import METADATA_VERSION, level_name
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    ReplicaState,
)
from protocol.primitives import ZERO_UUID, uuid_to_string


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """A voter or observer of the quorum, as its leader reports it. None is an unknown value.

    `end` is its log end offset, `lag` the records that it lacks. `behind_ms` and `fetched_ms` are
    the times since it last caught up and last fetched, by the leader's clock.
    """

    id: int
    directory: str | None
    leads: bool
    end: int | None
    lag: int | None
    behind_ms: int | None
    fetched_ms: int | None
    lagging: bool
    addresses: list[str]


@dataclass(frozen=True, slots=True)
class Quorum:
    """The state of the metadata quorum, as its leader reports it; `leader` is -1 in an election."""

    leader: int
    epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its finalized level, and the lowest and highest level that a broker supports.

    `called` is the name of the level, such as 4.0-IV3, if it has one.
    """

    name: str
    level: int
    called: str | None
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Features:
    """The features of the cluster by name, finalized at the metadata offset `epoch`."""

    epoch: int | None
    rows: list[Feature]


def question() -> DescribeQuorumRequest:
    """Return the DescribeQuorum request for the metadata log."""
    wanted = DescribeQuorumRequestTopicData(METADATA_TOPIC, [DescribeQuorumRequestPartitionData(0)])
    return DescribeQuorumRequest([wanted])


def quorum(answer: DescribeQuorumResponse) -> Quorum:
    """Return the quorum in an answer to DescribeQuorum. Raises Refused for an error code."""
    _check(answer.error_code, answer.error_message)
    partition = next((part for topic in answer.topics for part in topic.partitions), None)
    if partition is None:
        raise Refused("the cluster reports nothing about its metadata quorum")
    _check(partition.error_code, partition.error_message)
    addresses = {
        node.node_id: [f"{each.name}://{each.host}:{each.port}" for each in node.listeners]
        for node in answer.nodes
    }
    return Quorum(
        leader=partition.leader_id,
        epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        voters=_replicas(partition, partition.current_voters, addresses),
        observers=_replicas(partition, partition.observers, addresses),
    )


def _replicas(
    partition: DescribeQuorumResponsePartitionData,
    replicas: Sequence[ReplicaState],
    addresses: dict[int, list[str]],
) -> list[QuorumReplica]:
    """Return the replicas by id, with times relative to the leader's clock.

    The clock of this machine may differ, so the leader's own timestamp stands for the present.
    """
    leader = next(
        (voter for voter in partition.current_voters if voter.replica_id == partition.leader_id),
        None,
    )
    rows = []
    for replica in sorted(replicas, key=lambda replica: replica.replica_id):
        leads = replica.replica_id == partition.leader_id
        end = leader.log_end_offset if leader is not None else partition.high_watermark
        now_ms = leader.last_caught_up_timestamp if leader is not None else -1
        behind_ms = 0 if leads else _passed(now_ms, replica.last_caught_up_timestamp)
        rows.append(
            QuorumReplica(
                id=replica.replica_id,
                directory=_directory(replica.replica_directory_id),
                leads=leads,
                end=replica.log_end_offset if replica.log_end_offset >= 0 else None,
                lag=max(end - replica.log_end_offset, 0) if replica.log_end_offset >= 0 else None,
                behind_ms=behind_ms,
                fetched_ms=0 if leads else _passed(now_ms, replica.last_fetch_timestamp),
                lagging=not leads and (behind_ms is None or behind_ms > VOTER_BEHIND_MS_MAX),
                addresses=addresses.get(replica.replica_id, []),
            )
        )
    return rows


def _passed(now_ms: int, then_ms: int) -> int | None:
    """Return the ms between two timestamps; None if either is -1, that is, unknown.

    The leader has no timestamp of a replica that never fetched. Kafka before 3.3 has none at all.
    """
    return None if then_ms < 0 or now_ms < 0 else max(now_ms - then_ms, 0)


def _directory(number: bytes) -> str | None:
    return None if number in (b"", ZERO_UUID) else uuid_to_string(number)


def features(answer: ApiVersionsResponse) -> Features:
    """Return the finalized features and those that the answering broker supports, by name."""
    finalized = {feature.name: feature.max_version_level for feature in answer.finalized_features}
    supported = {
        feature.name: (feature.min_version, feature.max_version)
        for feature in answer.supported_features
    }
    rows = []
    for name in sorted({**finalized, **supported}):
        low, high = supported.get(name, (None, None))
        level = finalized.get(name, 0)
        rows.append(
            Feature(
                name=name,
                level=level,
                called=level_name(level) if name == METADATA_VERSION and level else None,
                least=low,
                most=high,
            )
        )
    epoch = answer.finalized_features_epoch
    return Features(epoch if epoch >= 0 else None, rows)


def _check(code: int, message: str | None) -> None:
    if code:
        raise Refused(why(code, message, "Describe on the cluster"))
