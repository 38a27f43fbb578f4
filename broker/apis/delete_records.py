"""DeleteRecords: v0-2 (KIP-107).

Behaviour: moves a partition's log start up to an offset, -1 for the high watermark. The answer
comes after all live replicas have moved theirs, or after `timeout_ms`. It has the low watermark,
which is the earliest log start of the replicas. Without that wait, a leader that lost its
leadership could confirm a deletion that its successor does not know of. A partition is rejected if
its topic is internal (INVALID_TOPIC_EXCEPTION) or only compacted (POLICY_VIOLATION), or if the
offset is beyond the high watermark. If a partition is named twice, the last offset counts.

Rights: DELETE on each topic, otherwise its partitions fail with TOPIC_AUTHORIZATION_FAILED, whether
they exist or not.

Versions: v1 throttles after answering, v2 flexible.
"""

from __future__ import annotations

from broker.purgatory.delayed_operations import (
    DelayedDeleteRecords,
    PendingAck,
    ReplicatedPartition,
)
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.metadata.topic_names import is_internal
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import BULK_AT_ONCE, PIECES_AT_ONCE, Pace, Steps
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

NO_WATERMARK = -1
DELETES_A_SLICE = 5
"""The most partitions, each of which writes a file, in one slice."""
DELETION = PIECES_AT_ONCE // DELETES_A_SLICE
"""The pieces of work (`Pace`) that a deletion from one partition counts as."""


class DeleteRecordsApi:
    """The handler of DeleteRecords."""

    def __init__(self, replicas: ReplicaManager, answers: SlicedAnswers) -> None:
        self._replicas = replicas
        self._answers = answers
        self._purgatory = replicas.delete_records_purgatory

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DELETE_RECORDS, 0, 2, self.handle, refuse_delete_records)]

    def handle(
        self, context: RequestContext, request: DeleteRecordsRequest, respond: Respond
    ) -> None:
        """Delete in the logs of this broker at once. Answer after the other live replicas did too,
        or after the request's timeout."""
        pending: dict[ReplicatedPartition, PendingAck] = {}

        def refuse(request: DeleteRecordsRequest, error: ErrorCode) -> DeleteRecordsResponse:
            """Return a response with `error` for every partition, and wait for no replica."""
            pending.clear()
            return refuse_delete_records(request, error)

        def deleted(response: DeleteRecordsResponse) -> None:
            """Respond after the replicas of the pending partitions have deleted too, or after the
            timeout."""
            self._wait(DelayedDeleteRecords(pending, lambda: respond(response)), request.timeout_ms)

        steps = self._delete_all(context, request, pending)
        self._answers.give(context, request, steps, deleted, refuse)

    def _delete_all(
        self,
        context: RequestContext,
        request: DeleteRecordsRequest,
        pending: dict[ReplicatedPartition, PendingAck],
    ) -> Steps[DeleteRecordsResponse]:
        """Delete records from the partitions that this broker leads. Return the response, with an
        error for each other partition.

        `pending` gets the partitions whose replicas must move their log starts as well; these
        complete the response.
        """
        topics, pace = [], Pace()
        by_topic = yield from _offsets_by_topic(request)
        may_delete = yield from allowed_in_slices(
            context.rights, Operation.DELETE, Resource.TOPIC, by_topic
        )
        for name, offsets in by_topic.items():
            if pace.is_full():
                yield None
            partitions = []
            for index, offset in offsets.items():
                is_here = name in may_delete and self._replicas.partition(name, index) is not None
                if pace.is_full(DELETION if is_here else 1):
                    yield None
                if name not in may_delete:
                    partitions.append(_failed(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
                    continue
                partitions.append(self._delete_records(name, index, offset, pending))
            topics.append(DeleteRecordsTopicResult(name, partitions))
        return DeleteRecordsResponse(topics=topics)

    def _wait(self, waiting: DelayedDeleteRecords, timeout_ms: int) -> None:
        """Complete the operation after the replicas have moved their log starts, or after
        `timeout_ms`: at once if none is pending."""
        partitions = [key for key in waiting.pending if isinstance(key, Partition)]
        if waiting.settle_all():
            waiting.complete()
            return
        for partition in partitions:
            partition.listeners[self] = None
        self._purgatory.watch(waiting, waiting.pending, max(timeout_ms, 0))

    def partition_changed(self, partition: Partition) -> None:
        """Complete the requests that no longer wait for this partition (`PartitionListener`). Stop
        listening to it if no request is left."""
        self._purgatory.check(partition)
        if not self._purgatory.is_watched(partition):
            partition.listeners.pop(self, None)

    def _delete_records(
        self, topic: str, index: int, offset: int, pending: dict[ReplicatedPartition, PendingAck]
    ) -> DeleteRecordsPartitionResult:
        """Move the log's start, and return the partition's result or error.

        After a success, its low watermark is set later, by the entry that this adds to `pending`.
        """
        partition = self._replicas.partition(topic, index)
        if partition is None:
            return _failed(index, self._replicas.why_absent(topic, index))
        if is_internal(topic):
            return _failed(index, ErrorCode.INVALID_TOPIC_EXCEPTION)
        if _only_compacted(partition):
            return _failed(index, ErrorCode.POLICY_VIOLATION)
        if offset == NO_WATERMARK:
            offset = partition.log.high_watermark
        error, _ = partition.delete_records(offset)
        if error:
            return _failed(index, error)
        answer = DeleteRecordsPartitionResult(index, NO_WATERMARK)
        pending[partition] = PendingAck(offset, lambda verdict: _settle(answer, partition, verdict))
        return answer


def _settle(answer: DeleteRecordsPartitionResult, partition: Partition, verdict: ErrorCode) -> None:
    """Set in `answer` the error and, unless this broker no longer leads, the low watermark."""
    answer.error_code = int(verdict)
    if verdict != ErrorCode.NOT_LEADER_OR_FOLLOWER:
        answer.low_watermark = partition.low_watermark


def _only_compacted(partition: Partition) -> bool:
    """Return True on the leader of a topic whose records only compaction removes."""
    if not partition.is_leader:
        return False  # only the leader rejects the request for this
    config = partition.log.config
    return config.compact and not config.delete


def _offsets_by_topic(request: DeleteRecordsRequest) -> Steps[dict[str, dict[int, int]]]:
    """Return the requested offsets by topic and partition; the last of a repeated one counts."""
    topics: dict[str, dict[int, int]] = {}
    pace = Pace(BULK_AT_ONCE)
    for topic in request.topics:
        if pace.is_full():
            yield None
        offsets = topics.setdefault(topic.name, {})
        for partition in topic.partitions:
            if pace.is_full():
                yield None
            offsets[partition.partition_index] = partition.offset
    return topics


def _failed(index: int, error: ErrorCode) -> DeleteRecordsPartitionResult:
    """Return a partition's result with `error` and no low watermark (-1)."""
    return DeleteRecordsPartitionResult(index, NO_WATERMARK, int(error))


def refuse_delete_records(request: DeleteRecordsRequest, error: ErrorCode) -> DeleteRecordsResponse:
    """Return a response with `error` for every partition."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name,
                [_failed(partition.partition_index, error) for partition in topic.partitions],
            )
            for topic in request.topics
        ]
    )
