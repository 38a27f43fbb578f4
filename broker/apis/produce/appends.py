"""The station of appends: each partition's batches go into its leader's log.

Owns: the answer for each partition, and the list of partitions whose logs have grown. Never waits
for replicas (`broker.apis.produce.replica_wait`) or sends the answer.
"""

from __future__ import annotations

from functools import partial

from broker.apis.produce.answers import not_appended, refused_by_log
from broker.apis.produce.passage import Passage
from broker.apis.produce.records import partition_of
from broker.apis.produce.rights import LOW_ATTRIBUTES
from broker.purgatory.delayed_operations import PendingAck
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.record_batch import CODEC_MASK, HEADER_SIZE, TRANSACTIONAL_FLAG
from storage.log.log_append_info import AppendOrigin, LogAppendInfo
from storage.log.log_validator import split_batches
from storage.log.refusal import AppendRefusal
from storage.log.verification_state import VerificationGuard

CHECKED_FLAGS = TRANSACTIONAL_FLAG | 4  # most batches have neither bit: zstd's codec number is 4
ALL_REPLICAS = -1
ZSTD_FROM = 7
_ZSTD = 4  # Codec.ZSTD; its module imports all codecs, which would slow the broker's start


class Appends:
    """The station that appends each partition's batches to its leader's log."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def append(self, passage: Passage) -> bool:
        """Append the batches that the request still has. Add each partition's answer to the
        response. Return True: the next station follows."""
        now_ms = self._replicas.scheduler.wall_ms()
        topics = passage.response.responses
        for topic in passage.request.topic_data:
            answers = []
            for data in topic.partition_data:  # no comprehension: that would be one more call
                answers.append(self._append_partition(passage, topic, data, now_ms))
            topics.append(TopicProduceResponse(topic.name, topic.topic_id, answers))
        return True

    def _append_partition(
        self, passage: Passage, topic: TopicProduceData, data: PartitionProduceData, now_ms: int
    ) -> PartitionProduceResponse:
        """Append one partition's batch, and return its answer or error. Add the partition to
        `passage.appended` if its log has grown.

        With acks=all this adds an entry to `passage.pending`, which sets the answer's error later.
        """
        index = data.index
        partition = partition_of(self._replicas, passage, topic, index)
        if partition is None:
            return self._absent_partition(passage, topic, index)
        records = data.records
        if not isinstance(records, memoryview) or not records:
            return not_appended(index, ErrorCode.INVALID_RECORD)
        guard: VerificationGuard | None = None
        if len(records) >= HEADER_SIZE and records[LOW_ATTRIBUTES] & CHECKED_FLAGS:
            refusal = _refusal(passage, partition, records[LOW_ATTRIBUTES])
            if refusal is not None:
                return not_appended(index, *refusal)
            if passage.verified is not None:
                guard = passage.verified.guard(partition)
        info = _append_to_log(passage, partition, records, data, guard, now_ms)
        if isinstance(info, ErrorCode):
            passage.name_leaders()
            return _answer_without_append(partition, index, records, info)
        if info.error:
            return refused_by_log(index, info)
        passage.appended.append(partition)
        answer = PartitionProduceResponse(
            index, 0, info.first_offset, info.log_append_time, info.log_start_offset
        )
        if passage.request.acks == ALL_REPLICAS:
            pending = PendingAck(info.last_offset + 1, partial(_settle, answer))
            passage.pending[partition] = pending
        return answer

    def _absent_partition(
        self, passage: Passage, topic: TopicProduceData, index: int
    ) -> PartitionProduceResponse:
        """Return the reason why this broker has no such partition as its answer, and let the
        response name the leaders."""
        passage.name_leaders()
        if passage.by_topic_id:
            error = self._replicas.why_absent_by_id(topic.topic_id, index)
        else:
            error = self._replicas.why_absent(topic.name, index)
        return not_appended(index, error)


def _append_to_log(
    passage: Passage,
    partition: Partition,
    records: memoryview,
    data: PartitionProduceData,
    guard: VerificationGuard | None,
    now_ms: int,
) -> LogAppendInfo | ErrorCode:
    """Append the batch to the leader's log, and trace it. Return the log's result, which may have
    an error, or the error of the partition."""
    trace = passage.context.trace
    if trace is not None:
        trace.begins()
    info = partition.append_as_leader(
        records,
        passage.request.acks,
        now_ms,
        verification_guard=guard,
        internal_allowed=passage.internal_allowed,
        check_result=passage.record_check_results.get(id(data)),
        trace=trace,
    )
    if trace is not None and (error := _error_of(info)):
        trace.refused(partition, error.name)
    return info


def _refusal(
    passage: Passage, partition: Partition, attributes: int
) -> tuple[ErrorCode, str | None] | None:
    """Return the error and its message if the request may not contain a batch with these flags.

    None if it may; the log then decides about the batch.
    """
    if attributes & CODEC_MASK == _ZSTD and passage.context.api_version < ZSTD_FROM:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, None
    if not attributes & TRANSACTIONAL_FLAG:
        return None
    if passage.verified is None:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, None
    refusal = passage.verified.refusal(partition)
    if refusal is not None and refusal[0] is ErrorCode.NOT_LEADER_OR_FOLLOWER:
        passage.name_leaders()
    return refusal


def _answer_without_append(
    partition: Partition, index: int, records: memoryview, error: ErrorCode
) -> PartitionProduceResponse:
    """Return the answer for a partition whose log was not asked to append.

    Records that are no valid batch are reported as such, before any other error.
    """
    batches = split_batches(records, AppendOrigin.CLIENT)
    if isinstance(batches, AppendRefusal) and batches.is_no_batch:
        return not_appended(index, batches.error, batches.message)
    answer = not_appended(index, error)
    if error is ErrorCode.NOT_ENOUGH_REPLICAS:
        answer.log_start_offset = partition.log.log_start_offset
    return answer


def _settle(answer: PartitionProduceResponse, verdict: ErrorCode) -> None:
    """Put the verdict of the replicas into the answer.

    The records stay in the log, so the answer keeps their offset also if the wait timed out.
    """
    answer.error_code = int(verdict)


def _error_of(info: LogAppendInfo | ErrorCode) -> ErrorCode:
    """Return the error of an append; NONE if the batch was appended."""
    return info if isinstance(info, ErrorCode) else info.error
