"""What a Produce may not do: its transactional id first, then each topic.

Owns: which parts of a request are refused before anything else is looked at. Follows
`handleProduceRequest` of Kafka's `KafkaApis` 4.3.
"""

from __future__ import annotations

from collections.abc import Callable

from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.rights import Rights

NameOf = Callable[[TopicProduceData], str | None]
"""Of a topic, also where the request has its id alone; None: there is no such topic."""


def may_use_transaction(rights: Rights, request: ProduceRequest) -> bool:
    """Whether it may use its transactional id, if it has one."""
    name = request.transactional_id
    return name is None or rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, name)


def take_out_denied(
    rights: Rights, request: ProduceRequest, name_of: NameOf
) -> list[TopicProduceResponse]:
    """The answers for the topics that it may not write to, which the request has no longer. What
    is not there is not judged where it has no name."""
    names = [name_of(topic) for topic in request.topic_data]
    allowed = rights.allowed(Operation.WRITE, Resource.TOPIC, [name for name in names if name])
    denied, left = [], []
    for topic, name in zip(request.topic_data, names, strict=True):
        if name is None or name in allowed:
            left.append(topic)
        else:
            denied.append(_denied(topic))
    request.topic_data = left
    return denied


def _denied(topic: TopicProduceData) -> TopicProduceResponse:
    code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    answers = [
        PartitionProduceResponse(data.index, code, -1, -1, -1) for data in topic.partition_data
    ]
    return TopicProduceResponse(topic.name, topic.topic_id, answers)
