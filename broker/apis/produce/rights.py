"""The station of rights: a Produce may use its transactional id, and write to each topic.

Owns: which parts of a request are refused before anything else is looked at. Follows
`handleProduceRequest` of Kafka's `KafkaApis` 4.3.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.apis.produce.answers import not_appended
from broker.apis.produce.passage import Passage
from broker.replication.replica_manager import ReplicaManager
from controller.authorization.rights import Rights
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.produce import (
    ProduceRequest,
    TopicProduceData,
    TopicProduceResponse,
)
from protocol.record_batch import HEADER_SIZE, TRANSACTIONAL_FLAG

LOW_ATTRIBUTES = 22  # the byte of a batch header that holds the flags

NameOf = Callable[[TopicProduceData], str | None]
"""Of a topic, also where the request has its id alone; None: there is no such topic."""


class WriteRights:
    """Refuses the topics, or the transactional id, that the client may not write to."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def judge(self, passage: Passage) -> bool:
        """Take from the passage what its sender may not write."""
        rights, request = passage.context.rights, passage.request
        if rights.unlimited:
            return True
        if not may_use_transaction(rights, request):
            return passage.refuse(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        name_of = self._name_by_id if passage.by_topic_id else _name
        allowed, denied = parted(rights, request.topic_data, name_of)
        if denied:
            passage.deny(denied, allowed)
        return True

    def _name_by_id(self, topic: TopicProduceData) -> str | None:
        known = self._replicas.image.topics.get_by_id(topic.topic_id)
        return None if known is None else known.name


def _name(topic: TopicProduceData) -> str:
    return topic.name


def may_use_transaction(rights: Rights, request: ProduceRequest) -> bool:
    """Whether it may use its transactional id, if it writes as a transaction. Records of none may
    come with any id."""
    if rights.unlimited or not _is_transactional(request):
        return True
    name = request.transactional_id
    return name is not None and rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, name)


def _is_transactional(request: ProduceRequest) -> bool:
    batches = (data.records for topic in request.topic_data for data in topic.partition_data)
    return any(
        isinstance(records, memoryview)
        and len(records) >= HEADER_SIZE
        and records[LOW_ATTRIBUTES] & TRANSACTIONAL_FLAG
        for records in batches
    )


def parted(
    rights: Rights, topics: list[TopicProduceData], name_of: NameOf
) -> tuple[list[TopicProduceData], list[TopicProduceResponse]]:
    """Those that it may write to, and the answers for the others. A topic id that nobody has is
    nobody's to refuse."""
    names = [name_of(topic) for topic in topics]
    asked = [
        name
        for name, topic in zip(names, topics, strict=True)
        if name is not None
        for _ in topic.partition_data
    ]
    may_write = rights.allowed(Operation.WRITE, Resource.TOPIC, asked)
    allowed, denied = [], []
    for topic, name in zip(topics, names, strict=True):
        if name is None or name in may_write:
            allowed.append(topic)
        else:
            denied.append(_denied(topic))
    return allowed, denied


def _denied(topic: TopicProduceData) -> TopicProduceResponse:
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    answers = [not_appended(data.index, code) for data in topic.partition_data]
    return TopicProduceResponse(topic.name, topic.topic_id, answers)
