"""The state of a cluster as one node tells it: brokers, quorum, partitions that lack replicas.

`ask(call)` puts the questions (DescribeCluster, Metadata, DescribeQuorum, DescribeConfigs) through
any callable and gives a `ClusterStatus`. Owns no connection; decides what counts as degraded:

- a broker that is fenced, or a quorum without a leader or with a voter that lags behind it;
- brokers that take no connection, where there is no quorum to fence them: what a node then tells of
  brokers and partitions is what it knew when the quorum was lost;
- a partition without a leader (offline), with fewer in-sync replicas than acks=all needs (under
  min ISR), or with fewer than it has replicas (under-replicated).

Follows `kafka-topics --describe --under-replicated-partitions` and its like for what these words
mean, and KIP-1073, KIP-595 (DescribeQuorum), KIP-836 (the times in it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from client.refusals import why
from protocol.errors import ErrorCode
from protocol.messages.describe_cluster import DescribeClusterRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from protocol.messages.metadata import MetadataRequest, MetadataResponse

METADATA_TOPIC = "__cluster_metadata"
MIN_IN_SYNC = "min.insync.replicas"
VOTER_BEHIND_MS_MAX = 5_000
"""A voter that has not caught up with the leader for longer is called lagging."""

_NOBODY = -1
_TOPIC_RESOURCE = 2

Call = Callable[[Any], Any]
"""request → response; None where the node does not serve that API."""


class StatusRefused(Exception):
    """A node answered a question with an error; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A registered broker."""

    node_id: int
    host: str
    port: int
    rack: str | None
    fenced: bool
    reachable: bool | None = None
    """Whether it takes a connection; None where nobody tried: the quorum knows who is alive."""


@dataclass(frozen=True, slots=True)
class VoterState:
    """A controller of the quorum: records it lacks, and since when (-1: never heard of)."""

    node_id: int
    lag: int
    behind_ms: int

    @property
    def lagging(self) -> bool:
        """Whether it has been behind for so long that it would not help if the leader died."""
        return not 0 <= self.behind_ms <= VOTER_BEHIND_MS_MAX


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The metadata quorum as its leader tells it."""

    leader_id: int
    epoch: int
    high_watermark: int
    voters: Sequence[VoterState]
    observers: Sequence[VoterState]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition that lacks something."""

    topic: str
    partition: int
    leader: int
    replicas: Sequence[int]
    isr: Sequence[int]


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """Everything that `ottla status` shows; `quorum` is None where no controller answered."""

    cluster_id: str
    brokers: Sequence[BrokerState]
    quorum: QuorumState | None
    topics: int
    partitions: int
    under_replicated: Sequence[PartitionState]
    under_min_isr: Sequence[PartitionState]
    offline: Sequence[PartitionState]
    partitions_by_topic: Mapping[str, int] = field(default_factory=dict)
    """How many partitions each topic has of which one lacks something."""

    @property
    def fenced(self) -> list[int]:
        """The ids of the brokers that are registered and not alive."""
        return [one.node_id for one in self.brokers if one.fenced]

    @property
    def unreachable(self) -> list[int]:
        """The ids of the brokers that were tried and take no connection."""
        return [one.node_id for one in self.brokers if one.reachable is False]

    @property
    def lagging_voters(self) -> list[int]:
        """The ids of the voters that are behind."""
        voters = self.quorum.voters if self.quorum is not None else ()
        return [one.node_id for one in voters if one.lagging]

    @property
    def healthy(self) -> bool:
        """Whether nothing lacks: one more node may die and nothing is lost that need not be."""
        led = self.quorum is not None and self.quorum.leader_id != _NOBODY
        lacking = (self.fenced, self.lagging_voters, self.under_replicated, self.offline)
        return led and not any(lacking)

    def as_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {"healthy": self.healthy, **asdict(self)}


def ask(call: Call) -> ClusterStatus:
    """Put the questions to one node. Raises StatusRefused, and whatever `call` raises."""
    cluster = call(DescribeClusterRequest(include_fenced_brokers=True))
    _check("DescribeCluster", cluster.error_code)
    # An empty list asks for no topics, null for all; and looking must not create any.
    metadata = call(MetadataRequest(topics=None, allow_auto_topic_creation=False))
    partitions = _partitions(metadata)
    lacking = [one for one in partitions if len(one.isr) < len(one.replicas)]
    minimum = _min_in_sync(call, list(dict.fromkeys(one.topic for one in lacking)))
    offline = [one for one in partitions if one.leader == _NOBODY]
    topics = dict.fromkeys(one.topic for one in (*lacking, *offline))
    counts = Counter(one.topic for one in partitions)
    quorum = _quorum(call)  # at the end: where there is no quorum, the answer may never come
    return ClusterStatus(
        cluster_id=cluster.cluster_id,
        brokers=[
            BrokerState(one.broker_id, one.host, one.port, one.rack, one.is_fenced)
            for one in sorted(cluster.brokers, key=lambda one: one.broker_id)
        ],
        quorum=quorum,
        topics=len(metadata.topics),
        partitions=len(partitions),
        under_replicated=lacking,
        under_min_isr=[one for one in lacking if _is_under(one, minimum)],
        offline=offline,
        partitions_by_topic={name: counts[name] for name in topics},
    )


def _partitions(metadata: MetadataResponse) -> list[PartitionState]:
    found = [
        PartitionState(
            topic.name or "",
            one.partition_index,
            one.leader_id,
            sorted(one.replica_nodes),
            sorted(one.isr_nodes),
        )
        for topic in metadata.topics
        for one in topic.partitions
    ]
    return sorted(found, key=lambda one: (one.topic, one.partition))


def _is_under(one: PartitionState, minimum: Mapping[str, int]) -> bool:
    """A topic with fewer replicas than the minimum needs them all, and no more."""
    return len(one.isr) < min(minimum.get(one.topic, 1), len(one.replicas))


def _min_in_sync(call: Call, topics: Sequence[str]) -> dict[str, int]:
    """`min.insync.replicas` of those topics that lack replicas: the others cannot be under it."""
    if not topics:
        return {}
    asked = [DescribeConfigsResource(_TOPIC_RESOURCE, name, [MIN_IN_SYNC]) for name in topics]
    answer = call(DescribeConfigsRequest(asked))
    return {
        result.resource_name: int(config.value)
        for result in (answer.results if answer is not None else ())
        for config in result.configs
        if config.name == MIN_IN_SYNC and config.value is not None
    }


def _quorum(call: Call) -> QuorumState | None:
    """None where no leader answers: without one the rest of the status is still worth showing. Who
    may not ask is told so: what they may see of the rest would say that all is well.

    The node asks for the leader as long as a request may take, which is longer than anybody here
    waits.
    """
    wanted = DescribeQuorumRequestTopicData(METADATA_TOPIC, [DescribeQuorumRequestPartitionData(0)])
    try:
        answer = call(DescribeQuorumRequest([wanted]))
    except TimeoutError:
        return None
    if answer is None:
        return None
    if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise StatusRefused(why(answer.error_code, None, "Describe on the cluster"))
    if answer.error_code != ErrorCode.NONE:
        return None
    partition = next((one for topic in answer.topics for one in topic.partitions), None)
    if partition is None or partition.error_code != ErrorCode.NONE:
        return None
    leader = next(
        (one for one in partition.current_voters if one.replica_id == partition.leader_id), None
    )
    if leader is None:
        return None

    def replica(one: Any) -> VoterState:
        lag = max(leader.log_end_offset - one.log_end_offset, 0)
        if one.replica_id == leader.replica_id:
            return VoterState(one.replica_id, 0, 0)
        if one.last_caught_up_timestamp < 0:
            return VoterState(one.replica_id, lag if one.log_end_offset >= 0 else -1, -1)
        # Both times are of the leader's clock: this machine's may differ.
        now_ms = leader.last_caught_up_timestamp
        return VoterState(one.replica_id, lag, max(now_ms - one.last_caught_up_timestamp, 0))

    return QuorumState(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        [replica(one) for one in sorted(partition.current_voters, key=lambda one: one.replica_id)],
        [replica(one) for one in sorted(partition.observers, key=lambda one: one.replica_id)],
    )


def _check(api: str, error_code: int) -> None:
    if error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE:
        raise StatusRefused("this is a controller's port: name a broker's")
    if error_code != ErrorCode.NONE:
        raise StatusRefused(f"{api} was answered with {ErrorCode(error_code).name}")
