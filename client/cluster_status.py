"""The state of a cluster as one node reports it: brokers, quorum, under-replicated partitions.

`fetch_status(call)` sends the requests (DescribeCluster, Metadata, DescribeQuorum, DescribeConfigs)
through any callable and returns a `ClusterStatus`. Owns no connection; decides what counts as
degraded:

- a broker that is fenced, or a quorum without a leader or with a voter that lags behind it;
- brokers that take no connection, if there is no quorum to fence them: a node then reports the
  brokers and partitions as they were when the quorum was lost;
- a partition without a leader (offline), with fewer in-sync replicas than acks=all needs (under
  min ISR), or with fewer than it has replicas (under-replicated).

Follows `kafka-topics --describe --under-replicated-partitions` and its other filters for the
meaning of these words, and KIP-1073, KIP-595 (DescribeQuorum), KIP-836 (the times in it).
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
    ReplicaState,
)
from protocol.messages.metadata import MetadataRequest, MetadataResponse

METADATA_TOPIC = "__cluster_metadata"
MIN_IN_SYNC = "min.insync.replicas"
VOTER_BEHIND_MS_MAX = 5_000
"""The time after which a voter that has not caught up with the leader is called lagging."""

_NOBODY = -1
_TOPIC_RESOURCE = 2

Call = Callable[[Any], Any]
"""A function that returns the response to a request, or None if the node lacks that API."""


class StatusRefused(Exception):
    """A node answered a request with an error; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A registered broker."""

    node_id: int
    host: str
    port: int
    rack: str | None
    fenced: bool
    reachable: bool | None = None
    """Whether the broker takes a connection; None if that was not tried, because the quorum
    reports which brokers are alive."""


@dataclass(frozen=True, slots=True)
class VoterState:
    """A voter or an observer of the quorum: its lag in records, and for how long it has lagged.

    -1: the leader has never heard from the replica.
    """

    node_id: int
    lag: int
    behind_ms: int

    @property
    def lagging(self) -> bool:
        """Whether the voter has lagged for more than VOTER_BEHIND_MS_MAX, or the leader has never
        heard from it."""
        return not 0 <= self.behind_ms <= VOTER_BEHIND_MS_MAX


@dataclass(frozen=True, slots=True)
class QuorumState:
    """The metadata quorum as its leader reports it."""

    leader_id: int
    epoch: int
    high_watermark: int
    voters: Sequence[VoterState]
    observers: Sequence[VoterState]


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition with its leader, its replicas and its ISR."""

    topic: str
    partition: int
    leader: int
    replicas: Sequence[int]
    isr: Sequence[int]


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """The data of `ottla status`; `quorum` is None if no controller answered."""

    cluster_id: str
    brokers: Sequence[BrokerState]
    quorum: QuorumState | None
    topics: int
    partitions: int
    under_replicated: Sequence[PartitionState]
    under_min_isr: Sequence[PartitionState]
    offline: Sequence[PartitionState]
    partitions_by_topic: Mapping[str, int] = field(default_factory=dict)
    """The number of all partitions of each topic that has a degraded partition."""
    internal_topics: int = 0
    """How many of the topics are internal: the cluster's own, such as `__consumer_offsets`."""

    @property
    def fenced(self) -> list[int]:
        """The ids of the brokers that are registered and fenced."""
        return [broker.node_id for broker in self.brokers if broker.fenced]

    @property
    def unreachable(self) -> list[int]:
        """The ids of the brokers that did not take a connection."""
        return [broker.node_id for broker in self.brokers if broker.reachable is False]

    @property
    def lagging_voters(self) -> list[int]:
        """The ids of the voters that lag."""
        voters = self.quorum.voters if self.quorum is not None else ()
        return [voter.node_id for voter in voters if voter.lagging]

    @property
    def healthy(self) -> bool:
        """Whether the quorum has a leader and no broker, voter or partition is degraded."""
        led = self.quorum is not None and self.quorum.leader_id != _NOBODY
        lacking = (self.fenced, self.lagging_voters, self.under_replicated, self.offline)
        return led and not any(lacking)

    def as_json(self) -> dict[str, Any]:
        """Return the object that `ottla status --json` prints: the fields and `healthy`."""
        return {"healthy": self.healthy, **asdict(self)}


def fetch_status(call: Call) -> ClusterStatus:
    """Send the requests for the cluster's status to one node through `call`, and return the status.
    Raises StatusRefused, and the errors of `call`."""
    cluster = call(DescribeClusterRequest(include_fenced_brokers=True))
    _raise_for("DescribeCluster", cluster.error_code)
    # An empty list asks for no topics, null for all; and a status must not create any.
    metadata = call(MetadataRequest(topics=None, allow_auto_topic_creation=False))
    partitions = _partitions(metadata)
    lacking = [
        partition for partition in partitions if len(partition.isr) < len(partition.replicas)
    ]
    minimum = _min_in_sync(call, list(dict.fromkeys(partition.topic for partition in lacking)))
    offline = [partition for partition in partitions if partition.leader == _NOBODY]
    topics = dict.fromkeys(partition.topic for partition in (*lacking, *offline))
    counts = Counter(partition.topic for partition in partitions)
    quorum = _quorum(call)  # at the end: without a quorum, the response may never come
    return ClusterStatus(
        cluster_id=cluster.cluster_id,
        brokers=[
            BrokerState(broker.broker_id, broker.host, broker.port, broker.rack, broker.is_fenced)
            for broker in sorted(cluster.brokers, key=lambda broker: broker.broker_id)
        ],
        quorum=quorum,
        topics=len(metadata.topics),
        partitions=len(partitions),
        under_replicated=lacking,
        under_min_isr=[partition for partition in lacking if _is_under(partition, minimum)],
        offline=offline,
        partitions_by_topic={name: counts[name] for name in topics},
        internal_topics=sum(topic.is_internal for topic in metadata.topics),
    )


def _partitions(metadata: MetadataResponse) -> list[PartitionState]:
    """Return the state of every partition in the answer, sorted by topic and number."""
    partitions = [
        PartitionState(
            topic.name or "",
            partition.partition_index,
            partition.leader_id,
            sorted(partition.replica_nodes),
            sorted(partition.isr_nodes),
        )
        for topic in metadata.topics
        for partition in topic.partitions
    ]
    return sorted(partitions, key=lambda partition: (partition.topic, partition.partition))


def _is_under(partition: PartitionState, minimum: Mapping[str, int]) -> bool:
    """Return whether the ISR is smaller than the minimum, which is at most the replica count."""
    return len(partition.isr) < min(minimum.get(partition.topic, 1), len(partition.replicas))


def _min_in_sync(call: Call, topics: Sequence[str]) -> dict[str, int]:
    """Ask for the `min.insync.replicas` of `topics`, and return them by topic. A topic is left out
    if the response does not have its value."""
    if not topics:
        return {}
    resources = [DescribeConfigsResource(_TOPIC_RESOURCE, name, [MIN_IN_SYNC]) for name in topics]
    answer = call(DescribeConfigsRequest(resources))
    return {
        result.resource_name: int(config.value)
        for result in (answer.results if answer is not None else ())
        for config in result.configs
        if config.name == MIN_IN_SYNC and config.value is not None
    }


def _quorum(call: Call) -> QuorumState | None:
    """Ask for the quorum's state and return it; None if no leader answers, as the rest is still
    worth showing.

    A node without a quorum looks for the leader for longer than `call` waits. Raises StatusRefused
    if the login may not describe the quorum, because the rest alone would look healthy.
    """
    metadata_log = DescribeQuorumRequestTopicData(
        METADATA_TOPIC, [DescribeQuorumRequestPartitionData(0)]
    )
    try:
        answer = call(DescribeQuorumRequest([metadata_log]))
    except TimeoutError:
        return None
    if answer is None:
        return None
    if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise StatusRefused(why(answer.error_code, None, "Describe on the cluster"))
    if answer.error_code != ErrorCode.NONE:
        return None
    partition = next((partition for topic in answer.topics for partition in topic.partitions), None)
    if partition is None or partition.error_code != ErrorCode.NONE:
        return None
    leader = next(
        (voter for voter in partition.current_voters if voter.replica_id == partition.leader_id),
        None,
    )
    if leader is None:
        return None

    return QuorumState(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        [
            replica_state(leader, state)
            for state in sorted(partition.current_voters, key=lambda state: state.replica_id)
        ],
        [
            replica_state(leader, state)
            for state in sorted(partition.observers, key=lambda state: state.replica_id)
        ],
    )


def replica_state(leader: ReplicaState, state: ReplicaState) -> VoterState:
    """Return the state of a voter or observer, relative to the leader's log end and clock."""
    lag = max(leader.log_end_offset - state.log_end_offset, 0)
    if state.replica_id == leader.replica_id:
        return VoterState(state.replica_id, 0, 0)
    if state.last_caught_up_timestamp < 0:
        return VoterState(state.replica_id, lag if state.log_end_offset >= 0 else -1, -1)
    # Both times are of the leader's clock: this machine's may differ.
    now_ms = leader.last_caught_up_timestamp
    return VoterState(state.replica_id, lag, max(now_ms - state.last_caught_up_timestamp, 0))


def _raise_for(api: str, error_code: int) -> None:
    """Raise StatusRefused if the code is an error, with advice if it is a controller's port."""
    if error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE:
        raise StatusRefused("this is a controller's port: name a broker's")
    if error_code != ErrorCode.NONE:
        raise StatusRefused(f"{api} was answered with {ErrorCode(error_code).name}")
