"""DescribeProducers: v0 (KIP-664).

Behaviour: returns, for each partition that this broker leads, the producers in its log's producer
state: epoch, last sequence, last timestamp, and the start of an open transaction.

Rights: READ on each topic, otherwise its partitions fail with TOPIC_AUTHORIZATION_FAILED, whether
they exist or not. An invalid topic name is rejected before that.
"""

from __future__ import annotations

from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.metadata.topic_names import topic_name_fault
from ground.sliced_work import Pace, Steps
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from storage.log.producer_state import ProducerStateEntry

VERSION = 0
NO_OFFSET = -1

_NOT_HOSTED = "This server does not host this topic-partition."  # Kafka's text for unknown topics
_DENIED = "Topic authorization failed."


class DescribeProducersApi:
    """The handler of DescribeProducers."""

    def __init__(self, replicas: ReplicaManager, answers: SlicedAnswers) -> None:
        self._replicas = replicas
        self._answers = answers

    def apis(self) -> list[Api]:
        key = ApiKey.DESCRIBE_PRODUCERS
        return [Api(key, VERSION, VERSION, self.handle, refuse_describe_producers)]

    def handle(
        self, context: RequestContext, request: DescribeProducersRequest, respond: Respond
    ) -> None:
        """Respond with the producers in the log of each requested partition, or with the
        partition's error."""
        steps = self._answer(context.rights, request)
        self._answers.give(context, request, steps, respond, refuse_describe_producers)

    def _answer(
        self, rights: Rights, request: DescribeProducersRequest
    ) -> Steps[DescribeProducersResponse]:
        """Return the response in slices. Each partition's producers are described as they are when
        read.

        A topic that is invalid or that the client may not READ gets an error for each partition.
        """
        pace, topics = Pace(), Items[TopicResponse](VERSION)
        for topic in request.topics:
            refusal = _refusal(rights, topic.name)
            partitions = Items[PartitionResponse](VERSION)
            for index in topic.partition_indexes:
                if pace.is_full():
                    yield None
                if refusal is None:
                    answer = yield from self._partition_response(topic.name, index, pace)
                    partitions.add(answer, 1 + len(answer.active_producers))
                else:
                    partitions.add(PartitionResponse(index, *refusal))
            topics.add(TopicResponse(topic.name, partitions.array()), 1 + partitions.pieces)
        return DescribeProducersResponse(topics=topics.array())

    def _partition_response(self, topic: str, index: int, pace: Pace) -> Steps[PartitionResponse]:
        """Return a partition's active producers, or an error if this broker does not lead it."""
        partition = self._replicas.partition(topic, index)
        if partition is None:
            topic_exists = self._replicas.image.topics.get(topic) is not None
            error = int(self._replicas.why_absent(topic, index))
            return PartitionResponse(index, error, None if topic_exists else _NOT_HOSTED)
        if not partition.is_leader:
            return PartitionResponse(index, int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        producers = Items[ProducerState](VERSION)
        for producer in list(partition.log.producers):
            if pace.is_full():
                yield None
            producers.add(_producer_state(producer))
        return PartitionResponse(index, 0, None, producers.array())


def _refusal(rights: Rights, topic: str) -> tuple[int, str] | None:
    """Return the error and its text if the topic is invalid or may not be read, else None."""
    fault = topic_name_fault(topic)
    if fault is not None:
        return int(ErrorCode.INVALID_TOPIC_EXCEPTION), fault
    if not rights.allows(Operation.READ, Resource.TOPIC, topic):
        return int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), _DENIED
    return None


def _producer_state(entry: ProducerStateEntry) -> ProducerState:
    started = entry.current_txn_first_offset
    return ProducerState(
        entry.producer_id,
        entry.producer_epoch,
        entry.last_sequence,
        entry.last_timestamp,
        entry.coordinator_epoch,
        NO_OFFSET if started is None else started,
    )


def refuse_describe_producers(
    request: DescribeProducersRequest, error: ErrorCode
) -> DescribeProducersResponse:
    """Return a response with `error` for every partition."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name, [PartitionResponse(i, int(error)) for i in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )
