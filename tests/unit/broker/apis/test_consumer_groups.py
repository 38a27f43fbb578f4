"""ConsumerGroupHeartbeat, ConsumerGroupDescribe: rights, versions, what is not served."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.unit.broker.groups.playbook import GroupNode
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import rights_of

READ_GROUP = (Operation.READ, Resource.GROUP, "g")
DESCRIBE_GROUP = (Operation.DESCRIBE, Resource.GROUP, "g")
DESCRIBE_TOPIC = (Operation.DESCRIBE, Resource.TOPIC, "conversation")


def joining(member: str = "m", **changes: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        **{
            "group_id": "g",
            "member_id": member,
            "rebalance_timeout_ms": 1_000,
            "subscribed_topic_names": ["conversation"],
            "topic_partitions": [],
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("allowed", "error"),
    [
        ((), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ((DESCRIBE_TOPIC,), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ((READ_GROUP,), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ((READ_GROUP, DESCRIBE_TOPIC), ErrorCode.NONE),
    ],
)
def test_who_may_be_a_member(allowed: Any, error: ErrorCode) -> None:
    node = GroupNode()
    answer = node.connect("client", rights_of(allowed)).call(joining(), 1)
    assert answer.error_code == error
    assert (answer.member_id is None) is (error is not ErrorCode.NONE)


def test_a_topic_that_does_not_exist_needs_rights_too() -> None:
    wire = GroupNode().connect("client", rights_of((READ_GROUP, DESCRIBE_TOPIC)))
    named = joining(subscribed_topic_names=["conversation", "other"])
    assert wire.call(named, 1).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert wire.call(joining(subscribed_topic_names=[]), 1).error_code == ErrorCode.NONE


def test_who_comes_without_an_id_gets_one() -> None:
    node = GroupNode()
    first, second = (node.connect().call(joining(""), 0) for _ in range(2))
    assert len(first.member_id) == 22
    assert first.member_id != second.member_id
    assert node.connect().call(joining(""), 1).error_code == ErrorCode.INVALID_REQUEST


def test_a_member_is_shown_with_its_client() -> None:
    node = GroupNode()
    node.connect("mine").call(joining(), 1)
    (group,) = node.connect().call(ConsumerGroupDescribeRequest(["g"]), 0).groups
    (member,) = group.members
    assert (member.client_id, member.client_host) == ("mine", "/127.0.0.1")


@pytest.mark.parametrize(
    ("allowed", "error"),
    [
        ((), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ((DESCRIBE_GROUP,), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ((DESCRIBE_GROUP, DESCRIBE_TOPIC), ErrorCode.NONE),
    ],
)
def test_who_may_describe(allowed: Any, error: ErrorCode) -> None:
    node = GroupNode()
    node.connect().call(joining(), 1)
    request = ConsumerGroupDescribeRequest(["g", "x"])
    answers = node.connect("client", rights_of(allowed)).call(request, 1).groups
    found = {group.group_id: group for group in answers}
    assert found["g"].error_code == error
    assert len(found["g"].members) == (error is ErrorCode.NONE)
    assert found["x"].error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert answers[0].group_id == ("g" if allowed == () else "x")


def test_several_groups_are_answered_in_their_order() -> None:
    node = GroupNode()
    node.connect().call(joining(), 1)
    answers = node.connect().call(ConsumerGroupDescribeRequest(["none", "g", ""]), 1).groups
    assert [(group.group_id, group.error_code) for group in answers] == [
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
        ("g", ErrorCode.NONE),
        ("", ErrorCode.INVALID_GROUP_ID),
    ]
    assert answers[0].error_message == "Group none not found."
    assert node.connect().call(ConsumerGroupDescribeRequest([]), 1).groups == []


def test_large_groups_are_described_in_slices() -> None:
    turns = Turns()
    node = GroupNode(turns=turns)
    names = [f"m{number}" for number in range(100)]
    for group in ("g", "h"):
        for name in names:
            node.connect().send(joining(name, group_id=group), 1)
            turns.run()
    wire, other = node.connect(), node.connect()
    wire.send(ConsumerGroupDescribeRequest(["g", "none", "h"]), 1)
    other.send(joining("later"), 1)
    slices = 0
    while not wire.answered:
        slices += 1
        turns.soon.popleft()()
    assert slices >= 4, "each member is looked at, and written"
    turns.run()
    answers = wire.receive().groups
    assert [group.group_id for group in answers] == ["g", "none", "h"]
    assert [member.member_id for member in answers[0].members] == names, "all of one moment"
    assert answers[2].members == answers[0].members
    assert other.receive().error_code == ErrorCode.NONE


def test_operations_are_told_to_those_who_ask() -> None:
    node = GroupNode()
    node.connect().call(joining(), 1)
    for asked, told in ((True, 3400), (False, -(2**31))):
        request = ConsumerGroupDescribeRequest(["g"], asked)
        (group,) = node.connect().call(request, 1).groups
        assert group.authorized_operations == told


def test_without_the_feature_both_are_unsupported() -> None:
    node = GroupNode()
    node.connect().call(joining(), 1)
    node.image = node.image._replace(features={"group.version": 0})
    unsupported = ErrorCode.UNSUPPORTED_VERSION
    answer = node.connect().call(joining(), 1)
    assert (answer.error_code, answer.error_message) == (unsupported, None)
    (group,) = node.connect().call(ConsumerGroupDescribeRequest(["g"]), 1).groups
    assert (group.error_code, group.error_message) == (unsupported, None)


def test_led_elsewhere_loading_or_shut_down() -> None:
    node = GroupNode()
    request = ConsumerGroupDescribeRequest(["g"])

    def errors() -> list[int]:
        wire = node.connect()
        group = wire.call(request, 1).groups[0]
        return [wire.call(joining(), 1).error_code, group.error_code]

    node.coordinator.on_resigned(node.coordinator.partition_for("g"), node.epoch)
    assert errors() == [ErrorCode.NOT_COORDINATOR] * 2
    node.log.hold_loads = True
    node.restart()
    assert errors() == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
    node.coordinator.shutdown()
    assert errors() == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
