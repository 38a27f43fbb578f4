"""`controller.decisions.replication_control`: topics. Codes and words: `test_controller_apis`."""

from __future__ import annotations

import random

from controller.decisions.configuration_control import ConfigurationControl
from controller.decisions.decision import DecisionView
from controller.decisions.partition_change import default_directory
from controller.decisions.replication_control import ReplicationControl, usable_brokers
from controller.hosting_limit import HostingLimit
from controller.metadata.image import UNASSIGNED_DIRECTORY, MetadataImage
from controller.settings import ControllerSettings
from controller.voter_set import VoterSet
from ground.sliced_work import in_one_go
from protocol.errors import ApiError, ErrorCode
from protocol.messages import metadata_records as m
from protocol.messages.create_partitions import CreatePartitionsTopic
from protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from tests.unit.controller.controller_fixture import broker_record, image_of, topic_records

FOO = b"f" * 16
THREE = image_of(broker_record(1), broker_record(2), broker_record(3, fenced=True, directories=2))


def control(**more: object) -> ReplicationControl:
    values = {"metadata_log_dir": "/d", "cluster_id": "c", "directory_id": b""}
    settings = ControllerSettings(node_id=1, **{**values, **more})  # type: ignore[arg-type]
    return ReplicationControl(settings, ConfigurationControl(settings), random.Random(1).randbytes)


def view(image: MetadataImage) -> DecisionView:
    return DecisionView(image, image.offset + 1, 0)


def test_records_in_kafka_s_order() -> None:
    topic = CreatableTopic("foo", 2, 1, configs=[CreatableTopicConfig("retention.ms", "5")])
    decision = in_one_go(control().create_topics(view(THREE), [topic], False))
    assert [type(record).__name__ for record in decision.records] == [
        "TopicRecord",
        "ConfigRecord",
        "PartitionRecord",
        "PartitionRecord",
    ]


class Quota:
    """So many partitions may be changed."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take_partitions(self, count: int) -> bool:
        self.left -= count
        return self.left >= 0


def test_each_topic_is_asked_about_and_only_those_beyond_the_quota_are_refused() -> None:
    topics = [CreatableTopic("a", 2, 1), CreatableTopic("b", 2, 1), CreatableTopic("/", 9, 1)]
    decision = in_one_go(control().create_topics(view(THREE), topics, False, Quota(3)))
    assert isinstance(decision.reply, list)
    assert [one.error_code for one in decision.reply] == [0, 89, 17]
    assert len(decision.records) == 3
    image = image_of(broker_record(1), *topic_records("foo", FOO, [1], [1]))
    for left, expected in ((2, {}), (1, {FOO: 89})):
        deletion = in_one_go(control().delete_topics(view(image), [FOO], Quota(left)))
        assert isinstance(deletion.reply, dict)
        assert {key: error.code for key, error in deletion.reply.items()} == expected
        assert len(deletion.records) == 1 - len(expected)
    grow = [CreatePartitionsTopic("foo", 5, None)]
    for left, code in ((3, 0), (2, 89)):
        growth = in_one_go(control().create_partitions(view(image), grow, False, Quota(left)))
        assert isinstance(growth.reply, list)
        assert [one.error_code for one in growth.reply] == [code]


def test_who_is_fenced_is_not_in_sync() -> None:
    topic = CreatableTopic("foo", -1, -1, [CreatableReplicaAssignment(0, [3, 2, 1])])
    partition = in_one_go(control().create_topics(view(THREE), [topic], False)).records[1]
    assert isinstance(partition, m.PartitionRecord)
    assert (partition.replicas, partition.isr, partition.leader) == ([3, 2, 1], [2, 1], 2)
    assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)


def test_directories_are_named_where_there_is_one_only() -> None:
    assert default_directory(THREE.brokers[1]) == THREE.brokers[1].log_dirs[0]
    assert default_directory(THREE.brokers[3]) == UNASSIGNED_DIRECTORY


def test_who_is_going_takes_no_new_replicas() -> None:
    leaving = m.BrokerRegistrationChangeRecord(1, 10, in_controlled_shutdown=1)
    image = image_of(broker_record(1), broker_record(2), leaving)
    assert [broker.id for broker in usable_brokers(image)] == [2]


def test_two_colliding_names_in_one_request() -> None:
    topics = [CreatableTopic("a.b", 1, 1), CreatableTopic("a_b", 1, 1)]
    decision = in_one_go(control().create_topics(view(THREE), topics, False))
    assert not isinstance(decision.reply, ApiError)
    assert [result.error_code for result in decision.reply] == [0, 0]
    image = image_of(broker_record(1), *topic_records("a.b", FOO, [1]))
    later = in_one_go(control().create_topics(view(image), topics, False))
    assert not isinstance(later.reply, ApiError)
    assert [result.error_code for result in later.reply] == [36, 17]


def test_topic_ids_are_never_taken_twice() -> None:
    draws = [FOO, b"g" * 16]
    settings = ControllerSettings(
        node_id=1,
        cluster_id="c",
        directory_id=b"",
        metadata_log_dir="/d",
        static_voters=VoterSet.of_ids(1),
    )
    first = random.Random(1)

    def source(size: int) -> bytes:
        return draws.pop(0) if size == 16 else first.randbytes(size)

    replication = ReplicationControl(settings, ConfigurationControl(settings), source)
    taken = bytearray(FOO)
    taken[6], taken[8] = taken[6] & 0x0F | 0x40, taken[8] & 0x3F | 0x80
    image = image_of(broker_record(1), *topic_records("old", bytes(taken), [1]))
    decision = in_one_go(
        replication.create_topics(view(image), [CreatableTopic("new", 1, 1)], False)
    )
    assert decision.records[0].topic_id != bytes(taken)
    assert draws == []


def test_a_request_for_too_many_partitions_is_refused_whole() -> None:
    """C6, KAFKA-14204."""
    topics = [CreatableTopic(f"t-{i}", 5_000, 1) for i in range(3)]
    decision = in_one_go(control().create_topics(view(THREE), topics, False))
    assert isinstance(decision.reply, ApiError)
    assert decision.reply.code is ErrorCode.POLICY_VIOLATION
    assert list(decision.records) == []


def test_a_request_for_too_many_records_is_refused_whole() -> None:
    topics = [CreatableTopic(f"t-{i}", 2, 1) for i in range(5_000)]
    decision = in_one_go(control().create_topics(view(THREE), topics, False))
    assert isinstance(decision.reply, ApiError)
    assert decision.reply.code is ErrorCode.POLICY_VIOLATION


def test_growing_by_too_many_is_refused() -> None:
    """Apache Kafka answers UNKNOWN_SERVER_ERROR here, and adds 10,000 of them."""
    image = image_of(broker_record(1), *topic_records("foo", FOO, [1]))
    topic = CreatePartitionsTopic("foo", 10_002, None)
    decision = in_one_go(control().create_partitions(view(image), [topic], False))
    assert not isinstance(decision.reply, ApiError)
    assert decision.reply[0].error_code == ErrorCode.POLICY_VIOLATION
    assert list(decision.records) == []


def test_growing_keeps_the_replication_factor() -> None:
    image = image_of(broker_record(1), broker_record(2), *topic_records("foo", FOO, [1, 2]))
    topic = CreatePartitionsTopic("foo", 3, None)
    records = in_one_go(control().create_partitions(view(image), [topic], False)).records
    assert [(r.partition_id, len(r.replicas)) for r in records] == [(1, 2), (2, 2)]


def test_defaults_of_the_server() -> None:
    replication = control(num_partitions=4, default_replication_factor=2)
    decision = in_one_go(
        replication.create_topics(view(THREE), [CreatableTopic("foo", -1, -1)], False)
    )
    partitions = [r for r in decision.records if isinstance(r, m.PartitionRecord)]
    assert [len(p.replicas) for p in partitions] == [2] * 4


def test_deleting_what_is_not_there() -> None:
    image = image_of(broker_record(1), *topic_records("foo", FOO, [1]))
    decision = in_one_go(control().delete_topics(view(image), [FOO, b"x" * 16]))
    assert decision.records == [m.RemoveTopicRecord(FOO)]
    assert decision.reply == {b"x" * 16: ApiError(ErrorCode.UNKNOWN_TOPIC_ID)}


def test_more_than_this_node_can_hold_is_refused_and_the_rest_is_made() -> None:
    hosting = HostingLimit(1, lambda: 5, 512)
    image = image_of(broker_record(1), *topic_records("foo", FOO, [1]))
    topics = [CreatableTopic(name, count, 1) for name, count in (("a", 2), ("b", 3), ("c", 2))]
    for validate_only in (True, False):
        decision = in_one_go(
            control(hosting=hosting).create_topics(view(image), topics, validate_only)
        )
        codes = [ErrorCode(one.error_code) for one in decision.reply]
        assert codes == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION, ErrorCode.NONE]
    partitions = [one for one in decision.records if isinstance(one, m.PartitionRecord)]
    assert len(partitions) == 4
    for count, code in ((5, ErrorCode.NONE), (6, ErrorCode.POLICY_VIOLATION)):
        asked = [CreatePartitionsTopic("foo", count, None)]
        decision = in_one_go(control(hosting=hosting).create_partitions(view(image), asked, False))
        assert ErrorCode(decision.reply[0].error_code) is code
        assert len(decision.records) == (0 if code else count - 1)
