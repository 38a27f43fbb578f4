"""OffsetForLeaderEpoch: v2-4.

Behaviour: returns the end offset of a leader epoch, so that a reader can find out whether its own
position was truncated (KIP-101, KIP-279, KIP-320). The answer has this log's greatest epoch that is
not above the requested one, and the offset at which the next epoch starts, or the log's end.

Rights: CLUSTER_ACTION on the cluster, which followers have, or DESCRIBE on each topic, otherwise
its partitions fail with TOPIC_AUTHORIZATION_FAILED.

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
    """The handler of OffsetForLeaderEpoch."""

    def __init__(self, replicas: ReplicaManager, answers: SlicedAnswers) -> None:
        self._replicas = replicas
        self._answers = answers

    def apis(self) -> list[Api]:
        return [Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, self.handle, refuse_epochs)]

    def handle(
        self, context: RequestContext, request: OffsetForLeaderEpochRequest, respond: Respond
    ) -> None:
        """Respond with the end offset of the requested epoch of each partition, or with the
        partition's error."""
        steps = self._epochs_response(context.rights, request)
        self._answers.give(context, request, steps, respond, refuse_epochs)

    def _epochs_response(
        self, rights: Rights, request: OffsetForLeaderEpochRequest
    ) -> Steps[OffsetForLeaderEpochResponse]:
        """Return the response with the end offsets of the epochs. Topics that the client may not
        DESCRIBE come last, with an error."""
        may_describe = yield from _may_describe(rights, request)
        pace = Pace()
        topics, denied = list[OffsetForLeaderTopicResult](), list[OffsetForLeaderTopicResult]()
        for topic in request.topics:
            if pace.is_full():
                yield None
            name, is_allowed = topic.topic, topic.topic in may_describe
            answers = []
            for requested in topic.partitions:
                if pace.is_full():
                    yield None
                answers.append(
                    self._epoch_end(name, requested) if is_allowed else _denied(requested)
                )
            (topics if is_allowed else denied).append(OffsetForLeaderTopicResult(name, answers))
        return OffsetForLeaderEpochResponse(0, topics + denied)

    def _epoch_end(self, topic: str, requested: OffsetForLeaderPartition) -> EpochEndOffset:
        """Return the end offset of the requested epoch, or the partition's error."""
        partition = self._replicas.partition(topic, requested.partition)
        if partition is None:
            return _failed(
                requested.partition, self._replicas.why_absent(topic, requested.partition)
            )
        error = partition.check_leader_epoch(requested.current_leader_epoch)
        if error:
            return _failed(requested.partition, error)
        epoch, end_offset = partition.log.end_offset_for_epoch(requested.leader_epoch)
        return EpochEndOffset(0, requested.partition, epoch, end_offset)


def _failed(index: int, error: ErrorCode) -> EpochEndOffset:
    return EpochEndOffset(int(error), index, NO_EPOCH, NO_OFFSET)


def _denied(requested: OffsetForLeaderPartition) -> EpochEndOffset:
    return _failed(requested.partition, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _may_describe(rights: Rights, request: OffsetForLeaderEpochRequest) -> Steps[Container[str]]:
    """Return the topics of the request that the sender may DESCRIBE; with CLUSTER_ACTION,
    EVERYTHING."""
    if rights.allows_on_cluster(Operation.CLUSTER_ACTION, audited=False):
        return EVERYTHING
    names = (topic.topic for topic in request.topics)
    return (yield from allowed_in_slices(rights, Operation.DESCRIBE, Resource.TOPIC, names))


def _refused(topic: OffsetForLeaderTopic, error: ErrorCode) -> OffsetForLeaderTopicResult:
    return OffsetForLeaderTopicResult(
        topic.topic, [_failed(requested.partition, error) for requested in topic.partitions]
    )


def refuse_epochs(
    request: OffsetForLeaderEpochRequest, error: ErrorCode
) -> OffsetForLeaderEpochResponse:
    """Return a response with `error` for every partition."""
    return OffsetForLeaderEpochResponse(0, [_refused(topic, error) for topic in request.topics])
