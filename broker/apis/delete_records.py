"""DeleteRecords: v0-2 (KIP-107).

Behaviour: moves a partition's log start up to an offset, -1 for the high watermark, and answers
with the new start, its low watermark. Refused for internal topics (INVALID_TOPIC_EXCEPTION), for
topics that are only compacted (POLICY_VIOLATION), and beyond the high watermark. Where a partition
is named twice the last one counts. With the leader as its only replica the low watermark is the
leader's own log start, so nothing waits for `timeout_ms`.

Versions: v1 throttles after answering, v2 flexible.
"""

from __future__ import annotations

from broker.apis.context import Api, RequestContext, Respond
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from controller.topic_names import is_internal
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

NO_WATERMARK = -1


class DeleteRecordsApi:
    """Deletes the oldest records at a client's word."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DELETE_RECORDS, 0, 2, self.handle, refuse_delete_records)]

    def handle(
        self, context: RequestContext, request: DeleteRecordsRequest, respond: Respond
    ) -> None:
        topics = []
        for name, offsets in _by_topic(request).items():
            partitions = [self._delete(name, index, offset) for index, offset in offsets.items()]
            topics.append(DeleteRecordsTopicResult(name, partitions))
        respond(DeleteRecordsResponse(topics=topics))

    def _delete(self, topic: str, index: int, offset: int) -> DeleteRecordsPartitionResult:
        partition = self._replicas.partition(topic, index)
        if partition is None:
            return _failed(index, self._replicas.why_absent(topic, index))
        if is_internal(topic):
            return _failed(index, ErrorCode.INVALID_TOPIC_EXCEPTION)
        if _only_compacted(partition):
            return _failed(index, ErrorCode.POLICY_VIOLATION)
        error, low_watermark = partition.delete_records(offset)
        return DeleteRecordsPartitionResult(index, low_watermark, int(error))


def _only_compacted(partition: Partition) -> bool:
    if not partition.is_leader:
        return False  # it is the leader's to say
    config = partition.log.config
    return config.compact and not config.delete


def _by_topic(request: DeleteRecordsRequest) -> dict[str, dict[int, int]]:
    topics: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = topics.setdefault(topic.name, {})
        for one in topic.partitions:
            offsets[one.partition_index] = one.offset
    return topics


def _failed(index: int, error: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(index, NO_WATERMARK, int(error))


def refuse_delete_records(request: DeleteRecordsRequest, error: ErrorCode) -> DeleteRecordsResponse:
    """The response that says `error` for every partition."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name, [_failed(one.partition_index, error) for one in topic.partitions]
            )
            for topic in request.topics
        ]
    )
