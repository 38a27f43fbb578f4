"""`controller.metadata.image`: what can be asked of an image."""

from __future__ import annotations

from controller.metadata.image import (
    MetadataImage,
    PartitionRegistration,
    ResourceType,
)
from protocol.messages import metadata_records as m
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

FOO = b"f" * 16


def test_the_empty_image() -> None:
    image = MetadataImage()
    assert image.offset == -1
    assert image.metadata_level == 7
    assert not image.elr_enabled
    assert image.topics.get("foo") is None
    assert image.topics.partition("foo", 0) is None
    assert image.config(ResourceType.TOPIC, "foo") == {}


def test_topics_by_name_and_id() -> None:
    image = image_of(*topic_records("foo", FOO, [1], [1]))
    topic = image.topics.get("foo")
    assert topic is not None
    assert image.topics.get_by_id(FOO) is topic
    assert list(topic.partitions) == [0, 1]
    assert image.topics.partition("foo", 1) == topic.partitions[1]
    assert image.topics.partition("foo", 2) is None


def test_configs() -> None:
    image = image_of(m.ConfigRecord(ResourceType.TOPIC, "foo", "retention.ms", "5"))
    assert image.topic_config("foo", "retention.ms") == "5"
    assert image.topic_config("foo", "segment.ms") is None


def test_active_brokers() -> None:
    image = image_of(broker_record(1), broker_record(2, fenced=True))
    assert image.brokers[1].active
    assert not image.brokers[2].active
    leaving = image.brokers[1]._replace(in_controlled_shutdown=True)
    assert not leaving.active


def test_directories_of_replicas() -> None:
    a, b = b"a" * 16, b"b" * 16
    partition = PartitionRegistration((3, 4), (a, b), (3,), 3, 0, 0)
    assert partition.directory_of(4) == b
    assert partition.directory_of(5) == bytes(16)
    assert partition.preferred_replica == 3


def test_features() -> None:
    image = image_of(
        m.FeatureLevelRecord("metadata.version", 30),
        m.FeatureLevelRecord("eligible.leader.replicas.version", 1),
    )
    assert image.metadata_level == 30
    assert image.elr_enabled
