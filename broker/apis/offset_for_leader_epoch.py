"""OffsetForLeaderEpoch: v2-4.

Behaviour: where the log of a leader epoch ended, so that a reader can tell whether its own position
was cut away (KIP-101, KIP-279, KIP-320). The answer names the greatest epoch of ours that is not
above the asked one, and the offset at which the next epoch starts, or the log's end.

Versions: v3 replica id, v4 flexible.
"""

from __future__ import annotations

from broker.replication.partition_reads import NO_EPOCH, NO_OFFSET
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


class OffsetForLeaderEpochApi:
    """End offsets of leader epochs."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def apis(self) -> list[Api]:
        return [Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4, self.handle, refuse_epochs)]

    def handle(
        self, context: RequestContext, request: OffsetForLeaderEpochRequest, respond: Respond
    ) -> None:
        topics = [
            OffsetForLeaderTopicResult(
                topic.topic, [self._partition(topic.topic, asked) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
        respond(OffsetForLeaderEpochResponse(0, topics))

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


def refuse_epochs(
    request: OffsetForLeaderEpochRequest, error: ErrorCode
) -> OffsetForLeaderEpochResponse:
    """The response that says `error` for every partition."""
    return OffsetForLeaderEpochResponse(
        0,
        [
            OffsetForLeaderTopicResult(
                topic.topic, [_failed(asked.partition, error) for asked in topic.partitions]
            )
            for topic in request.topics
        ],
    )
