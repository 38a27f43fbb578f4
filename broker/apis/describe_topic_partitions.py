"""DescribeTopicPartitions: v0 (KIP-966).

Behaviour: returns the partitions of topics in the order of the topics' names. One response has at
most `max.request.partition.size.limit` partitions, or fewer if the request says so. If more remain,
`next_cursor` names the first of them. A request without topics means all topics. Topics that do not
exist do not count towards the limit. The eligible leader replicas are empty lists, never null,
because the Java admin client does not accept null.

Rights: DESCRIBE on each topic. A denied topic that the request names is TOPIC_AUTHORIZATION_FAILED
on each page, without its id. If all topics are requested, denied topics are left out. A cursor on a
denied topic continues after that topic.
"""

from __future__ import annotations

from bisect import bisect_left

from broker.apis.cluster_view import NO_BROKER, ClusterView, ImageSource
from broker.requests.context import Api, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import Rights
from controller.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from controller.metadata.topic_names import is_internal, topic_name_fault
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import Pace, Steps, in_bulk, in_order
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsRequestCursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

VERSION = 0
WITH_OPERATIONS = 8
"""The pieces of work (`Pace`) that a topic's authorized operations count as."""


class DescribeTopicPartitionsApi:
    """The handler of DescribeTopicPartitions."""

    def __init__(
        self,
        metadata: ImageSource,
        max_request_partition_size_limit: int,
        answers: SlicedAnswers,
    ) -> None:
        self._metadata = metadata
        self._answers = answers
        self._limit = max_request_partition_size_limit

    def apis(self) -> list[Api]:
        return [
            Api(
                ApiKey.DESCRIBE_TOPIC_PARTITIONS,
                VERSION,
                VERSION,
                self.handle,
                refuse_describe_topic_partitions,
            )
        ]

    def handle(
        self, context: RequestContext, request: DescribeTopicPartitionsRequest, respond: Respond
    ) -> None:
        """Respond with a page of the requested topics, or of all, that the client may DESCRIBE."""
        steps = self._answer(context, request, self._metadata.image)
        self._answers.give(context, request, steps, respond, refuse_describe_topic_partitions)

    def _answer(
        self,
        context: RequestContext,
        request: DescribeTopicPartitionsRequest,
        image: MetadataImage,
    ) -> Steps[DescribeTopicPartitionsResponse]:
        """Return the response as of `image`, in slices, also if a newer image comes between them.

        Topics that are named but denied get an error. An invalid cursor is INVALID_REQUEST for all.
        """
        names = yield from _names(request, image)
        if names is None:
            return refuse_describe_topic_partitions(request, ErrorCode.INVALID_REQUEST)
        limit = max(min(self._limit, request.response_partition_limit), 1)
        shown = yield from allowed_in_slices(
            context.rights,
            Operation.DESCRIBE,
            Resource.TOPIC,
            names,
            audited=bool(request.topics),
        )
        view = ClusterView(image, context.listener_name)
        seen: list[str] = []
        yield from in_bulk(
            lambda slice_names: seen.extend(name for name in slice_names if name in shown), names
        )
        topics = Items[DescribeTopicPartitionsResponseTopic](VERSION)
        cursor = yield from _page(seen, request.cursor, limit, image, view, context.rights, topics)
        pace = Pace()
        for name in names if request.topics else ():
            if pace.is_full():
                yield None
            if name not in shown:
                topics.add(_denied_topic(name))
        return DescribeTopicPartitionsResponse(topics=topics.array(), next_cursor=cursor)


def _names(
    request: DescribeTopicPartitionsRequest, image: MetadataImage
) -> Steps[list[str] | None]:
    """Return the requested names from the cursor on, sorted; None if the cursor is invalid."""
    cursor = request.cursor
    names: dict[str, None] = {}
    yield from in_bulk(
        lambda slice_names: names.update(dict.fromkeys(slice_names)),
        (topic.name for topic in request.topics) if request.topics else image.topics.by_name,
    )
    if cursor is None:
        return (yield from in_order(names))
    if cursor.partition_index < 0 or (request.topics and cursor.topic_name not in names):
        return None
    ordered = yield from in_order(names)
    return ordered[bisect_left(ordered, cursor.topic_name) :]


def _page(
    names: list[str],
    cursor: DescribeTopicPartitionsRequestCursor | None,
    limit: int,
    image: MetadataImage,
    view: ClusterView,
    rights: Rights,
    described_topics: Items[DescribeTopicPartitionsResponseTopic],
) -> Steps[DescribeTopicPartitionsResponseCursor | None]:
    """Add topics with at most `limit` partitions to `described_topics`, from `cursor` on. Return
    where the next page begins; None if nothing is left."""
    pace = Pace()
    for name in names:
        if limit == 0:
            return DescribeTopicPartitionsResponseCursor(name, 0)
        topic = image.topics.get(name)
        if pace.is_full(1 if rights.unlimited else WITH_OPERATIONS):
            yield None
        operations = rights.operations(Resource.TOPIC, name)
        if topic is None:
            described_topics.add(_absent_topic(name, operations))
            continue
        first = cursor.partition_index if cursor and cursor.topic_name == name else 0
        indexes = [index for index in topic.partitions if index >= first]
        described = yield from _described_topic(topic, indexes[:limit], view, operations, pace)
        described_topics.add(described, 1 + len(described.partitions))
        if len(indexes) > limit:
            return DescribeTopicPartitionsResponseCursor(name, indexes[limit])
        limit -= len(indexes)
    return None


def _absent_topic(name: str, operations: int) -> DescribeTopicPartitionsResponseTopic:
    """Return the answer for a topic that does not exist or whose name is invalid."""
    error = (
        ErrorCode.INVALID_TOPIC_EXCEPTION
        if topic_name_fault(name)
        else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    return DescribeTopicPartitionsResponseTopic(
        int(error),
        name,
        is_internal=is_internal(name),
        topic_authorized_operations=operations,
    )


def _denied_topic(name: str) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(int(ErrorCode.TOPIC_AUTHORIZATION_FAILED), name)


def _described_topic(
    topic: TopicImage, indexes: list[int], view: ClusterView, operations: int, pace: Pace
) -> Steps[DescribeTopicPartitionsResponseTopic]:
    """Return a topic with the partitions of `indexes`, which must exist."""
    partitions = Items[DescribeTopicPartitionsResponsePartition](VERSION)
    for index in indexes:
        if pace.is_full():
            yield None
        partitions.add(_described_partition(index, topic.partitions[index], view))
    name, internal = topic.name, is_internal(topic.name)
    return DescribeTopicPartitionsResponseTopic(
        0, name, topic.id, internal, partitions.array(), operations
    )


def _described_partition(
    index: int, partition: PartitionRegistration, view: ClusterView
) -> DescribeTopicPartitionsResponsePartition:
    """Return a partition; NO_BROKER leads it if the leader lacks an address on this listener."""
    leader = NO_BROKER if view.address(partition.leader) is None else partition.leader
    return DescribeTopicPartitionsResponsePartition(
        0,
        index,
        leader,
        partition.leader_epoch,
        list(partition.replicas),
        list(partition.isr),
        list(partition.elr),
        list(partition.last_known_elr),
        view.offline_replicas(partition),
    )


def refuse_describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, error: ErrorCode
) -> DescribeTopicPartitionsResponse:
    """Return a response with `error` for every requested topic."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(int(error), topic.name) for topic in request.topics
        ]
    )
