"""What is told of a change of the metadata."""

from __future__ import annotations

import logging

import pytest

from broker.node.cluster_changes import LINES_MAX, ClusterChangeLog, changes_of
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

TOPIC_ID = bytes(15) + b"\1"


def changes(image: MetadataImage, *records: object) -> list[str]:
    delta = MetadataDelta(image)
    for record in records:
        delta.replay(record)
    return list(changes_of(delta))


def test_topics_and_their_leaders() -> None:
    image = image_of(*topic_records("t", TOPIC_ID, [1, 2], [2, 1]))
    assert changes(image_of(), *topic_records("u", bytes(16), [1])) == [
        "topic u is created with 1 partition"
    ]
    more = m.PartitionRecord(2, TOPIC_ID, replicas=[1], isr=[1], leader=1, directories=[bytes(16)])
    assert changes(image, more) == ["topic t has 3 partitions now"]
    led = m.PartitionChangeRecord(0, TOPIC_ID, leader=2)
    nobody = m.PartitionChangeRecord(1, TOPIC_ID, leader=-1, isr=[1])
    assert changes(image, led, nobody) == [
        "t-0 is led by broker 2 (epoch 1)",
        "t-1 has no leader; in sync: 1",
    ]
    shrunk = m.PartitionChangeRecord(0, TOPIC_ID, isr=[1])
    assert changes(image, shrunk) == []
    assert changes(image, m.RemoveTopicRecord(TOPIC_ID)) == ["topic t is deleted"]


def test_brokers() -> None:
    image = image_of(broker_record(1))
    assert changes(image_of(), broker_record(1)) == ["broker 1 has registered (epoch 10)"]
    assert changes(image, m.FenceBrokerRecord(1, 10)) == ["broker 1 is fenced: it leads nothing"]
    fenced = image_of(broker_record(1, fenced=True))
    assert changes(fenced, m.UnfenceBrokerRecord(1, 10)) == ["broker 1 is unfenced: it serves"]
    leaving = m.BrokerRegistrationChangeRecord(1, 10, in_controlled_shutdown=1)
    assert changes(image, leaving) == ["broker 1 shuts down: others take over what it leads"]
    assert changes(image, m.UnregisterBrokerRecord(1, 10)) == ["broker 1 is unregistered"]


def test_what_is_logged_has_a_limit(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    changes, image = ClusterChangeLog(1), image_of(broker_record(1))
    changes.metadata_changed(MetadataDelta(MetadataImage()), image)
    assert caplog.messages == ["metadata up to offset 100: 1 broker, 0 topics, 0 partitions"]
    caplog.clear()
    delta = MetadataDelta(image)
    for number in range(LINES_MAX + 3):
        for record in topic_records(f"t{number}", bytes(15) + bytes([number + 1]), [1]):
            delta.replay(record)
    changes.metadata_changed(delta, delta.apply(200, 1, 0))
    assert len(caplog.messages) == LINES_MAX + 1
    assert caplog.messages[-1] == "and 3 more changes"


def test_nothing_is_told_where_nobody_wants_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    changes = ClusterChangeLog(1)
    changes.metadata_changed(MetadataDelta(MetadataImage()), image_of())
    changes.leader_changed(1)
    assert not caplog.messages


def test_who_leads_the_quorum(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    changes = ClusterChangeLog(1)
    for leader in (1, 2, None):
        changes.leader_changed(leader)
    assert caplog.messages == [
        "this node is the active controller",
        "node 2 is the active controller",
        "the quorum has no leader that is known here",
    ]
