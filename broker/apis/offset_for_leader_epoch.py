"""OffsetForLeaderEpoch: v2-4.

Behaviour: where the log of a leader epoch ended, so that a reader can tell whether its own position
was cut away (KIP-101, KIP-279, KIP-320). The answer names the greatest epoch of ours that is not
above the asked one, and the offset at which the next epoch starts, or the log's end.

Needs CLUSTER_ACTION on the cluster, as followers have it, or DESCRIBE on each topic:
TOPIC_AUTHORIZATION_FAILED per partition.

Versions: v3 replica id, v4 flexible.
"""

from __future__ import annotations

from collections.abc import Container

from broker.replication.partition_reads import NO_EPOCH, NO_OFFSET
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.requests.rights import EVERYTHING, allowed_in_slices
from ground.sliced_work import Pace, Steps
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


class OffsetForLeaderEpochApi:
    """End offsets of leader epochs."""

    def __init__(self, replicas: ReplicaManager, answers: SlicedAnswers) -> None:
        self._replicas = replicas
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, self.handle, refuse_epochs)]

    def handle(
        self, context: RequestContext, request: OffsetForLeaderEpochRequest, respond: Respond
    ) -> None:
        steps = self._answered(context.rights, request)
        self._answers.give(context, request, steps, respond, refuse_epochs)

    def _answered(
        self, rights: Rights, request: OffsetForLeaderEpochRequest
    ) -> Steps[OffsetForLeaderEpochResponse]:
        may_describe = yield from _may_describe(rights, request)
        pace = Pace()
        topics, denied = list[OffsetForLeaderTopicResult](), list[OffsetForLeaderTopicResult]()
        for topic in request.topics:
            if pace.is_full():
                yield None
            name, is_allowed = topic.topic, topic.topic in may_describe
            answers = []
            for asked in topic.partitions:
                if pace.is_full():
                    yield None
                answers.append(self._partition(name, asked) if is_allowed else _denied(asked))
            (topics if is_allowed else denied).append(OffsetForLeaderTopicResult(name, answers))
        return OffsetForLeaderEpochResponse(0, topics + denied)

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


def _denied(asked: OffsetForLeaderPartition) -> EpochEndOffset:
    return _failed(asked.partition, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _may_describe(rights: Rights, request: OffsetForLeaderEpochRequest) -> Steps[Container[str]]:
    """Those of its topics that the sender may ask about."""
    if rights.allows_on_cluster(Operation.CLUSTER_ACTION, audited=False):
        return EVERYTHING
    names = (topic.topic for topic in request.topics)
    return (yield from allowed_in_slices(rights, Operation.DESCRIBE, Resource.TOPIC, names))


def _refused(topic: OffsetForLeaderTopic, error: ErrorCode) -> OffsetForLeaderTopicResult:
    return OffsetForLeaderTopicResult(
        topic.topic, [_failed(asked.partition, error) for asked in topic.partitions]
    )


def refuse_epochs(
    request: OffsetForLeaderEpochRequest, error: ErrorCode
) -> OffsetForLeaderEpochResponse:
    """The response that says `error` for every partition."""
    return OffsetForLeaderEpochResponse(0, [_refused(topic, error) for topic in request.topics])
