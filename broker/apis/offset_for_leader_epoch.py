"""OffsetForLeaderEpoch: v2-4.

Behaviour: where the log of a leader epoch ended, so that a reader can tell whether its own position
was cut away (KIP-101, KIP-279, KIP-320). The answer names the greatest epoch of ours that is not
above the asked one, and the offset at which the next epoch starts, or the log's end.

Needs CLUSTER_ACTION on the cluster, as followers have it, or DESCRIBE on each topic:
TOPIC_AUTHORIZATION_FAILED per partition.

Versions: v3 replica id, v4 flexible.
"""

from __future__ import annotations

from broker.replication.partition_reads import NO_EPOCH, NO_OFFSET
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from protocol.rights import Rights


class OffsetForLeaderEpochApi:
    """End offsets of leader epochs."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def apis(self) -> list[Api]:
        return [Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, self.handle, refuse_epochs)]

    def handle(
        self, context: RequestContext, request: OffsetForLeaderEpochRequest, respond: Respond
    ) -> None:
        may_describe = _may_describe(context.rights, request)
        topics, denied = [], []
        for topic in request.topics:
            if topic.topic in may_describe:
                answers = [self._partition(topic.topic, asked) for asked in topic.partitions]
                topics.append(OffsetForLeaderTopicResult(topic.topic, answers))
            else:
                denied.append(_refused(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        respond(OffsetForLeaderEpochResponse(0, topics + denied))

    def _partition(self, topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
        partition = self._replicas.partition(topic, asked.partition)
        if partition is None:
            return _failed(asked.partition, self._replicas.why_absent(topic, asked.partition))
        error = partition.check_leader_epoch(asked.current_leader_epoch)
        if error:
            return _failed(asked.partition, error)
        epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
        return EpochEndOffset(0, asked.partition, epoch, end_offset)


def _failed(index: int, error: ErrorCode) -> EpochEndOffset:
    return EpochEndOffset(int(error), index, NO_EPOCH, NO_OFFSET)


def _may_describe(rights: Rights, request: OffsetForLeaderEpochRequest) -> set[str]:
    """Those of its topics that the sender may ask about."""
    names = [topic.topic for topic in request.topics]
    if rights.allows_on_cluster(Operation.CLUSTER_ACTION, audited=False):
        return set(names)
    return rights.allowed(Operation.DESCRIBE, Resource.TOPIC, names)


def _refused(topic: OffsetForLeaderTopic, error: ErrorCode) -> OffsetForLeaderTopicResult:
    return OffsetForLeaderTopicResult(
        topic.topic, [_failed(asked.partition, error) for asked in topic.partitions]
    )


def refuse_epochs(
    request: OffsetForLeaderEpochRequest, error: ErrorCode
) -> OffsetForLeaderEpochResponse:
    """The response that says `error` for every partition."""
    return OffsetForLeaderEpochResponse(0, [_refused(topic, error) for topic in request.topics])
