"""The changes of topics by a batch of records.

Owns: copies of only the topics that change. Never: replays records other than those of topics and
partitions.

Follows Kafka's `TopicsDelta`, `TopicDelta`, `LocalReplicaChanges`, `PartitionRegistration.merge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.metadata.image import (
    NO_LEADER_CHANGE,
    UNASSIGNED_DIRECTORY,
    PartitionRegistration,
    TopicImage,
    TopicsImage,
)
from controller.metadata.records import MetadataRecordError
from protocol.messages.metadata_records import PartitionChangeRecord


@dataclass(slots=True)
class TopicDelta:
    """A new or changed topic; `before` is None for a new one."""

    name: str
    id: bytes
    before: TopicImage | None
    changed: dict[int, PartitionRegistration] = field(default_factory=dict)
    """The present state of new and changed partitions."""

    def partition(self, index: int) -> PartitionRegistration | None:
        """Return the present state of partition `index`; None if it does not exist."""
        registration = self.changed.get(index)
        if registration is None and self.before is not None:
            registration = self.before.partitions.get(index)
        return registration


@dataclass(slots=True)
class LocalReplicaChanges:
    """The replicas that a broker has to delete, lead and follow.

    Keys are (topic name, topic id, partition index).
    """

    deletes: list[tuple[str, bytes, int]] = field(default_factory=list)
    leaders: dict[tuple[str, bytes, int], PartitionRegistration] = field(default_factory=dict)
    followers: dict[tuple[str, bytes, int], PartitionRegistration] = field(default_factory=dict)


class TopicsDelta:
    """The changes of topics since `image`."""

    def __init__(self, image: TopicsImage) -> None:
        self.image = image
        self.changed: dict[bytes, TopicDelta] = {}
        self.deleted: dict[bytes, TopicImage] = {}
        """The topics of `image` that were deleted. A topic created again has another id."""
        self._names: dict[str, bytes] = {}

    def create(self, name: str, topic_id: bytes) -> TopicDelta:
        """Replay a TopicRecord: add a new topic without partitions, and return its delta."""
        delta = self.changed[topic_id] = TopicDelta(name, topic_id, None)
        self._names[name] = topic_id
        return delta

    def set_partition(self, topic_id: bytes, index: int, to: PartitionRegistration) -> None:
        """Replay a PartitionRecord: set the state of a new or existing partition. Raises
        MetadataRecordError if the topic is unknown or deleted."""
        self._topic_to_change(topic_id).changed[index] = to

    def change_partition(self, record: PartitionChangeRecord) -> None:
        """Replay a PartitionChangeRecord: merge the record's values into the partition. Raises
        MetadataRecordError if the topic or partition is unknown."""
        topic = self._topic_to_change(record.topic_id)
        before = topic.partition(record.partition_id)
        if before is None:
            raise MetadataRecordError(
                f"change of partition {topic.name}-{record.partition_id}, which does not exist"
            )
        topic.changed[record.partition_id] = merge(before, record)

    def remove(self, topic_id: bytes) -> TopicDelta:
        """Replay a RemoveTopicRecord: delete the topic, and return the delta that it had. Raises
        MetadataRecordError if the topic is unknown."""
        topic = self._topic_to_change(topic_id)
        del self.changed[topic_id]
        if topic.before is not None:
            self.deleted[topic_id] = topic.before
        return topic

    def clear_elr(self, name: str) -> None:
        """Replay a ClearElrRecord: empty the ELR and last known ELR of the topic's partitions. An
        empty name means all topics; an unknown name is ignored."""
        ids = [self._names.get(name)] if name in self._names else self._image_ids(name)
        if not name:
            ids += [topic_id for topic_id in self.changed if topic_id not in self.image.by_id]
        for topic_id in ids:
            if topic_id is not None and topic_id not in self.deleted:
                self._clear_topic_elr(self._topic_to_change(topic_id))

    def _image_ids(self, name: str) -> list[bytes | None]:
        """Return the ids of the image's topics with this name, None for an unknown name; all ids
        for an empty name."""
        if not name:
            return list(self.image.by_id)
        topic = self.image.by_name.get(name)
        return [None if topic is None else topic.id]

    def _clear_topic_elr(self, topic: TopicDelta) -> None:
        """Empty the ELR and last known ELR of all partitions of a topic."""
        partitions = dict(topic.before.partitions) if topic.before is not None else {}
        for index, registration in (partitions | topic.changed).items():
            if registration.elr or registration.last_known_elr:
                topic.changed[index] = registration._replace(elr=(), last_known_elr=())

    def _topic_to_change(self, topic_id: bytes) -> TopicDelta:
        """Return the delta of a topic, which is in `changed` from now on. Raises
        MetadataRecordError if the topic is unknown or deleted."""
        topic = self.changed.get(topic_id)
        if topic is None:
            before = self.image.by_id.get(topic_id)
            if before is None or topic_id in self.deleted:
                raise MetadataRecordError(f"record for topic id {topic_id.hex()}, not a topic")
            topic = self.changed[topic_id] = TopicDelta(before.name, topic_id, before)
        return topic

    def replace_all(self, after: TopicsImage) -> None:
        """Add to this delta the changes that lead to `after`, the topics of a loaded snapshot."""
        for topic_id, topic in self.image.by_id.items():
            if topic_id not in after.by_id:
                self.deleted[topic_id] = topic
        for topic_id, topic in after.by_id.items():
            before = self.image.by_id.get(topic_id)
            partitions = {} if before is None else before.partitions
            changed = {i: p for i, p in topic.partitions.items() if partitions.get(i) != p}
            if before is None or changed:
                self.changed[topic_id] = TopicDelta(topic.name, topic_id, before, changed)

    def apply(self) -> TopicsImage:
        """Return the topics with all changes; `image` itself if there is none."""
        if not self.changed and not self.deleted:
            return self.image
        by_name, by_id = dict(self.image.by_name), dict(self.image.by_id)
        for topic in self.deleted.values():
            del by_id[topic.id]
            del by_name[topic.name]
        for delta in self.changed.values():
            changed_topic = TopicImage(delta.name, delta.id, _merged_partitions(delta))
            by_name[delta.name] = by_id[delta.id] = changed_topic
        return TopicsImage(by_name, by_id)

    def local_changes(self, broker_id: int) -> LocalReplicaChanges:
        """Return the changes for `broker_id`: replicas to delete, to lead and to follow."""
        changes = LocalReplicaChanges()
        for topic in self.deleted.values():
            for index, registration in topic.partitions.items():
                if broker_id in registration.replicas:
                    changes.deletes.append((topic.name, topic.id, index))
        for delta in self.changed.values():
            for index, registration in delta.changed.items():
                _add_local(changes, delta, index, registration, broker_id)
        return changes


def _add_local(
    changes: LocalReplicaChanges,
    topic: TopicDelta,
    index: int,
    now: PartitionRegistration,
    broker_id: int,
) -> None:
    """Add a partition to `changes` if this broker lost its replica, or has to lead or follow it in
    a new partition epoch."""
    before = None if topic.before is None else topic.before.partitions.get(index)
    key = (topic.name, topic.id, index)
    if broker_id not in now.replicas:
        if before is not None and broker_id in before.replicas:
            changes.deletes.append(key)
    elif now.leader == broker_id:
        if before is None or before.partition_epoch != now.partition_epoch:
            changes.leaders[key] = now
    elif before is None or before.partition_epoch != now.partition_epoch:
        changes.followers[key] = now


def _merged_partitions(delta: TopicDelta) -> Mapping[int, PartitionRegistration]:
    """Return all partitions of the topic after its changes, by ascending index."""
    if delta.before is None:
        return dict(sorted(delta.changed.items()))
    if not delta.changed:
        return delta.before.partitions
    partitions = {**delta.before.partitions, **delta.changed}
    if len(partitions) > len(delta.before.partitions):
        partitions = dict(sorted(partitions.items()))
    return partitions


def merge(before: PartitionRegistration, record: PartitionChangeRecord) -> PartitionRegistration:
    """Return `before` with the values that `record` contains.

    The leader epoch grows if the record contains a leader, even the same one; the partition epoch
    grows with every change. New replicas have the directories in the record, else
    UNASSIGNED_DIRECTORY.
    """
    replicas, directories = before.replicas, before.directories
    if record.replicas is not None:
        replicas = tuple(record.replicas)
        directories = tuple(_directory_of(before, replica) for replica in replicas)
    if record.directories is not None:
        directories = tuple(record.directories)
    names_leader = record.leader != NO_LEADER_CHANGE
    recovery = record.leader_recovery_state
    return PartitionRegistration(
        replicas=replicas,
        directories=directories,
        isr=_or_default(record.isr, before.isr),
        leader=record.leader if names_leader else before.leader,
        leader_epoch=before.leader_epoch + (1 if names_leader else 0),
        partition_epoch=before.partition_epoch + 1,
        leader_recovery_state=before.leader_recovery_state if recovery < 0 else recovery,
        removing_replicas=_or_default(record.removing_replicas, before.removing_replicas),
        adding_replicas=_or_default(record.adding_replicas, before.adding_replicas),
        elr=_or_default(record.eligible_leader_replicas, before.elr),
        last_known_elr=_or_default(record.last_known_elr, before.last_known_elr),
    )


def _directory_of(before: PartitionRegistration, replica: int) -> bytes:
    """Return the directory id of a replica in `before`; UNASSIGNED_DIRECTORY for a new replica."""
    if replica in before.replicas:
        return before.directory_of(replica)
    return UNASSIGNED_DIRECTORY


def _or_default(values: list[int] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    return default if values is None else tuple(values)
