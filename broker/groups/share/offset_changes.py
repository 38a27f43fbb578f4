"""The decisions of administrators' changes of a share group's offsets, and of its deletion.

A change first writes the record of the group's topics (type 15), then the share coordinator changes
the states, and then another record has the result. Owns which share-partitions a change is about.
Decides from a `ShareGroup`, but never changes it. Follows Kafka's `GroupMetadataManager` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.groups.share.initialization import (
    InitializedTopic,
    StateTopics,
    state_topics_record,
)
from broker.groups.share.initializer import Initialization
from broker.groups.share.share_group import ShareGroup
from broker.share.state.share_log import SharePartitionKey
from controller.metadata.image import TopicsImage
from ground.sliced_work import Pace, Steps
from protocol.errors import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsResponseTopic

UNKNOWN_PARTITION = "This server does not host this topic-partition."
_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class OffsetAlteration(NamedTuple):
    """The decision about an AlterShareGroupOffsets."""

    answers: list[AlterShareGroupOffsetsResponseTopic]
    """An answer for each partition, with an error for those that do not exist."""
    initialization: Initialization
    records: Sequence[Record]


class OffsetDeletion(NamedTuple):
    """The decision about a DeleteShareGroupOffsets."""

    keys: list[SharePartitionKey]
    """The share-partitions whose states are to be deleted."""
    names: dict[bytes, str]
    """The names of their topics, by id."""
    refused: list[DeleteShareGroupOffsetsResponseTopic]
    """The answers for topics without a state."""
    records: Sequence[Record]


def alteration(
    group: ShareGroup,
    requested: Sequence[AlterShareGroupOffsetsRequestTopic],
    topics: TopicsImage,
) -> Steps[OffsetAlteration]:
    """Return the decision to give partitions of a group without members other start offsets."""
    pace, answers = Pace(), list[AlterShareGroupOffsetsResponseTopic]()
    starts: dict[SharePartitionKey, int] = {}
    begun: dict[bytes, InitializedTopic] = {}
    for asked in requested:
        topic = topics.get(asked.topic_name)
        answer = AlterShareGroupOffsetsResponseTopic(asked.topic_name)
        existing = () if topic is None else topic.partitions
        indexes = []
        for partition in asked.partitions:
            if pace.is_full():
                yield None
            index = partition.partition_index
            if topic is None or index not in existing:
                refused = AlterShareGroupOffsetsResponsePartition(
                    index, _UNKNOWN, UNKNOWN_PARTITION
                )
                answer.partitions.append(refused)
                continue
            starts[SharePartitionKey(group.group_id, topic.id, index)] = partition.start_offset
            indexes.append(index)
            answer.partitions.append(AlterShareGroupOffsetsResponsePartition(index))
        if topic is not None:
            answer.topic_id = topic.id
            before = begun.get(topic.id, InitializedTopic(topic.name, ()))
            if indexes:
                begun[topic.id] = before.with_partitions(indexes)
        answers.append(answer)
    records = [state_topics_record(group.group_id, group.state_topics.begin(begun))]
    initialization = Initialization(group.group_id, group.epoch, starts)
    return OffsetAlteration(answers, initialization, records if begun else [])


def offset_deletion(
    group: ShareGroup, names: Sequence[str], topics: TopicsImage
) -> Steps[OffsetDeletion]:
    """Return the decision to delete the states of topics of a group without members.

    UNKNOWN_TOPIC_OR_PARTITION: there is no such topic, or the group has no state for it. A topic
    whose deletion failed before is deleted again.
    """
    pace, states = Pace(), group.state_topics
    keys, begun, refused = list[SharePartitionKey](), dict[bytes, str](), []
    for name in dict.fromkeys(names):
        if pace.is_full():
            yield None
        topic = topics.get(name)
        if topic is None:
            refused.append(_without_state(name, UNKNOWN_PARTITION))
            continue
        partitions: Iterable[int] = ()
        if topic.id in states.initialized:
            partitions = states.initialized[topic.id].partitions
        elif topic.id in states.deleting:
            partitions = topic.partitions
        else:
            refused.append(_without_state(name, "There is no offset information to delete."))
            continue
        begun[topic.id] = name
        keys += [SharePartitionKey(group.group_id, topic.id, index) for index in partitions]
    records = [state_topics_record(group.group_id, states.begin_deletion(begun))]
    return OffsetDeletion(keys, begun, refused, records if begun else [])


def _without_state(name: str, text: str) -> DeleteShareGroupOffsetsResponseTopic:
    return DeleteShareGroupOffsetsResponseTopic(name, error_code=_UNKNOWN, error_message=text)


def keys_of_group(
    group: ShareGroup, topics: TopicsImage, deleted: frozenset[bytes]
) -> Steps[list[SharePartitionKey]]:
    """Return the share-partitions with a state of a group that is to be deleted.

    These are the initialized and initializing ones, and those whose deletion failed before. Topics
    that do not exist any more are left out, as their states are. `deleted`: the ids of topics
    whose states are gone already.
    """
    pace, states = Pace(), group.state_topics
    partitions: dict[bytes, set[int]] = {}
    for begun in (states.initialized, states.initializing):
        for topic_id, topic in begun.items():
            partitions.setdefault(topic_id, set()).update(topic.partitions)
    for topic_id in states.deleting:
        existing = topics.get_by_id(topic_id)
        if existing is not None and topic_id not in deleted:
            partitions.setdefault(topic_id, set()).update(existing.partitions)
    keys = []
    for topic_id, indexes in partitions.items():
        if topics.get_by_id(topic_id) is None:
            continue
        for index in sorted(indexes):
            if pace.is_full():
                yield None
            keys.append(SharePartitionKey(group.group_id, topic_id, index))
    return keys


def records_of_group_deletion(
    group: ShareGroup, keys: Sequence[SharePartitionKey], topics: TopicsImage
) -> list[Record]:
    """Return the record that begins the deletion of a group: all its topics are deleting then."""
    existing = {key.topic_id: topics.get_by_id(key.topic_id) for key in keys}
    names = {key: topic.name for key, topic in existing.items() if topic is not None}
    return [state_topics_record(group.group_id, StateTopics(deleting=names))]
