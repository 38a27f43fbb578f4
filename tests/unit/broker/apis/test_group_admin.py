"""ListGroups, DescribeGroups, DeleteGroups: filters, versions, refusals."""

from __future__ import annotations

import pytest

from broker.apis.group_admin import refuse_delete, refuse_describe
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from tests.clients.group_conversation import committing, describing, joining
from tests.unit.broker.groups.playbook import GroupNode, LocalWire
from tests.unit.controller.rights_fixture import rights_of

NOT_ASKED = -(2**31)


def _wire() -> LocalWire:
    """Of a broker with one simple group, one that completes a rebalance, and one empty."""
    wire = GroupNode().connect()
    wire.call(committing("simple", 1), 9)
    wire.call(joining("member"), 3)
    wire.call(joining("pending"), 9)
    return wire


@pytest.mark.parametrize(
    ("states", "types", "groups"),
    [
        ([], [], ["member", "pending", "simple"]),
        (["Empty"], [], ["pending", "simple"]),
        ([" eMPTY ", "completingrebalance"], [], ["member", "pending", "simple"]),
        (["Stable"], [], []),
        (["nonsense"], [], []),
        ([], ["classic"], ["member", "pending", "simple"]),
        ([], ["Classic", "consumer"], ["member", "pending", "simple"]),
        ([], ["share"], []),
        (["CompletingRebalance"], ["classic"], ["member"]),
    ],
)
def test_filters(states: list[str], types: list[str], groups: list[str]) -> None:
    listed = _wire().call(ListGroupsRequest(states, types), 5).groups
    assert sorted(group.group_id for group in listed) == groups


@pytest.mark.parametrize("version", range(7))
def test_described_in_every_version(version: int) -> None:
    group = _wire().call(describing("member"), version).groups[0]
    assert (group.error_code, group.group_state) == (ErrorCode.NONE, "CompletingRebalance")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "")
    assert len(group.members) == 1
    assert group.authorized_operations == (3400 if version >= 3 else NOT_ASKED)


def test_operations_are_told_to_those_who_ask() -> None:
    group = _wire().call(DescribeGroupsRequest(["member"], False), 6).groups[0]
    assert group.authorized_operations == NOT_ASKED


def test_a_group_that_does_not_exist() -> None:
    wire = _wire()
    old, new = (wire.call(describing("absent"), version).groups[0] for version in (5, 6))
    assert (old.error_code, old.group_state) == (ErrorCode.NONE, "Dead")
    assert (new.error_code, new.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert new.error_message == "Group absent not found."


@pytest.mark.parametrize("version", range(3))
def test_deleting(version: int) -> None:
    wire = _wire()
    names = ["simple", "member", "absent", "simple", "pending"]
    results = wire.call(DeleteGroupsRequest(names), version).results
    assert [(one.group_id, one.error_code) for one in results] == [
        ("simple", ErrorCode.NONE),
        ("member", ErrorCode.NON_EMPTY_GROUP),
        ("absent", ErrorCode.GROUP_ID_NOT_FOUND),
        ("pending", ErrorCode.NONE),
    ]
    listed = wire.call(ListGroupsRequest(), 5).groups
    assert [group.group_id for group in listed] == ["member"]


def test_nothing_is_deleted_where_nothing_is_named() -> None:
    assert _wire().call(DeleteGroupsRequest(), 2).results == []


def test_refusals_of_everything() -> None:
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    assert [g.error_code for g in refuse_describe(describing("a", "b"), code).groups] == [-1, -1]
    assert [r.group_id for r in refuse_delete(DeleteGroupsRequest(["a"]), code).results] == ["a"]


def test_only_what_may_be_deleted_is() -> None:
    node = GroupNode()
    wire = node.connect()
    for group in ("a", "b", "c"):
        wire.call(committing(group, 1), 9)
    other = node.connect(rights=rights_of({(Operation.DELETE, Resource.GROUP, "b")}))
    results = other.call(DeleteGroupsRequest(["a", "b", "c"]), 2).results
    denied = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert [(one.group_id, one.error_code) for one in results] == [
        ("b", ErrorCode.NONE),
        ("a", denied),
        ("c", denied),
    ]
    left = wire.call(ListGroupsRequest(), 5).groups
    assert sorted(one.group_id for one in left) == ["a", "c"]


def test_what_may_be_done_is_told_of_groups_that_may_be_described() -> None:
    node = GroupNode()
    node.connect().call(committing("a", 1), 9)
    allowed = {
        (operation, Resource.GROUP, name)
        for operation, name in ((Operation.DESCRIBE, "a"), (Operation.READ, "a"))
    }
    other = node.connect(rights=rights_of(allowed))
    told, hidden = other.call(describing("a", "b"), 6).groups[::-1]
    assert (told.group_id, told.authorized_operations) == ("a", 1 << 3 | 1 << 8)
    assert (hidden.group_id, hidden.error_code, hidden.authorized_operations) == (
        "b",
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        NOT_ASKED,
    )
