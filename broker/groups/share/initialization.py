"""The topics of a share group whose state the share coordinator has, or is about to have.

    not there → initializing → initialized → deleting → not there

A partition is assigned only when its state is initialized. Owns the three sets, as record type 15
has them. A topic is initialized partition by partition if it grows. Follows Kafka's
`ShareGroupStatePartitionMetadataInfo` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from broker.coordinator.coordinator_log import Record
from broker.groups.group_records import record, tombstone
from controller.metadata.image import TopicsImage
from protocol.messages.group_records import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupStatePartitionMetadataValueTopicInfo,
    TopicPartitionsInfo,
)


class InitializedTopic(NamedTuple):
    """A topic, and those of its partitions that have a state."""

    name: str
    partitions: tuple[int, ...]
    """The partitions' numbers, ascending."""

    def with_partitions(self, added: Iterable[int]) -> InitializedTopic:
        """Return the topic with more partitions."""
        return self._replace(partitions=tuple(sorted({*self.partitions, *added})))

    def without_partitions(self, removed: Iterable[int]) -> InitializedTopic | None:
        """Return the topic with fewer partitions; None if none is left."""
        gone = frozenset(removed)
        rest = tuple(index for index in self.partitions if index not in gone)
        return self._replace(partitions=rest) if rest else None


Topics: TypeAlias = Mapping[bytes, InitializedTopic]
Partitions: TypeAlias = Mapping[bytes, Sequence[int]]
"""Numbers of partitions by topic id."""


class StateTopics(NamedTuple):
    """The topics of a group, by id. Never changes; a record of type 15 replaces it."""

    initializing: Topics = {}
    initialized: Topics = {}
    deleting: Mapping[bytes, str] = {}
    """The names of topics whose state is to be deleted, by id."""

    @property
    def ids(self) -> frozenset[bytes]:
        """The ids of topics that the group has initialized, or begun to."""
        return frozenset((*self.initializing, *self.initialized))

    def missing(
        self, names: Iterable[str], topics: TopicsImage, retried: Iterable[bytes] = ()
    ) -> dict[bytes, InitializedTopic]:
        """Return the partitions of subscribed topics that have no state and are not initializing.

        `retried`: the ids of topics whose initialization takes too long, and begins again.
        """
        again = frozenset(retried)
        missing = {}
        for name in sorted(names):
            topic = topics.get(name)
            if topic is None:
                continue
            there = set(self._partitions(self.initialized, topic.id))
            if topic.id not in again:
                there.update(self._partitions(self.initializing, topic.id))
            absent = tuple(index for index in range(len(topic.partitions)) if index not in there)
            if absent:
                missing[topic.id] = InitializedTopic(name, absent)
        return missing

    @staticmethod
    def _partitions(topics: Topics, topic_id: bytes) -> tuple[int, ...]:
        topic = topics.get(topic_id)
        return () if topic is None else topic.partitions

    def begin(self, added: Topics) -> StateTopics:
        """Return the topics after an initialization has begun; none of them is deleting then."""
        initializing = dict(self.initializing)
        for topic_id, topic in added.items():
            before = initializing.get(topic_id, topic)
            initializing[topic_id] = before.with_partitions(topic.partitions)
        deleting = {key: name for key, name in self.deleting.items() if key not in added}
        return self._replace(initializing=initializing, deleting=deleting)

    def finish(self, done: Partitions) -> StateTopics:
        """Return the topics after partitions were initialized. Those that are not initializing any
        more, because their topic was deleted, are left out."""
        initialized = dict(self.initialized)
        for topic_id, partitions in done.items():
            topic = self.initializing.get(topic_id)
            if topic is not None:
                there = initialized.get(topic_id, topic._replace(partitions=()))
                initialized[topic_id] = there.with_partitions(partitions)
        return self.give_up(done)._replace(initialized=initialized)

    def give_up(self, failed: Partitions) -> StateTopics:
        """Return the topics after the initialization of partitions failed."""
        initializing = {}
        for topic_id, topic in self.initializing.items():
            rest = topic.without_partitions(failed.get(topic_id, ()))
            if rest is not None:
                initializing[topic_id] = rest
        return self._replace(initializing=initializing)

    def begin_deletion(self, topic_ids: Iterable[bytes]) -> StateTopics:
        """Return the topics after the deletion of some topics' state has begun."""
        ids = frozenset(topic_ids)
        names = {key: topic.name for key, topic in self.initialized.items() if key in ids}
        return StateTopics(
            self.initializing,
            _without(self.initialized, ids),
            {**self.deleting, **names},
        )

    def end_deletion(self, topic_ids: Iterable[bytes]) -> StateTopics:
        """Return the topics after the deletion of some topics' state has ended."""
        ids = frozenset(topic_ids)
        rest = {key: name for key, name in self.deleting.items() if key not in ids}
        return self._replace(deleting=rest)

    def forget(self, topic_ids: Iterable[bytes]) -> StateTopics:
        """Return the topics without those that were deleted."""
        ids = frozenset(topic_ids)
        deleting = {key: name for key, name in self.deleting.items() if key not in ids}
        return StateTopics(
            _without(self.initializing, ids), _without(self.initialized, ids), deleting
        )


def _without(topics: Topics, ids: frozenset[bytes]) -> dict[bytes, InitializedTopic]:
    return {topic_id: topic for topic_id, topic in topics.items() if topic_id not in ids}


def state_topics_record(group_id: str, topics: StateTopics) -> Record:
    """Return the record of a group's topics (type 15)."""
    return record(
        ShareGroupStatePartitionMetadataKey(group_id),
        ShareGroupStatePartitionMetadataValue(
            _infos(topics.initializing),
            _infos(topics.initialized),
            [
                ShareGroupStatePartitionMetadataValueTopicInfo(topic_id, name)
                for topic_id, name in topics.deleting.items()
            ],
        ),
    )


def state_topics_tombstone(group_id: str) -> Record:
    """Return the tombstone of a group's topics."""
    return tombstone(ShareGroupStatePartitionMetadataKey(group_id))


def state_topics_of(value: ShareGroupStatePartitionMetadataValue) -> StateTopics:
    """Return the topics in a record of type 15."""
    return StateTopics(
        _topics(value.initializing_topics),
        _topics(value.initialized_topics),
        {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
    )


def _infos(topics: Topics) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id, topic.name, list(topic.partitions))
        for topic_id, topic in topics.items()
    ]


def _topics(infos: Iterable[TopicPartitionsInfo]) -> dict[bytes, InitializedTopic]:
    return {
        info.topic_id: InitializedTopic(info.topic_name, tuple(sorted(info.partitions)))
        for info in infos
    }
