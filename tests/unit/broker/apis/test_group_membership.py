"""The members' APIs where their versions differ; what groups do is in tests/unit/broker/groups."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import STABLE_VERSIONS, ApiKey
from protocol.errors import ErrorCode
from protocol.messages.leave_group import LeaveGroupRequest
from protocol.messages.sync_group import SyncGroupRequest
from protocol.primitives import StringTooLong
from tests.clients.group_conversation import beat, describing, joining, leaving, syncing
from tests.unit.broker.groups.playbook import GroupNode
from tests.unit.controller.rights_fixture import ListJudge, rights_of


def test_the_ranges_are_those_of_kafka() -> None:
    for key, api in GroupNode().apis.items():
        assert (api.oldest, api.latest) == STABLE_VERSIONS[key]
    assert {ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP} <= set(
        GroupNode().apis
    )


@pytest.mark.parametrize("version", range(10))
def test_a_member_id_is_required_from_version_4(version: int) -> None:
    answer = GroupNode().connect().call(joining("g"), version)
    expected = ErrorCode.MEMBER_ID_REQUIRED if version >= 4 else ErrorCode.NONE
    assert answer.error_code == expected
    assert answer.member_id.startswith("client-")


@pytest.mark.parametrize("version", range(10))
def test_a_refusal_can_be_written_in_every_version(version: int) -> None:
    answer = GroupNode().connect().call(joining("g", "unknown"), version)
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert answer.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize("version", [3, 7, 9])
def test_a_protocol_without_a_name_is_none_from_version_7_on(version: int) -> None:
    wire = GroupNode().connect()
    request = joining("g", protocols=[("", b"m"), ("range", b"m")])
    answer = wire.call(request, version)
    if answer.error_code:
        request.member_id = answer.member_id
        answer = wire.call(request, version)
    assert (answer.error_code, answer.protocol_name) == (0, None if version >= 7 else "")
    described = wire.call(describing("g"), 5).groups[0]
    assert described.group_state == "CompletingRebalance"


def test_version_0_has_no_rebalance_time_out_of_its_own() -> None:
    node = GroupNode()
    wire = node.connect()
    first = wire.call(joining("g", session_timeout_ms=7_000), 0).member_id
    wire.call(syncing("g", 1, first, {first: b"x"}), 0)
    other = node.connect()
    other.send(joining("g", session_timeout_ms=7_000), 0)
    for _ in range(7):
        assert not other.answered
        wire.call(beat("g", 1, first), 0)  # alive, but it does not rejoin
        node.scheduler.run_for(1_000)
    assert other.answered


def test_the_host_of_a_member_is_written_as_java_writes_it() -> None:
    node = GroupNode()
    node.connect("me").call(joining("g"), 3)
    member = node.connect().call(describing("g"), 5).groups[0].members[0]
    assert (member.client_id, member.client_host) == ("me", "/127.0.0.1")


@pytest.mark.parametrize("version", [2, 9])
def test_a_member_id_too_long_for_an_answer_is_not_made(version: int) -> None:
    """Answered with UNKNOWN_SERVER_ERROR, as in Kafka, which cannot write the member's record."""
    node = GroupNode()
    with pytest.raises(StringTooLong):
        node.connect("c" * 32_731).call(joining("g"), version)
    assert node.connect().call(describing("g"), 5).groups[0].members == []
    assert node.connect("c" * 32_730).call(joining("g"), version).error_code in (0, 79)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_leaving_before_version_3_has_one_error(version: int) -> None:
    node = GroupNode()
    wire = node.connect()
    unknown = LeaveGroupRequest(group_id="g", member_id="m")
    assert wire.call(unknown, version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    member = wire.call(joining("g"), 3).member_id
    answer = wire.call(LeaveGroupRequest(group_id="g", member_id=member), version)
    assert (answer.error_code, answer.members) == (ErrorCode.NONE, [])


def test_leaving_from_version_3_on_has_an_error_a_member() -> None:
    answer = GroupNode().connect().call(leaving("g", ("m", None), ("n", None)), 3)
    assert answer.error_code == ErrorCode.NONE
    assert [m.error_code for m in answer.members] == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


@pytest.mark.parametrize("version", range(6))
def test_sync_names_its_protocol_from_version_5_on(version: int) -> None:
    node = GroupNode()
    wire = node.connect()
    member = wire.call(joining("g"), 3).member_id
    request = SyncGroupRequest(group_id="g", generation_id=1, member_id=member)
    expected = ErrorCode.INCONSISTENT_GROUP_PROTOCOL if version >= 5 else ErrorCode.NONE
    assert wire.call(request, version).error_code == expected


def test_one_who_may_not_read_the_group_changes_nothing() -> None:
    node = GroupNode()
    wire = node.connect()
    member = wire.call(joining("g"), 3).member_id
    wire.call(syncing("g", 1, member, {member: b"x"}), 3)
    before, appends = wire.call(describing("g"), 5), node.log.appends
    stranger = node.connect(rights=rights_of({(Operation.DESCRIBE, Resource.GROUP, "g")}))
    requests: list[tuple[Any, range]] = [
        (joining("g"), range(10)),
        (joining("g", member), range(10)),
        (syncing("g", 1, member, {member: b"y"}), range(6)),
        (beat("g", 1, member), range(5)),
        (leaving("g", (member, None)), range(3, 6)),
        (LeaveGroupRequest("g", member), range(3)),
    ]
    for request, versions in requests:
        for version in versions:
            answer = stranger.call(request, version)
            assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert (wire.call(describing("g"), 5), node.log.appends) == (before, appends)
    assert wire.call(beat("g", 1, member), 4).error_code == ErrorCode.NONE


def test_a_member_that_loses_its_right_is_told_so_and_expires() -> None:
    node = GroupNode()
    judge = ListJudge({(Operation.READ, Resource.GROUP, "g")})
    wire = node.connect(rights=judge.rights())
    member = wire.call(joining("g", session_timeout_ms=10_000), 3).member_id
    wire.call(syncing("g", 1, member, {member: b"x"}), 3)
    assert wire.call(beat("g", 1, member), 4).error_code == ErrorCode.NONE
    judge.allowed.clear()
    for _ in range(11):
        error = wire.call(beat("g", 1, member), 4).error_code
        assert error == ErrorCode.GROUP_AUTHORIZATION_FAILED
        node.scheduler.run_for(1_000)
    assert node.connect().call(describing("g"), 5).groups[0].group_state == "Empty"
