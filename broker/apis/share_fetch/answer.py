"""The responses of ShareFetch and ShareAcknowledge: partitions, leaders and the lock's time.

Owns which partitions a continued session's response names: those with records, with an error, with
acknowledgements, and those that are new or had an error before. Never acquires. Follows
`processShareFetchResponse` and `processShareAcknowledgeResponse` of Kafka's `KafkaApis`, and its
`ShareSessionContext` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Iterator

from broker.apis.current_leader import LeaderNode, current_leader, leader_node
from broker.apis.share_fetch.acknowledgements import Verdict, Verdicts
from broker.apis.share_fetch.reading import Acquired, Failure, FetchResult
from broker.replication.replica_manager import ReplicaManager
from broker.share.sessions import ShareSession, TopicIdPartition
from ground.sliced_work import Pace, Steps
from protocol.errors import ErrorCode
from protocol.messages import share_acknowledge, share_fetch

_LEADER_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
"""The errors with which a partition of a response names the current leader."""


class Leaders:
    """The current leaders that a response names, each address once."""

    def __init__(self, replicas: ReplicaManager, listener_name: str) -> None:
        """Create without leaders; addresses are those of the client's listener."""
        self._replicas = replicas
        self._listener_name = listener_name
        self.nodes: dict[int, LeaderNode] = {}

    def of(self, partition: TopicIdPartition, error: ErrorCode) -> tuple[int, int]:
        """Return leader and leader epoch of a partition after an error about its leader; (0, 0)
        after any other error."""
        if error not in _LEADER_ERRORS:
            return 0, 0
        image = self._replicas.image
        replica = self._replicas.partition_by_id(*partition)
        leader, epoch = current_leader(replica, image, *partition)
        node = leader_node(image, leader, self._listener_name)
        if node is not None:
            self.nodes.setdefault(leader, node)
        return leader, epoch


def fetch_response(
    result: FetchResult | None,
    verdicts: Verdicts,
    session: ShareSession | None,
    leaders: Leaders,
    lock_duration_ms: int,
    pace: Pace,
) -> Steps[share_fetch.ShareFetchResponse]:
    """Return the response to a ShareFetch. `result` is None if it fetched nothing; `session` is
    that of a continued session, else None: then all partitions of the result are named."""
    partitions: dict[TopicIdPartition, share_fetch.PartitionData] = {}
    for partition, data in _partitions(result, leaders):
        if pace.is_full():
            yield None
        is_error, has_records = bool(data.error_code), bool(data.acquired_records)
        if session is None or session.must_name(
            partition, has_records=has_records, is_error=is_error
        ):
            partitions[partition] = data
    for partition, verdict in verdicts.items():
        if pace.is_full():
            yield None
        data = partitions.setdefault(partition, share_fetch.PartitionData(partition.partition))
        data.acknowledge_error_code = int(verdict.error)
        data.acknowledge_error_message = verdict.reason
    topics: dict[bytes, list[share_fetch.PartitionData]] = {}
    for partition, data in partitions.items():
        topics.setdefault(partition.topic_id, []).append(data)
    return share_fetch.ShareFetchResponse(
        error_code=int(ErrorCode.NONE if result is None else result.error),
        acquisition_lock_timeout_ms=lock_duration_ms,
        responses=[
            share_fetch.ShareFetchableTopicResponse(topic_id, data)
            for topic_id, data in topics.items()
        ],
        node_endpoints=[share_fetch.NodeEndpoint(*node) for node in leaders.nodes.values()],
    )


def _partitions(
    result: FetchResult | None, leaders: Leaders
) -> Iterator[tuple[TopicIdPartition, share_fetch.PartitionData]]:
    """Yield the answer of each partition of a result, those with an error last."""
    if result is None:
        return
    for partition, acquired in result.acquired.items():
        yield partition, _acquired_data(partition, acquired)
    for partition, failure in result.failures.items():
        yield partition, _failed_data(partition, failure, leaders)


def _acquired_data(partition: TopicIdPartition, acquired: Acquired) -> share_fetch.PartitionData:
    """Return the answer of a partition without an error."""
    return share_fetch.PartitionData(
        partition.partition,
        records=acquired.records,
        acquired_records=[share_fetch.AcquiredRecords(*taken) for taken in acquired.ranges],
    )


def _failed_data(
    partition: TopicIdPartition, failure: Failure, leaders: Leaders
) -> share_fetch.PartitionData:
    """Return the answer of a partition with an error, and its leader if the error is about that."""
    return share_fetch.PartitionData(
        partition.partition,
        int(failure.error),
        failure.reason,
        current_leader=share_fetch.LeaderIdAndEpoch(*leaders.of(partition, failure.error)),
    )


def acknowledge_response(
    verdicts: Verdicts, leaders: Leaders, lock_duration_ms: int, pace: Pace
) -> Steps[share_acknowledge.ShareAcknowledgeResponse]:
    """Return the response to a ShareAcknowledge."""
    topics: dict[bytes, list[share_acknowledge.PartitionData]] = {}
    for partition, verdict in verdicts.items():
        if pace.is_full():
            yield None
        data = _verdict_data(partition, verdict, leaders)
        topics.setdefault(partition.topic_id, []).append(data)
    return share_acknowledge.ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=lock_duration_ms,
        responses=[
            share_acknowledge.ShareAcknowledgeTopicResponse(topic_id, data)
            for topic_id, data in topics.items()
        ],
        node_endpoints=[share_acknowledge.NodeEndpoint(*node) for node in leaders.nodes.values()],
    )


def _verdict_data(
    partition: TopicIdPartition, verdict: Verdict, leaders: Leaders
) -> share_acknowledge.PartitionData:
    """Return the answer of a partition with acknowledgements."""
    return share_acknowledge.PartitionData(
        partition.partition,
        int(verdict.error),
        verdict.reason,
        share_acknowledge.LeaderIdAndEpoch(*leaders.of(partition, verdict.error)),
    )
