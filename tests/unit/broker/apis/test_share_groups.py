"""ShareGroupHeartbeat, ShareGroupDescribe: rights, the feature, answers in slices."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.share_group_describe import ShareGroupDescribeRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.unit.broker.groups.playbook import GroupNode
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import rights_of

READ_GROUP = (Operation.READ, Resource.GROUP, "g")
DESCRIBE_GROUP = (Operation.DESCRIBE, Resource.GROUP, "g")
DESCRIBE_TOPIC = (Operation.DESCRIBE, Resource.TOPIC, "conversation")
NO_INTERVAL = {"group_share_assignment_interval_ms": 0}


def joining(member: str = "m", *topics: str) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest("g", member, 0, None, list(topics) or ["conversation"])


def node_with_a_member() -> GroupNode:
    node = GroupNode(**NO_INTERVAL)
    node.connect("mine").call(joining(), 1)
    node.scheduler.run_for(0)
    node.connect("mine").call(ShareGroupHeartbeatRequest("g", "m", 2), 1)
    return node


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
    answer = GroupNode().connect("client", rights_of(allowed)).call(joining(), 1)
    assert answer.error_code == error
    assert (answer.member_id is None) is (error is not ErrorCode.NONE)


def test_a_topic_that_does_not_exist_needs_rights_too() -> None:
    wire = GroupNode().connect("client", rights_of((READ_GROUP, DESCRIBE_TOPIC)))
    denied = wire.call(joining("m", "conversation", "other"), 1)
    assert denied.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("member", ["", "m" * 37])
def test_an_id_that_no_member_may_have(member: str) -> None:
    answer = GroupNode().connect().call(joining(member), 1)
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, None)
    assert GroupNode().connect().call(joining("m" * 36), 1).error_code == ErrorCode.NONE


def test_an_invalid_request_is_refused_with_its_reason() -> None:
    request = ShareGroupHeartbeatRequest("g", "m", -2)
    answer = GroupNode().connect().call(request, 1)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message == "MemberEpoch is invalid."


@pytest.mark.parametrize(
    ("allowed", "error"),
    [
        ((), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ((DESCRIBE_GROUP,), ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ((DESCRIBE_GROUP, DESCRIBE_TOPIC), ErrorCode.NONE),
    ],
)
def test_who_may_describe(allowed: Any, error: ErrorCode) -> None:
    node = node_with_a_member()
    request = ShareGroupDescribeRequest(["g", "x"], True)
    answers = node.connect("client", rights_of(allowed)).call(request, 1).groups
    found = {group.group_id: group for group in answers}
    assert found["g"].error_code == error
    assert len(found["g"].members) == (error is ErrorCode.NONE)
    assert (found["g"].authorized_operations > 0) is (error is ErrorCode.NONE)
    assert found["x"].error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert answers[0].group_id == ("g" if allowed == () else "x")


def test_several_groups_are_answered_in_their_order() -> None:
    node = node_with_a_member()
    answers = node.connect().call(ShareGroupDescribeRequest(["none", "g", ""]), 1).groups
    assert [(group.group_id, group.error_code) for group in answers] == [
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
        ("g", ErrorCode.NONE),
        ("", ErrorCode.INVALID_GROUP_ID),
    ]
    assert answers[0].error_message == "Group none not found."
    assert answers[1].members[0].client_id == "mine"


def test_as_a_group_of_another_kind_it_is_not_found() -> None:
    client = node_with_a_member().connect()
    (as_consumer,) = client.call(ConsumerGroupDescribeRequest(["g"]), 1).groups
    (as_classic,) = client.call(DescribeGroupsRequest(["g"]), 6).groups
    assert {as_consumer.error_code, as_classic.error_code} == {ErrorCode.GROUP_ID_NOT_FOUND}
    assert as_consumer.error_message == "Group g is not a consumer group."
    assert as_classic.error_message == "Group g is not a classic group."


def test_without_the_feature_all_is_unsupported_and_the_group_stays() -> None:
    node = node_with_a_member()
    node.image = node.image._replace(features={"group.version": 1})
    wire = node.connect()
    answer = wire.call(ShareGroupHeartbeatRequest("g", "m", 3), 1)
    assert (answer.error_code, answer.error_message) == (ErrorCode.UNSUPPORTED_VERSION, None)
    (group,) = wire.call(ShareGroupDescribeRequest(["g"]), 1).groups
    assert (group.group_id, group.error_code) == ("g", ErrorCode.UNSUPPORTED_VERSION)
    (listed,) = wire.call(ListGroupsRequest(), 5).groups
    assert (listed.group_type, listed.group_state) == ("share", "Stable")
    node.image = node.image._replace(features={"share.version": 1})
    answer = wire.call(ShareGroupHeartbeatRequest("g", "m", 3), 1)
    assert (answer.error_code, answer.member_epoch) == (0, 3)


def test_large_groups_are_described_in_slices() -> None:
    turns = Turns()
    node = GroupNode(turns=turns, group_share_max_size=1_000)
    wire = node.connect()
    for number in range(600):
        wire.send(joining(f"m{number}"), 1)
        turns.run()
        wire.receive()
    wire.send(ShareGroupDescribeRequest(["g"]), 1)
    assert not wire.answered
    turns.run()
    assert len(wire.receive().groups[0].members) == 600
