"""OffsetFetch's answer for one group: its offsets at one moment, topic by topic, in slices.

Owns the part of a response that is about one group. Never reads the offset store
(`broker.groups.offset_store`). Versions: see `broker.apis.group_offsets`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from broker.groups.fetched_offsets import FetchedOffsets
from broker.requests.context import RequestContext
from controller.metadata.image import MetadataImage
from controller.requests.rights import allowed_in_slices
from ground.sliced_work import Pace, Steps
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.offset_fetch import (
    OffsetFetchRequestTopics,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from protocol.primitives import ZERO_UUID

NO_OFFSET = -1
TOPIC_IDS_FROM = 10
SEVERAL_GROUPS_FROM = 8
NAMED_AT_ONCE = 1_024
"""The most requested topics whose names are looked up in one slice."""


_Partition = OffsetFetchResponsePartition | OffsetFetchResponsePartitions
_Topic = OffsetFetchResponseTopic | OffsetFetchResponseTopics
"""A topic in the response; the first class is that of versions before v8."""


class OffsetFetchAnswer:
    """The topics of one group in a response. `image` has the topics that exist."""

    def __init__(
        self, context: RequestContext, offsets: FetchedOffsets, image: MetadataImage
    ) -> None:
        self._version = context.api_version
        self._rights = context.rights
        self._offsets = offsets
        self._topics = image.topics
        self._by_id = self._version >= TOPIC_IDS_FROM
        self._pace = Pace()
        self.topics = Items[_Topic](self._version)
        """The topics added so far, in the message class of this version."""

    def all_topics(self) -> Steps[None]:
        """Add to `topics` all topics with an offset that the client may DESCRIBE.

        From v10 on, which has ids instead of names, deleted topics are left out because they have
        no id.
        """
        by_topic = self._offsets.by_topic
        shown = yield from allowed_in_slices(
            self._rights, Operation.DESCRIBE, Resource.TOPIC, by_topic
        )
        for name, partitions in by_topic.items():
            if name not in shown:
                continue
            topic_id = ZERO_UUID
            if self._by_id:
                topic_image = self._topics.get(name)
                if topic_image is None:
                    continue
                topic_id = topic_image.id
            yield from self._topic(name, topic_id, partitions, lookup_id=ZERO_UUID)

    def named_topics(self, requested: Sequence[OffsetFetchRequestTopics]) -> Steps[None]:
        """Add the requested topics to `topics`, those with errors last.

        The errors are TOPIC_AUTHORIZATION_FAILED, and UNKNOWN_TOPIC_ID for an unknown id. Before v8
        the requested topics are messages of a class without ids.
        """
        names, pace = list[str](), Pace(NAMED_AT_ONCE)
        for topic in requested:
            if pace.is_full():
                yield None
            names.append(self._name_of(topic) if self._by_id else topic.name)
        shown = yield from allowed_in_slices(
            self._rights,
            Operation.DESCRIBE,
            Resource.TOPIC,
            (name for name in names if name or not self._by_id),
        )
        refused: list[tuple[OffsetFetchRequestTopics, str, ErrorCode]] = []
        for topic, name in zip(requested, names, strict=True):
            if pace.is_full():
                yield None
            if self._by_id and not name:
                refused.append((topic, name, ErrorCode.UNKNOWN_TOPIC_ID))
            elif name not in shown:
                refused.append((topic, name, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
            else:
                topic_id = topic.topic_id if self._by_id else ZERO_UUID
                yield from self._topic(name, topic_id, topic.partition_indexes, lookup_id=topic_id)
        for topic, name, error in refused:
            yield from self._add_refused(topic, name, error)

    def _name_of(self, topic: OffsetFetchRequestTopics) -> str:
        """Return the topic's name, or "" for an unknown id."""
        topic_image = self._topics.get_by_id(topic.topic_id)
        return "" if topic_image is None else topic_image.name

    def _topic(
        self, name: str, topic_id: bytes, partitions: Iterable[int], *, lookup_id: bytes
    ) -> Steps[None]:
        """Add a topic with the offsets of its partitions: -1 if there is none,
        UNSTABLE_OFFSET_COMMIT while one is pending in a transaction.

        Offsets that were committed for another topic id than `lookup_id` are ignored; zero accepts
        any.
        """
        offsets = self._offsets
        answers = Items[_Partition](self._version)
        for index in partitions:
            if self._pace.is_full():
                yield None
            committed = offsets.find(name, index, lookup_id)
            if offsets.is_unstable(name, index):
                answers.add(self._without_offset(index, ErrorCode.UNSTABLE_OFFSET_COMMIT))
            elif committed is None:
                answers.add(self._without_offset(index, ErrorCode.NONE))
            else:
                offset, epoch, metadata = committed[:3]
                answers.add(self._partition_answer(index, offset, epoch, metadata, ErrorCode.NONE))
        self._add_topic(name, topic_id, answers)

    def _add_refused(
        self, topic: OffsetFetchRequestTopics, name: str, error: ErrorCode
    ) -> Steps[None]:
        """Add a topic with `error` and no offset for each of its partitions."""
        answers = Items[_Partition](self._version)
        if self._pace.is_full():
            yield None
        for index in topic.partition_indexes:
            if self._pace.is_full():
                yield None
            answers.add(self._without_offset(index, error))
        self._add_topic(name, topic.topic_id if self._by_id else ZERO_UUID, answers)

    def _without_offset(self, index: int, error: ErrorCode) -> _Partition:
        return self._partition_answer(index, NO_OFFSET, -1, "", error)

    def _partition_answer(
        self, index: int, offset: int, epoch: int, metadata: str, error: ErrorCode
    ) -> _Partition:
        """Return a partition in the class of this version of the response."""
        if self._version >= SEVERAL_GROUPS_FROM:
            return OffsetFetchResponsePartitions(index, offset, epoch, metadata, int(error))
        return OffsetFetchResponsePartition(index, offset, epoch, metadata, int(error))

    def _add_topic(self, name: str, topic_id: bytes, partitions: Items[_Partition]) -> None:
        """Add a topic to the response in the class of its version."""
        array: Any = partitions.array()
        pieces = 1 + partitions.pieces
        if self._version >= SEVERAL_GROUPS_FROM:
            self.topics.add(OffsetFetchResponseTopics(name, topic_id, array), pieces)
        else:
            self.topics.add(OffsetFetchResponseTopic(name, array), pieces)
