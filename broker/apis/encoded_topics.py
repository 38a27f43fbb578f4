"""Topics as Metadata's answers have them, written once for all who ask.

What an answer says of a topic depends on the topic's image, the registered brokers, the listener,
the version and the operations that the sender is told of: those are the key of what is kept. An
image shares all that stayed the same with the one before it, so one topic that changes among ten
thousand is one that is written anew. All topics, for those who may see them all, are kept in one
piece besides.

Owns what is kept, in at most `ottla.metadata.answers.max.bytes`: where that is full, the kind of
answer that was asked for longest ago goes. Never: decides what somebody may see.

Kafka builds each answer anew (`KRaftMetadataCache.getTopicMetadata`).
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
"""What a topic takes beside its bytes, about."""
KIND_BYTES = 1000
"""What a kind of answer takes, about, before anything is kept for it."""
FOUND_AT_ONCE = 4096
"""Topics that are looked up in one slice."""
LISTENER_ERRORS_FROM = 6
OPERATIONS_FROM = 8

# The first of the versions in which a topic is written alike, and with the same errors.
_FORMS = (0, 1, 5, 6, 7, 8, 9, 10)

Kind = tuple[str, int, int]
"""A listener, a form, and operations."""


class KindOfAnswer:
    """What is kept for one kind of answer, as long as the brokers are these."""

    __slots__ = ("all", "brokers", "kind", "size", "topics")

    def __init__(self, kind: Kind, brokers: object) -> None:
        self.kind = kind
        self.brokers = brokers
        self.topics: dict[str, tuple[TopicImage, bytes]] = {}
        self.all: tuple[TopicsImage, bytes] | None = None
        self.size = KIND_BYTES

    def found(self, topic: TopicImage) -> bytes | None:
        """The topic as it is written, where it is kept."""
        kept = self.topics.get(topic.name)
        return kept[1] if kept is not None and kept[0] is topic else None


class EncodedTopics:
    """See the module."""

    def __init__(self, max_bytes: int) -> None:
        """0: nothing is kept."""
        self._max_bytes = max_bytes
        self._kinds: dict[Kind, KindOfAnswer] = {}
        """What was asked for last comes last."""
        self.size = 0
        """Bytes that are taken, about."""

    def kind(
        self, image: MetadataImage, listener_name: str, version: int, operations: int
    ) -> KindOfAnswer:
        """What is kept for answers with these `operations` to a client of a listener."""
        form = max(one for one in _FORMS if one <= version)
        key = listener_name, form, operations if version >= OPERATIONS_FROM else 0
        kind = self._kinds.pop(key, None)
        if kind is None or kind.brokers is not image.brokers:
            self._forgotten(kind)
            kind = KindOfAnswer(key, image.brokers)
            self.size += kind.size
        self._kinds[key] = kind
        self._make_room()
        return kind

    def _make_room(self) -> None:
        """The kind that was asked for last stays."""
        while self.size > self._max_bytes and len(self._kinds) > 1:
            self._forgotten(self._kinds.pop(next(iter(self._kinds))))

    def topic(
        self,
        kind: KindOfAnswer,
        topic: TopicImage,
        view: ClusterView,
        version: int,
        operations: int,
        pace: Pace,
    ) -> Steps[bytes]:
        """The topic as it is written; `view` is of the image that `kind` was asked with."""
        found = kind.found(topic)
        if found is not None:
            return found
        if pace.is_full():
            yield None
            found = kind.found(topic)
            if found is not None:  # another request was quicker
                return found
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
        """All of them as they are written, in their order."""
        pace, finding, written = Pace(), Pace(FOUND_AT_ONCE), []
        if len(topics.by_name) > PIECES_AT_ONCE and (kind.all is None or kind.all[0] is not topics):
            yield None  # there is much to do: first those who want little
        for topic in topics.by_name.values():
            if kind.all is not None and kind.all[0] is topics:
                return kind.all[1]  # another request was quicker
            if finding.is_full():
                yield None
            data = kind.found(topic)
            if data is None:
                data = yield from self.topic(kind, topic, view, version, operations, pace)
            written.append(data)
        data = b"".join(written)
        self._keep_all(kind, topics, data)
        return data

    def _keep_all(self, kind: KindOfAnswer, topics: TopicsImage, data: bytes) -> None:
        """These are all: topics that are gone are not kept any longer."""
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
        """Take room for so many bytes more; False where there is none."""
        if self._kinds.get(kind.kind) is not kind or kind.size + size > self._max_bytes:
            return False
        kind.size += size
        self.size += size
        self._kinds[kind.kind] = self._kinds.pop(kind.kind)
        self._make_room()
        return True

    def _forgotten(self, kind: KindOfAnswer | None) -> None:
        if kind is not None:
            self.size -= kind.size


def partition_answer(
    index: int, partition: PartitionRegistration, view: ClusterView, version: int
) -> MetadataResponsePartition:
    """A partition as Metadata tells of it."""
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
