"""The station of rights: may the client use the transactional id and write to each topic?

Owns: which parts of a request are rejected before anything else is checked. Follows
`handleProduceRequest` of Kafka's `KafkaApis`.
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
"""Returns a topic's name, also if the request has only its id; None if there is no such topic."""


class WriteRights:
    """The station that rejects topics, or a transactional id, that the client may not write to."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas

    def judge(self, passage: Passage) -> bool:
        """Remove from the passage the topics that the client may not write to. Return True: the
        next station follows.

        Without the right to the transactional id, answer the whole request with an error, and
        return False.
        """
        rights, request = passage.context.rights, passage.request
        if rights.unlimited:
            return True
        if not may_use_transaction(rights, request):
            return passage.refuse(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        name_of = self._name_by_id if passage.by_topic_id else _name
        allowed, denied = split_by_rights(rights, request.topic_data, name_of)
        if denied:
            passage.deny(denied, allowed)
        return True

    def _name_by_id(self, topic: TopicProduceData) -> str | None:
        topic_image = self._replicas.image.topics.get_by_id(topic.topic_id)
        return None if topic_image is None else topic_image.name


def _name(topic: TopicProduceData) -> str:
    return topic.name


def may_use_transaction(rights: Rights, request: ProduceRequest) -> bool:
    """Return whether the client may write with the request's transactional id.

    Always True if no batch is transactional: such a request may have any transactional id.
    """
    if rights.unlimited or not _is_transactional(request):
        return True
    name = request.transactional_id
    return name is not None and rights.allows(Operation.WRITE, Resource.TRANSACTIONAL_ID, name)


def _is_transactional(request: ProduceRequest) -> bool:
    """Return True if any batch of the request is marked as transactional."""
    batches = (data.records for topic in request.topic_data for data in topic.partition_data)
    return any(
        isinstance(records, memoryview)
        and len(records) >= HEADER_SIZE
        and records[LOW_ATTRIBUTES] & TRANSACTIONAL_FLAG
        for records in batches
    )


def split_by_rights(
    rights: Rights, topics: list[TopicProduceData], name_of: NameOf
) -> tuple[list[TopicProduceData], list[TopicProduceResponse]]:
    """Return the topics that the client may write to, and the answers for the other topics.

    A topic id that no topic has counts as allowed here; the station of appends answers for it.
    """
    names = [name_of(topic) for topic in topics]
    names_of_partitions = [
        name
        for name, topic in zip(names, topics, strict=True)
        if name is not None
        for _ in topic.partition_data
    ]
    may_write = rights.allowed(Operation.WRITE, Resource.TOPIC, names_of_partitions)
    allowed, denied = [], []
    for topic, name in zip(topics, names, strict=True):
        if name is None or name in may_write:
            allowed.append(topic)
        else:
            denied.append(_denied_topic(topic))
    return allowed, denied


def _denied_topic(topic: TopicProduceData) -> TopicProduceResponse:
    """Return a topic with TOPIC_AUTHORIZATION_FAILED for each of its partitions."""
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    answers = [not_appended(data.index, code) for data in topic.partition_data]
    return TopicProduceResponse(topic.name, topic.topic_id, answers)
