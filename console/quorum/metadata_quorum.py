"""The metadata quorum as its leader tells it, and the features that the cluster has agreed on.

Pure: the answers to DescribeQuorum and ApiVersions in, plain values out. Follows KIP-595, KIP-836
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
    """A voter or observer, as the leader's clock has it; None: not known."""

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
    """The quorum, as its leader tells it."""

    leader: int
    epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its level, and the least and most that the asked broker can do."""

    name: str
    level: int
    called: str | None
    least: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class Features:
    """What the cluster has agreed on."""

    epoch: int | None
    rows: list[Feature]


def question() -> DescribeQuorumRequest:
    """What is asked."""
    wanted = DescribeQuorumRequestTopicData(METADATA_TOPIC, [DescribeQuorumRequestPartitionData(0)])
    return DescribeQuorumRequest([wanted])


def quorum(answer: DescribeQuorumResponse) -> Quorum:
    """Leader, epoch, high watermark, voters and observers. Raises Refused."""
    _check(answer.error_code, answer.error_message)
    found = next((one for topic in answer.topics for one in topic.partitions), None)
    if found is None:
        raise Refused("the cluster reports nothing about its metadata quorum")
    _check(found.error_code, found.error_message)
    addresses = {
        one.node_id: [f"{each.name}://{each.host}:{each.port}" for each in one.listeners]
        for one in answer.nodes
    }
    return Quorum(
        leader=found.leader_id,
        epoch=found.leader_epoch,
        high_watermark=found.high_watermark,
        voters=_replicas(found, found.current_voters, addresses),
        observers=_replicas(found, found.observers, addresses),
    )


def _replicas(
    found: DescribeQuorumResponsePartitionData,
    replicas: Sequence[ReplicaState],
    addresses: dict[int, list[str]],
) -> list[QuorumReplica]:
    """Times are of the leader's clock: this machine's may differ."""
    leader = next((one for one in found.current_voters if one.replica_id == found.leader_id), None)
    rows = []
    for one in sorted(replicas, key=lambda one: one.replica_id):
        leads = one.replica_id == found.leader_id
        end = leader.log_end_offset if leader is not None else found.high_watermark
        now_ms = leader.last_caught_up_timestamp if leader is not None else -1
        behind_ms = 0 if leads else _passed(now_ms, one.last_caught_up_timestamp)
        rows.append(
            QuorumReplica(
                id=one.replica_id,
                directory=_directory(one.replica_directory_id),
                leads=leads,
                end=one.log_end_offset if one.log_end_offset >= 0 else None,
                lag=max(end - one.log_end_offset, 0) if one.log_end_offset >= 0 else None,
                behind_ms=behind_ms,
                fetched_ms=0 if leads else _passed(now_ms, one.last_fetch_timestamp),
                lagging=not leads and (behind_ms is None or behind_ms > VOTER_BEHIND_MS_MAX),
                addresses=addresses.get(one.replica_id, []),
            )
        )
    return rows


def _passed(now_ms: int, then_ms: int) -> int | None:
    """None where the leader has not heard of it, or is too old to tell (Kafka before 3.3)."""
    return None if then_ms < 0 or now_ms < 0 else max(now_ms - then_ms, 0)


def _directory(number: bytes) -> str | None:
    return None if number in (b"", ZERO_UUID) else uuid_to_string(number)


def features(answer: ApiVersionsResponse) -> Features:
    """Finalized levels beside what the asked broker can do, by name."""
    finalized = {one.name: one.max_version_level for one in answer.finalized_features}
    supported = {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
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
