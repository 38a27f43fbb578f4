"""Describe, Alter and DeleteShareGroupOffsets: states, lags, rights, the feature."""

from __future__ import annotations

from typing import Any

import pytest

from broker.share.state.share_log import SharePartitionKey
from broker.share.state.share_state_shard import StateAnswer
from ground.topic_partition import TopicPartition
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from protocol.primitives import ZERO_UUID
from tests.clients.group_conversation import committing
from tests.unit.broker.groups.playbook import TOPIC_ID, GroupNode, LocalWire
from tests.unit.controller.rights_fixture import rights_of

READ_GROUP = (Operation.READ, Resource.GROUP, "g")
DELETE_GROUP = (Operation.DELETE, Resource.GROUP, "g")
DESCRIBE_GROUP = (Operation.DESCRIBE, Resource.GROUP, "g")
READ_TOPIC = (Operation.READ, Resource.TOPIC, "conversation")
DESCRIBE_TOPIC = (Operation.DESCRIBE, Resource.TOPIC, "conversation")
KEYS = [SharePartitionKey("g", TOPIC_ID, index) for index in range(3)]
Shown = dict[tuple[str, int], tuple[int, int, int]]


def describe(wire: LocalWire, *topics: str, group: str = "g") -> Any:
    """Return the answer for a group: without topics, for all of its partitions."""
    named = [DescribeShareGroupOffsetsRequestTopic(name, [0, 1]) for name in topics]
    asked = DescribeShareGroupOffsetsRequestGroup(group, named or None)
    return wire.call(DescribeShareGroupOffsetsRequest([asked]), 1).groups[0]


def shown(answer: Any) -> Shown:
    """Return start offset, lag and error of each partition."""
    assert answer.error_code == 0
    return {
        (topic.topic_name, p.partition_index): (p.start_offset, p.lag, p.error_code)
        for topic in answer.topics
        for p in topic.partitions
    }


def alter(wire: LocalWire, offsets: dict[int, int], topic: str = "conversation") -> Any:
    partitions = [AlterShareGroupOffsetsRequestPartition(*item) for item in offsets.items()]
    named = [AlterShareGroupOffsetsRequestTopic(topic, partitions)]
    return wire.call(AlterShareGroupOffsetsRequest("g", named), 0)


def errors(answer: Any) -> dict[int, int]:
    assert (answer.error_code, answer.error_message) == (0, None)
    return {p.partition_index: p.error_code for topic in answer.responses for p in topic.partitions}


def delete(wire: LocalWire, *topics: str) -> Any:
    named = [DeleteShareGroupOffsetsRequestTopic(name) for name in topics]
    return wire.call(DeleteShareGroupOffsetsRequest("g", named), 0)


def join(wire: LocalWire) -> None:
    wire.call(ShareGroupHeartbeatRequest("g", "m", 0, None, ["conversation"]), 1)


def leave(wire: LocalWire) -> None:
    wire.call(ShareGroupHeartbeatRequest("g", "m", -1), 1)


# -- describe ----------------------------------------------------------------------------------


def test_an_unknown_group_has_no_offsets_and_is_no_error() -> None:
    wire = GroupNode().connect()
    assert shown(describe(wire)) == {}
    assert shown(describe(wire, "conversation", "absent")) == {
        ("conversation", 0): (-1, -1, 0),
        ("conversation", 1): (-1, -1, 0),
        ("absent", 0): (-1, -1, 0),
        ("absent", 1): (-1, -1, 0),
    }


def test_the_lag_counts_what_is_not_delivered_for_good() -> None:
    node = GroupNode()
    wire = node.connect()
    join(wire)
    node.scheduler.run_for(0)
    node.shares.states.states[KEYS[0]] = StateAnswer(2, 5, 10, 4)
    node.shares.end_offsets.offsets[TopicPartition("conversation", 0)] = 20
    answer = describe(wire)
    assert shown(answer) == {("conversation", 0): (10, 6, 0), ("conversation", 1): (-1, -1, 0)}
    (topic,) = answer.topics
    assert (topic.topic_id, topic.partitions[0].leader_epoch) == (TOPIC_ID, 5)


def test_a_partition_whose_leader_does_not_answer_has_its_error() -> None:
    node = GroupNode()
    wire = node.connect()
    node.shares.states.states[KEYS[1]] = StateAnswer(2, 5, 10, 4)
    assert shown(describe(wire, "conversation"))["conversation", 1] == (
        0,
        -1,
        ErrorCode.LEADER_NOT_AVAILABLE,
    )


def test_a_state_that_cannot_be_read_is_shown_as_none() -> None:
    node = GroupNode()
    node.shares.states.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shown(describe(node.connect(), "conversation"))["conversation", 0] == (-1, -1, 0)


def test_a_group_without_topics_is_answered_without_topics() -> None:
    asked = DescribeShareGroupOffsetsRequestGroup("g", [])
    (group,) = GroupNode().connect().call(DescribeShareGroupOffsetsRequest([asked]), 0).groups
    assert (group.group_id, group.topics, group.error_code) == ("g", [], 0)


def test_another_coordinator_s_group_is_an_error_unless_its_topics_are_named() -> None:
    node = GroupNode()
    node.coordinator.on_resigned(node.coordinator.partition_for("g"))
    wire = node.connect()
    answer = describe(wire)
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
    assert answer.error_message == "This is not the correct coordinator."
    assert shown(describe(wire, "conversation"))["conversation", 0] == (-1, -1, 0)


@pytest.mark.parametrize(
    ("allowed", "error", "seen"),
    [
        ((), ErrorCode.GROUP_AUTHORIZATION_FAILED, []),
        ((DESCRIBE_TOPIC,), ErrorCode.GROUP_AUTHORIZATION_FAILED, []),
        ((DESCRIBE_GROUP,), ErrorCode.NONE, []),
        ((DESCRIBE_GROUP, DESCRIBE_TOPIC), ErrorCode.NONE, ["conversation"]),
    ],
)
def test_who_may_describe(allowed: Any, error: ErrorCode, seen: list[str]) -> None:
    node = GroupNode()
    join(node.connect())
    node.scheduler.run_for(0)
    wire = node.connect("client", rights_of(allowed))
    answer = describe(wire)
    assert (answer.error_code, [t.topic_name for t in answer.topics]) == (error, seen)
    named = describe(wire, "absent", "conversation")
    assert named.error_code == error
    if error is ErrorCode.NONE:
        denied = {t.topic_name: t for t in named.topics if t.topic_name not in seen}
        assert "absent" in denied and [t.topic_name for t in named.topics][: len(seen)] == seen
        for topic in denied.values():
            assert topic.topic_id == ZERO_UUID
            assert [(p.start_offset, p.lag, p.error_code) for p in topic.partitions] == [
                (-1, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            ] * 2


# -- alter -------------------------------------------------------------------------------------


def test_an_alteration_makes_the_group_and_sets_the_offsets() -> None:
    node = GroupNode()
    wire = node.connect()
    answer = alter(wire, {0: 7, 1: 3, 9: 1})
    assert errors(answer) == {0: 0, 1: 0, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert answer.responses[0].topic_id == TOPIC_ID
    assert node.shares.states.states[KEYS[0]] == StateAnswer(1, 0, 7, 0)
    node.shares.end_offsets.offsets = {
        TopicPartition("conversation", 0): 7,
        TopicPartition("conversation", 1): 5,
    }
    expected: Shown = {("conversation", 0): (7, 0, 0), ("conversation", 1): (3, 2, 0)}
    assert shown(describe(wire)) == expected
    node.restart()
    assert shown(describe(wire)) == expected


def test_a_partition_that_cannot_be_altered_has_the_error_and_the_rest_is_done() -> None:
    node = GroupNode()
    wire = node.connect()
    node.shares.states.failures = {1: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert errors(alter(wire, {0: 7, 1: 3})) == {0: 0, 1: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert [index for _, index in shown(describe(wire))] == [0]


def test_only_an_empty_share_group_is_altered() -> None:
    node = GroupNode()
    wire = node.connect()
    join(wire)
    answer = alter(wire, {0: 7})
    assert (answer.error_code, answer.responses) == (ErrorCode.NON_EMPTY_GROUP, [])
    leave(wire)
    assert errors(alter(wire, {0: 7})) == {0: 0}
    other = GroupNode()
    other.connect().call(committing("g", 5), 9)
    answer = alter(other.connect(), {0: 7})
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.error_message == "Group g is not a share group."


def test_an_unknown_topic_is_an_error_of_its_partitions_and_makes_no_group() -> None:
    node = GroupNode()
    wire = node.connect()
    assert errors(alter(wire, {0: 7}, "absent")) == {0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert node.log.batches == []


@pytest.mark.parametrize(
    ("allowed", "error", "partition"),
    [
        ((READ_TOPIC,), ErrorCode.GROUP_AUTHORIZATION_FAILED, None),
        ((READ_GROUP,), ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ((READ_GROUP, READ_TOPIC), ErrorCode.NONE, ErrorCode.NONE),
    ],
)
def test_who_may_alter(allowed: Any, error: ErrorCode, partition: ErrorCode | None) -> None:
    node = GroupNode()
    answer = alter(node.connect("client", rights_of(allowed)), {0: 7})
    assert answer.error_code == error
    if partition is not None:
        assert errors(answer) == {0: partition}
    assert bool(node.shares.states.asked) is (partition is ErrorCode.NONE)


# -- delete ------------------------------------------------------------------------------------


def test_a_deletion_forgets_the_topic() -> None:
    node = GroupNode()
    wire = node.connect()
    alter(wire, {0: 7})
    answer = delete(wire, "conversation", "absent")
    assert answer.error_code == 0
    assert [(t.topic_name, t.topic_id, t.error_code) for t in answer.responses] == [
        ("conversation", TOPIC_ID, 0),
        ("absent", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert node.shares.states.states == {}
    assert shown(describe(wire)) == {}
    (again,) = delete(wire, "conversation").responses
    assert again.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert again.error_message == "There is no offset information to delete."


def test_a_deletion_that_fails_can_be_repeated() -> None:
    node = GroupNode()
    wire = node.connect()
    alter(wire, {0: 7, 1: 7})
    node.shares.states.failures = {1: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    (topic,) = delete(wire, "conversation").responses
    assert topic.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert topic.error_message == "The coordinator is not available."
    node.shares.states.failures = {}
    node.restart()
    (topic,) = delete(wire, "conversation").responses
    assert topic.error_code == 0
    assert node.shares.states.states == {}


def test_only_an_empty_share_group_loses_offsets() -> None:
    node = GroupNode()
    wire = node.connect()
    answer = delete(wire, "conversation")
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.error_message == "Group g not found."
    join(wire)
    answer = delete(wire, "conversation")
    assert (answer.error_code, answer.responses) == (ErrorCode.NON_EMPTY_GROUP, [])


@pytest.mark.parametrize(
    ("allowed", "error", "topic"),
    [
        ((READ_TOPIC,), ErrorCode.GROUP_AUTHORIZATION_FAILED, None),
        ((DELETE_GROUP,), ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ((DELETE_GROUP, READ_TOPIC), ErrorCode.NONE, ErrorCode.NONE),
    ],
)
def test_who_may_delete(allowed: Any, error: ErrorCode, topic: ErrorCode | None) -> None:
    node = GroupNode()
    alter(node.connect(), {0: 7})
    answer = delete(node.connect("client", rights_of(allowed)), "conversation")
    assert answer.error_code == error
    assert [t.error_code for t in answer.responses] == ([] if topic is None else [topic])


def test_without_the_feature_all_is_unsupported() -> None:
    node = GroupNode()
    node.image = node.image._replace(features={})
    wire = node.connect()
    for answer in (describe(wire), alter(wire, {0: 7}), delete(wire, "conversation")):
        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
