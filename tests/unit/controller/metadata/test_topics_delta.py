"""`controller.metadata.topics_delta`: partitions, and what one broker has to do about them."""

from __future__ import annotations

import pytest

from controller.metadata.delta import MetadataDelta
from controller.metadata.image import PartitionRegistration
from controller.metadata.records import MetadataRecordError
from controller.metadata.topics_delta import merge
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import image_of, topic_records

FOO = b"f" * 16
A, B, C = b"a" * 16, b"b" * 16, b"c" * 16
BEFORE = PartitionRegistration((1, 2), (A, B), (1, 2), 1, 5, 7)


def test_a_change_without_a_leader_leaves_the_leader_epoch() -> None:
    now = merge(BEFORE, m.PartitionChangeRecord(0, FOO, isr=[1]))
    assert (now.isr, now.leader, now.leader_epoch, now.partition_epoch) == ((1,), 1, 5, 8)


def test_naming_a_leader_begins_an_epoch_even_with_the_same_one() -> None:
    now = merge(BEFORE, m.PartitionChangeRecord(0, FOO, leader=1))
    assert (now.leader, now.leader_epoch, now.partition_epoch) == (1, 6, 8)
    gone = merge(BEFORE, m.PartitionChangeRecord(0, FOO, leader=-1))
    assert (gone.leader, gone.leader_epoch) == (-1, 6)


def test_replicas_keep_their_directories() -> None:
    now = merge(BEFORE, m.PartitionChangeRecord(0, FOO, replicas=[2, 3]))
    assert now.directories == (B, bytes(16))
    named = merge(BEFORE, m.PartitionChangeRecord(0, FOO, directories=[C, C]))
    assert named.directories == (C, C)


def test_recovery_state_and_elr() -> None:
    record = m.PartitionChangeRecord(
        0, FOO, leader_recovery_state=1, eligible_leader_replicas=[2], last_known_elr=[1]
    )
    now = merge(BEFORE, record)
    assert (now.leader_recovery_state, now.elr, now.last_known_elr) == (1, (2,), (1,))
    assert merge(now, m.PartitionChangeRecord(0, FOO, isr=[1])).leader_recovery_state == 1


def test_partitions_stay_in_order_when_a_topic_grows() -> None:
    delta = MetadataDelta(image_of(*topic_records("foo", FOO, [1])))
    for index in (2, 1):
        delta.replay(m.PartitionRecord(index, FOO, [1], [1], leader=1))
    topic = delta.apply(101, 1, 0).topics.get("foo")
    assert topic is not None
    assert list(topic.partitions) == [0, 1, 2]


def test_records_for_what_does_not_exist() -> None:
    delta = MetadataDelta(image_of(*topic_records("foo", FOO, [1])))
    with pytest.raises(MetadataRecordError, match="foo-9, which does not exist"):
        delta.replay(m.PartitionChangeRecord(9, FOO))
    with pytest.raises(MetadataRecordError, match="not a topic"):
        delta.replay(m.RemoveTopicRecord(b"x" * 16))
    delta.replay(m.RemoveTopicRecord(FOO))
    with pytest.raises(MetadataRecordError, match="not a topic"):
        delta.replay(m.PartitionChangeRecord(0, FOO))


def test_local_changes() -> None:
    delta = MetadataDelta(image_of(*topic_records("foo", FOO, [1, 2], [2, 1], [2, 3])))
    delta.replay(m.PartitionChangeRecord(0, FOO, leader=2))
    delta.replay(m.PartitionChangeRecord(1, FOO, leader=1))
    delta.replay(m.PartitionChangeRecord(2, FOO, isr=[2]))
    changes = delta.topics.local_changes(1)
    assert list(changes.leaders) == [("foo", FOO, 1)]
    assert list(changes.followers) == [("foo", FOO, 0)]
    assert changes.deletes == []


def test_local_changes_of_new_and_deleted_topics_and_moved_replicas() -> None:
    delta = MetadataDelta(
        image_of(*topic_records("foo", FOO, [1], [2]), *topic_records("bar", B, [1, 2]))
    )
    delta.replay(m.RemoveTopicRecord(FOO))
    delta.replay(m.PartitionChangeRecord(0, B, replicas=[2], isr=[2], leader=2))
    for record in topic_records("new", C, [1]):
        delta.replay(record)
    changes = delta.topics.local_changes(1)
    assert changes.deletes == [("foo", FOO, 0), ("bar", B, 0)]
    assert list(changes.leaders) == [("new", C, 0)]


def test_clearing_elr() -> None:
    records = topic_records("foo", FOO, [1], [1])
    records[1].eligible_leader_replicas = [1]
    delta = MetadataDelta(image_of(*records))
    delta.replay(m.ClearElrRecord(""))
    assert list(delta.topics.changed[FOO].changed) == [0]
    assert delta.topics.changed[FOO].changed[0].elr == ()
    other = MetadataDelta(image_of(*records))
    other.replay(m.ClearElrRecord("bar"))
    assert other.is_empty
