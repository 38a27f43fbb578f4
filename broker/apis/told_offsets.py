"""What OffsetFetch tells of one group: its offsets at one moment, topic by topic, in slices.

Owns the part of an answer that is about one group. Never looks an offset up
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
"""Topics of a request that are only looked up in one slice."""


_Partition = OffsetFetchResponsePartition | OffsetFetchResponsePartitions
_Topic = OffsetFetchResponseTopic | OffsetFetchResponseTopics
"""The first before v8."""


class ToldOffsets:
    """One group's. `image` says which topics there are."""

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
        """Of the class that this version has."""

    def all(self) -> Steps[None]:
        """All topics with an offset, but those that the client may not know of. Where ids are asked
        for, a topic that is gone has none: left out."""
        by_topic = self._offsets.by_topic
        shown = yield from allowed_in_slices(
            self._rights, Operation.DESCRIBE, Resource.TOPIC, by_topic
        )
        for name, partitions in by_topic.items():
            if name not in shown:
                continue
            topic_id = ZERO_UUID
            if self._by_id:
                found = self._topics.get(name)
                if found is None:
                    continue
                topic_id = found.id
            yield from self._topic(name, topic_id, partitions, lookup_id=ZERO_UUID)

    def some(self, asked: Sequence[OffsetFetchRequestTopics]) -> Steps[None]:
        """Those that were asked for, before v8 by messages without ids; behind them
        TOPIC_AUTHORIZATION_FAILED, and UNKNOWN_TOPIC_ID for ids that are nobody's."""
        names, pace = list[str](), Pace(NAMED_AT_ONCE)
        for topic in asked:
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
        for topic, name in zip(asked, names, strict=True):
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
            yield from self._refused(topic, name, error)

    def _name_of(self, topic: OffsetFetchRequestTopics) -> str:
        found = self._topics.get_by_id(topic.topic_id)
        return "" if found is None else found.name

    def _topic(
        self, name: str, topic_id: bytes, partitions: Iterable[int], *, lookup_id: bytes
    ) -> Steps[None]:
        """`lookup_id`: an offset of a topic with another id does not count; zero: of any."""
        offsets = self._offsets
        told = Items[_Partition](self._version)
        for index in partitions:
            if self._pace.is_full():
                yield None
            committed = offsets.find(name, index, lookup_id)
            if offsets.is_unstable(name, index):
                told.add(self._none(index, ErrorCode.UNSTABLE_OFFSET_COMMIT))
            elif committed is None:
                told.add(self._none(index, ErrorCode.NONE))
            else:
                at, epoch, metadata = committed[:3]
                told.add(self._partition(index, at, epoch, metadata, ErrorCode.NONE))
        self._add(name, topic_id, told)

    def _refused(self, topic: OffsetFetchRequestTopics, name: str, error: ErrorCode) -> Steps[None]:
        told = Items[_Partition](self._version)
        if self._pace.is_full():
            yield None
        for index in topic.partition_indexes:
            if self._pace.is_full():
                yield None
            told.add(self._none(index, error))
        self._add(name, topic.topic_id if self._by_id else ZERO_UUID, told)

    def _none(self, index: int, error: ErrorCode) -> _Partition:
        return self._partition(index, NO_OFFSET, -1, "", error)

    def _partition(
        self, index: int, offset: int, epoch: int, metadata: str, error: ErrorCode
    ) -> _Partition:
        if self._version >= SEVERAL_GROUPS_FROM:
            return OffsetFetchResponsePartitions(index, offset, epoch, metadata, int(error))
        return OffsetFetchResponsePartition(index, offset, epoch, metadata, int(error))

    def _add(self, name: str, topic_id: bytes, partitions: Items[_Partition]) -> None:
        array: Any = partitions.array()
        pieces = 1 + partitions.pieces
        if self._version >= SEVERAL_GROUPS_FROM:
            self.topics.add(OffsetFetchResponseTopics(name, topic_id, array), pieces)
        else:
            self.topics.add(OffsetFetchResponseTopic(name, array), pieces)
