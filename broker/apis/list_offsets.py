"""ListOffsets: v1-11.

Behaviour: returns an offset by time for each partition. Negative timestamps have a meaning: -1 is
the end for this reader (high watermark, or last stable offset if read_committed), -2 the log start,
-3 the record with the greatest timestamp (v7, KIP-734). -4 is the earliest local offset (v8,
KIP-405), which is the log start without tiered storage. -5 is the latest tiered offset (v9,
KIP-1005) and -6 the earliest offset waiting for upload (v11, KIP-1023); without tiered storage both
are answered with -1. If all records are older than the time, the offset is -1. For a follower
(replica id >= 0; without an authorizer, on the inter-broker listener only) the end is the log end
offset. Replica id -2, for debugging, asks any replica for its log end offset.

Rights: DESCRIBE on each topic, otherwise its partitions fail with TOPIC_AUTHORIZATION_FAILED,
whether they exist or not.

Versions: v2 isolation level, v4 leader epochs, v5 OFFSET_NOT_AVAILABLE (KIP-207), v6 flexible,
v10 a timeout for remote look-ups.
"""

from __future__ import annotations

from broker.config.values import BrokerConfig
from broker.replication.partition import Partition
from broker.replication.partition_reads import (
    CONSUMER_ISOLATIONS,
    NO_EPOCH,
    NO_OFFSET,
    READ_LOG_END,
    offset_by_time,
    upper_offset,
)
from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import LOOKS_AT_ONCE, PIECES_AT_ONCE, Pace, Steps
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from storage.log.fetch_data import TimestampAndOffset

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
# The version from which each special timestamp may be requested.
NAMED_FROM = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
CONSUMER = -1
DEBUGGING_CONSUMER = -2
NO_TIMESTAMP = -1
NOT_AVAILABLE_FROM = 5  # OFFSET_NOT_AVAILABLE; earlier versions get LEADER_NOT_AVAILABLE


class ListOffsetsApi:
    """The handler of ListOffsets, for consumers and followers."""

    def __init__(
        self, config: BrokerConfig, replicas: ReplicaManager, answers: SlicedAnswers
    ) -> None:
        self._replicas = replicas
        self._answers = answers
        self._inter_broker_listener = config.inter_broker_listener_name

    def apis(self) -> list[Api]:
        return [Api(ApiKey.LIST_OFFSETS, 1, 11, self.handle, refuse_list_offsets)]

    def handle(
        self, context: RequestContext, request: ListOffsetsRequest, respond: Respond
    ) -> None:
        """Respond with the offset by time of each partition, or with the partition's error.

        A follower on another than the inter-broker listener, without an authorizer, gets
        CLUSTER_AUTHORIZATION_FAILED for all. An unknown isolation level is INVALID_REQUEST.
        """
        if request.replica_id >= 0 and not self._may_be_a_follower(context):
            respond(refuse_list_offsets(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
            return
        if request.isolation_level not in CONSUMER_ISOLATIONS:
            respond(refuse_list_offsets(request, ErrorCode.INVALID_REQUEST))
            return
        steps = self._answer(context, request)
        self._answers.give(context, request, steps, respond, refuse_list_offsets)

    def _may_be_a_follower(self, context: RequestContext) -> bool:
        """Return whether a request with a replica id is accepted on this listener.

        Without an authorizer, only on the inter-broker listener.
        """
        return not context.rights.unlimited or context.listener_name == self._inter_broker_listener

    def _answer(
        self, context: RequestContext, request: ListOffsetsRequest
    ) -> Steps[ListOffsetsResponse]:
        """Return the response in slices. The partitions' offsets are independent, and read at
        different times.

        A partition that is named more than once gets INVALID_REQUEST, once. Denied topics come
        last, with an error.
        """
        pace, version = Pace(), context.api_version
        duplicates = yield from _repeated_partitions(request, pace)
        answered: dict[tuple[str, int], None] = {}
        names = (topic.name for topic in request.topics)
        may_describe = yield from allowed_in_slices(
            context.rights, Operation.DESCRIBE, Resource.TOPIC, names
        )
        topics, denied = Items[ListOffsetsTopicResponse](version), []
        for topic in request.topics:
            if topic.name not in may_describe:
                denied.append(topic)
                continue
            answers = Items[ListOffsetsPartitionResponse](version)
            for requested in topic.partitions:
                by_time = requested.timestamp >= 0 or requested.timestamp == MAX_TIMESTAMP
                if pace.is_full(PIECES_AT_ONCE // LOOKS_AT_ONCE if by_time else 1):
                    yield None
                key = (topic.name, requested.partition_index)
                if key in duplicates:
                    if key not in answered:  # one answer for all duplicates
                        answers.add(_failed(requested.partition_index, ErrorCode.INVALID_REQUEST))
                    answered[key] = None
                    continue
                answers.add(
                    (yield from self._partition_response(context, request, topic.name, requested))
                )
            topics.add(ListOffsetsTopicResponse(topic.name, answers.array()), 1 + answers.pieces)
        for topic in denied:
            answers = Items[ListOffsetsPartitionResponse](version)
            for requested in topic.partitions:
                if pace.is_full():
                    yield None
                answers.add(
                    _failed(requested.partition_index, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
                )
            topics.add(ListOffsetsTopicResponse(topic.name, answers.array()), 1 + answers.pieces)
        return ListOffsetsResponse(0, topics.array())

    def _partition_response(
        self,
        context: RequestContext,
        request: ListOffsetsRequest,
        topic: str,
        requested: ListOffsetsPartition,
    ) -> Steps[ListOffsetsPartitionResponse]:
        """Return the offset of a partition for the requested time, or its error."""
        index = requested.partition_index
        if requested.timestamp < EARLIEST:
            since = NAMED_FROM.get(requested.timestamp)
            if since is None or context.api_version < since:
                return _failed(index, ErrorCode.UNSUPPORTED_VERSION)
        partition = self._replicas.partition(topic, index)
        if partition is None:
            return _failed(index, self._replicas.why_absent(topic, index))
        only_leader = request.replica_id != DEBUGGING_CONSUMER
        error = partition.check_leader_epoch(requested.current_leader_epoch, only_leader)
        if error:
            return _failed(index, error)
        isolation = request.isolation_level if request.replica_id == CONSUMER else READ_LOG_END
        position = yield from _look_up(partition, requested.timestamp, isolation)
        if position is ErrorCode.OFFSET_NOT_AVAILABLE and context.api_version < NOT_AVAILABLE_FROM:
            return _failed(index, ErrorCode.LEADER_NOT_AVAILABLE)
        if isinstance(position, ErrorCode):
            return _failed(index, position)
        return ListOffsetsPartitionResponse(
            index, 0, position.timestamp, position.offset, position.leader_epoch
        )


def _look_up(
    partition: Partition, timestamp: int, isolation: int
) -> Steps[TimestampAndOffset | ErrorCode]:
    """Return the position of the first record from `timestamp` on, or of a special timestamp.

    NOT_FOUND, which has no offset, if there is no such record. OFFSET_NOT_AVAILABLE if a new leader
    does not know yet.
    """
    log = partition.log
    end = upper_offset(log, isolation)
    # A new leader whose followers have not fetched yet does not know the previous high watermark.
    # Its own may be lower than an offset that the client has seen already (KIP-207).
    unsure = isolation != READ_LOG_END and partition.high_watermark_lags
    if timestamp == LATEST:
        if unsure:
            return ErrorCode.OFFSET_NOT_AVAILABLE
        return TimestampAndOffset(NO_TIMESTAMP, end, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        start = log.log_start_offset
        return TimestampAndOffset(NO_TIMESTAMP, start, log.leader_epochs.epoch_for(start))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOT_FOUND
    position = yield from offset_by_time(log, timestamp)
    if isinstance(position, ErrorCode):
        return position
    if position is None or position.offset >= end:
        return ErrorCode.OFFSET_NOT_AVAILABLE if unsure else NOT_FOUND
    return position


NOT_FOUND = TimestampAndOffset(NO_TIMESTAMP, NO_OFFSET, NO_EPOCH)


def _repeated_partitions(request: ListOffsetsRequest, pace: Pace) -> Steps[set[tuple[str, int]]]:
    """Return the partitions that the request has more than once."""
    seen: set[tuple[str, int]] = set()
    duplicates: set[tuple[str, int]] = set()
    for topic in request.topics:
        for requested in topic.partitions:
            if pace.is_full():
                yield None
            key = (topic.name, requested.partition_index)
            (duplicates if key in seen else seen).add(key)
    return duplicates


def _failed(index: int, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(index, int(error), NO_TIMESTAMP, NO_OFFSET)


def _refused_topic(topic: ListOffsetsTopic, error: ErrorCode) -> ListOffsetsTopicResponse:
    """Return a topic with `error` for each of its partitions."""
    return ListOffsetsTopicResponse(
        topic.name, [_failed(requested.partition_index, error) for requested in topic.partitions]
    )


def refuse_list_offsets(request: ListOffsetsRequest, error: ErrorCode) -> ListOffsetsResponse:
    """Return a response with `error` for every partition."""
    return ListOffsetsResponse(0, [_refused_topic(topic, error) for topic in request.topics])
