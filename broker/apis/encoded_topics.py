"""A cache of encoded topics for Metadata responses, shared by all clients.

A topic's bytes depend on its image, the registered brokers, the listener, the version and the
authorized operations; these are the key of the cache. A new metadata image shares all unchanged
parts with the previous one. So if one topic of ten thousand changes, one topic is encoded again.
For clients that may see all topics, the bytes of all topics are also kept in one piece.

Owns the cache, of at most `ottla.metadata.answers.max.bytes`. If the cache is full, the least
recently used kind of answer is dropped. Never decides what a client may see.

Kafka builds each response from scratch (`KRaftMetadataCache.getTopicMetadata`).
"""

from __future__ import annotations

from broker.apis.cluster_view import NO_BROKER, ClusterView
from controller.metadata.image import (
    MetadataImage,
    PartitionRegistration,
    TopicImage,
    TopicsImage,
)
from controller.metadata.topic_names import is_internal
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps
from protocol.errors import ErrorCode
from protocol.frames.encoded_items import Items
from protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from protocol.primitives import MessageBuffer

TOPIC_BYTES = 200
"""The approximate bytes that a kept topic takes besides its encoded bytes."""
KIND_BYTES = 1000
"""The approximate bytes that an empty `KindOfAnswer` takes."""
LOOKUPS_AT_ONCE = 4096
"""The most topics that are looked up in one slice."""
LISTENER_ERRORS_FROM = 6
OPERATIONS_FROM = 8

# The first version of each range in which topics have the same bytes and errors.
_FORMS = (0, 1, 5, 6, 7, 8, 9, 10)

Kind = tuple[str, int, int]
"""A listener, the first version of its range in `_FORMS`, and authorized operations."""


class KindOfAnswer:
    """The topics kept for one kind of answer, as long as the brokers do not change."""

    __slots__ = ("all", "brokers", "kind", "size", "topics")

    def __init__(self, kind: Kind, brokers: object) -> None:
        self.kind = kind
        self.brokers = brokers
        self.topics: dict[str, tuple[TopicImage, bytes]] = {}
        self.all: tuple[TopicsImage, bytes] | None = None
        self.size = KIND_BYTES

    def kept_bytes(self, topic: TopicImage) -> bytes | None:
        """Return the topic's encoded bytes; None if they are not kept."""
        kept = self.topics.get(topic.name)
        return kept[1] if kept is not None and kept[0] is topic else None


class EncodedTopics:
    """The cache of encoded topics."""

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes` limits the cache; 0 keeps nothing."""
        self._max_bytes = max_bytes
        self._kinds: dict[Kind, KindOfAnswer] = {}
        """The kinds that are kept, the least recently used first."""
        self.size = 0
        """The approximate bytes that the cache takes."""

    def kind(
        self, image: MetadataImage, listener_name: str, version: int, operations: int
    ) -> KindOfAnswer:
        """Return the topics kept for answers with these `operations` to clients of a listener. They
        are a new, empty kind if the brokers have changed.

        The kind becomes the most recently used. Others are dropped if the cache is too large.
        """
        form = max(first for first in _FORMS if first <= version)
        key = listener_name, form, operations if version >= OPERATIONS_FROM else 0
        kind = self._kinds.pop(key, None)
        if kind is None or kind.brokers is not image.brokers:
            self._subtract_size(kind)
            kind = KindOfAnswer(key, image.brokers)
            self.size += kind.size
        self._kinds[key] = kind
        self._make_room()
        return kind

    def _make_room(self) -> None:
        """Drop the least recently used kinds until the cache fits. The newest one stays."""
        while self.size > self._max_bytes and len(self._kinds) > 1:
            self._subtract_size(self._kinds.pop(next(iter(self._kinds))))

    def topic(
        self,
        kind: KindOfAnswer,
        topic: TopicImage,
        view: ClusterView,
        version: int,
        operations: int,
        pace: Pace,
    ) -> Steps[bytes]:
        """Return the topic's encoded bytes, in slices: from the cache, or encoded now and kept if
        there is room.

        `view` is of the image that `kind` was made with.
        """
        kept_bytes = kind.kept_bytes(topic)
        if kept_bytes is not None:
            return kept_bytes
        if pace.is_full():
            yield None
            kept_bytes = kind.kept_bytes(topic)
            if kept_bytes is not None:  # another request has encoded it meanwhile
                return kept_bytes
        partitions = Items[MetadataResponsePartition](version)
        for index, partition in topic.partitions.items():
            if len(partitions) and pace.is_full():
                yield None
            partitions.add(partition_answer(index, partition, view, version))
        out = MessageBuffer()
        MetadataResponseTopic(
            0, topic.name, topic.id, is_internal(topic.name), partitions.array(), operations
        ).write(out, version)
        data = out.joined()
        size = len(data) + TOPIC_BYTES
        kept = kind.topics.get(topic.name)
        freed = 0 if kept is None else len(kept[1]) + TOPIC_BYTES
        if self._has_room(kind, size - freed):
            kind.topics[topic.name] = topic, data
        return data

    def all_topics(
        self,
        kind: KindOfAnswer,
        topics: TopicsImage,
        view: ClusterView,
        version: int,
        operations: int,
    ) -> Steps[bytes]:
        """Return the encoded bytes of all topics, in slices and in the image's order: from the
        cache, or encoded now and kept if there is room."""
        pace, lookup_pace, encoded = Pace(), Pace(LOOKUPS_AT_ONCE), []
        if len(topics.by_name) > PIECES_AT_ONCE and (kind.all is None or kind.all[0] is not topics):
            yield None  # this is much work: short requests go first
        for topic in topics.by_name.values():
            if kind.all is not None and kind.all[0] is topics:
                return kind.all[1]  # another request has encoded them meanwhile
            if lookup_pace.is_full():
                yield None
            data = kind.kept_bytes(topic)
            if data is None:
                data = yield from self.topic(kind, topic, view, version, operations, pace)
            encoded.append(data)
        data = b"".join(encoded)
        self._keep_all(kind, topics, data)
        return data

    def _keep_all(self, kind: KindOfAnswer, topics: TopicsImage, data: bytes) -> None:
        """Keep the bytes of all topics if they fit, and drop topics that were deleted."""
        freed = 0 if kind.all is None else len(kind.all[1])
        for name in [name for name in kind.topics if name not in topics.by_name]:
            freed += len(kind.topics.pop(name)[1]) + TOPIC_BYTES
        kind.all = None
        if self._has_room(kind, len(data) - freed):
            kind.all = topics, data
        elif self._kinds.get(kind.kind) is kind:
            kind.size -= freed
            self.size -= freed

    def _has_room(self, kind: KindOfAnswer, size: int) -> bool:
        """Reserve `size` more bytes for a kind, and drop the least recently used others if need be.
        Return False if the bytes do not fit, or the kind is no longer kept."""
        if self._kinds.get(kind.kind) is not kind or kind.size + size > self._max_bytes:
            return False
        kind.size += size
        self.size += size
        self._kinds[kind.kind] = self._kinds.pop(kind.kind)
        self._make_room()
        return True

    def _subtract_size(self, kind: KindOfAnswer | None) -> None:
        """Subtract the bytes of a dropped kind from `size`; None: nothing was dropped."""
        if kind is not None:
            self.size -= kind.size


def partition_answer(
    index: int, partition: PartitionRegistration, view: ClusterView, version: int
) -> MetadataResponsePartition:
    """Return a partition as Metadata describes it in this version.

    It has an error if its leader has no address on the listener or, in v0, if not all replicas are
    live.
    """
    replicas, isr = list(partition.replicas), list(partition.isr)
    error = ErrorCode.NONE
    if version == 0:
        replicas, isr = view.live(replicas), view.live(isr)
        if len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
    leader = partition.leader
    if view.address(leader) is None:
        elsewhere = version >= LISTENER_ERRORS_FROM and view.is_registered(leader)
        error = ErrorCode.LISTENER_NOT_FOUND if elsewhere else ErrorCode.LEADER_NOT_AVAILABLE
        leader = NO_BROKER
    return MetadataResponsePartition(
        int(error),
        index,
        leader,
        partition.leader_epoch,
        replicas,
        isr,
        view.offline_replicas(partition),
    )
