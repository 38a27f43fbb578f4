"""DescribeProducers: v0 (KIP-664).

Behaviour: per partition that this broker leads, the producers that its log remembers: epoch, last
sequence, last timestamp, and the start of an open transaction.

Needs READ on each topic: TOPIC_AUTHORIZATION_FAILED per partition, whether it is there or not. What
is no name of a topic is told first.
"""

from __future__ import annotations

from broker.replication.replica_manager import ReplicaManager
from broker.requests.context import Api, RequestContext, Respond
from controller.metadata.topic_names import topic_name_fault
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from protocol.rights import Rights
from storage.log.producer_state import ProducerStateEntry

NO_OFFSET = -1

_NOT_HOSTED = "This server does not host this topic-partition."  # Kafka's words, of topics alone
_DENIED = "Topic authorization failed."


class DescribeProducersApi:
    """Who writes to a partition."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def apis(self) -> list[Api]:
        return [Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0, self.handle, refuse_describe_producers)]

    def handle(
        self, context: RequestContext, request: DescribeProducersRequest, respond: Respond
    ) -> None:
        topics = []
        for topic in request.topics:
            refusal = _refusal(context.rights, topic.name)
            if refusal is None:
                partitions = [self._partition(topic.name, one) for one in topic.partition_indexes]
            else:
                partitions = [PartitionResponse(i, *refusal) for i in topic.partition_indexes]
            topics.append(TopicResponse(topic.name, partitions))
        respond(DescribeProducersResponse(topics=topics))

    def _partition(self, topic: str, index: int) -> PartitionResponse:
        partition = self._replicas.partition(topic, index)
        if partition is None:
            known = self._replicas.image.topics.get(topic) is not None
            error = int(self._replicas.why_absent(topic, index))
            return PartitionResponse(index, error, None if known else _NOT_HOSTED)
        if not partition.is_leader:
            return PartitionResponse(index, int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        return PartitionResponse(index, 0, None, [_state(one) for one in partition.log.producers])


def _refusal(rights: Rights, topic: str) -> tuple[int, str] | None:
    fault = topic_name_fault(topic)
    if fault is not None:
        return int(ErrorCode.INVALID_TOPIC_EXCEPTION), fault
    if not rights.allows(Operation.READ, Resource.TOPIC, topic):
        return int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), _DENIED
    return None


def _state(entry: ProducerStateEntry) -> ProducerState:
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
    """The response that says `error` for every partition."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                topic.name, [PartitionResponse(i, int(error)) for i in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )
