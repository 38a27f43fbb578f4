"""The topics of a request with their partitions: those that exist, and errors for the others.

They are looked up in slices, because one request may name very many. Owns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Protocol, TypeVar

from controller.authorization.rights import Rights
from controller.metadata.image import TopicImage, TopicsImage
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import Pace, Steps, drained
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.message import replace
from protocol.messages.offset_commit import OffsetCommitRequestTopic
from protocol.messages.txn_offset_commit import TxnOffsetCommitRequestTopic


class NamedPartition(Protocol):
    """A partition in a request."""

    partition_index: int


T = TypeVar("T", OffsetCommitRequestTopic, TxnOffsetCommitRequestTopic)
P = TypeVar("P", bound=NamedPartition)
R = TypeVar("R")


def readable_topics(
    topics: Iterable[T], images: TopicsImage, rights: Rights, pace: Pace, *, by_id: bool
) -> Steps[list[tuple[T, Container[int], ErrorCode]]]:
    """Return each topic with its name and id, the indexes of its partitions, and the error of all
    other partitions. A topic that the client may not READ or that does not exist has no indexes.

    `by_id`: the topics have ids in place of names, and an unknown id is UNKNOWN_TOPIC_ID.
    """
    named = list[tuple[T, TopicImage | None]]()
    for topic in topics:
        if pace.is_full():
            yield None
        image = images.get_by_id(topic.topic_id) if by_id else images.get(topic.name)
        if image is not None:
            topic = replace(topic, name=image.name, topic_id=image.id)
        named.append((topic, image))
    names = (topic.name for topic, image in named if image is not None or not by_id)
    readable = yield from allowed_in_slices(rights, Operation.READ, Resource.TOPIC, names)
    checked = list[tuple[T, Container[int], ErrorCode]]()
    for topic, image in drained(named):
        if pace.is_full():
            yield None
        if image is None and by_id:
            checked.append((topic, (), ErrorCode.UNKNOWN_TOPIC_ID))
        elif topic.name not in readable:
            checked.append((topic, (), ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        else:
            indexes = () if image is None else image.partitions
            checked.append((topic, indexes, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return checked


def split_partitions(
    partitions: Iterable[P],
    existing_indexes: Container[int],
    refuse: Callable[[int], R],
    pace: Pace,
) -> Steps[tuple[list[P], list[R]]]:
    """Return the `partitions` whose index is in `existing_indexes`, and `refuse(index)` for each of
    the others.
    """
    good, refused = list[P](), list[R]()
    if pace.is_full():
        yield None
    for partition in partitions:
        if pace.is_full():
            yield None
        if partition.partition_index in existing_indexes:
            good.append(partition)
        else:
            refused.append(refuse(partition.partition_index))
    return good, refused
