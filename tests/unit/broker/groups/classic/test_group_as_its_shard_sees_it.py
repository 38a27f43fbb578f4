"""Who may commit and delete offsets, and when they expire (KIP-211), state by state."""

from __future__ import annotations

import pytest

from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    ClassicGroupState,
)
from broker.groups.classic.member import ClassicMember
from broker.groups.committed_offset import CommittedOffset
from broker.groups.group import Committer, Group
from protocol.errors import ErrorCode
from protocol.messages.join_group import JoinGroupRequestProtocol

NONE = ErrorCode.NONE
OFFSET = CommittedOffset(5, -1, "", 1_000, -1, bytes(16), 0)


def group_in(state: ClassicGroupState, protocol_type: str = "consumer") -> ClassicGroup:
    group = ClassicGroup("g")
    if state is not EMPTY:
        protocols = [JoinGroupRequestProtocol("p", b"")]
        group.add(ClassicMember("m", "i", "c", "/h", 1, 1, protocol_type, protocols))
    group.protocol_type = protocol_type
    group.subscribed_topics = {}
    group.state = state
    group.generation_id = 3
    group.state_timestamp_ms = 2_000
    return group


@pytest.mark.parametrize(
    ("state", "outside", "member", "old"),
    [
        (EMPTY, "NONE", "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"),
        (PREPARING_REBALANCE, "UNKNOWN_MEMBER_ID", "NONE", "ILLEGAL_GENERATION"),
        (COMPLETING_REBALANCE, "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"),
        (STABLE, "UNKNOWN_MEMBER_ID", "NONE", "ILLEGAL_GENERATION"),
        (DEAD, *["COORDINATOR_NOT_AVAILABLE"] * 3),
    ],
)
def test_commits(state: ClassicGroupState, outside: str, member: str, old: str) -> None:
    group: Group = group_in(state)
    assert group.commit_error(Committer("", None, -1, False)).name == outside
    assert group.commit_error(Committer("m", None, 3, False)).name == member
    assert group.commit_error(Committer("m", None, 2, False)).name == old


def test_commits_of_static_members() -> None:
    group = group_in(STABLE)
    assert group.commit_error(Committer("m", "i", 3, False)) is NONE
    assert group.commit_error(Committer("other", "i", 3, False)) is ErrorCode.FENCED_INSTANCE_ID
    assert group.commit_error(Committer("m", "x", 3, False)) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.commit_error(Committer("m", None, -1, False)) is ErrorCode.ILLEGAL_GENERATION


def test_transactional_commits_are_not_held_up_by_a_rebalance() -> None:
    group = group_in(COMPLETING_REBALANCE)
    assert group.commit_error(Committer("", None, -1, True)) is NONE
    assert group.commit_error(Committer("m", None, 3, True)) is NONE
    assert group.commit_error(Committer("m", None, 2, True)) is ErrorCode.ILLEGAL_GENERATION


def test_deletes() -> None:
    assert group_in(EMPTY).delete_error() is NONE
    assert group_in(STABLE).delete_error() is ErrorCode.NON_EMPTY_GROUP
    assert group_in(DEAD).delete_error() is ErrorCode.GROUP_ID_NOT_FOUND
    assert group_in(EMPTY).delete_offsets_error() is NONE
    assert group_in(STABLE).delete_offsets_error() is NONE
    assert group_in(STABLE, "connect").delete_offsets_error() is ErrorCode.NON_EMPTY_GROUP
    assert group_in(DEAD).delete_offsets_error() is ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("state", "kind", "since"),
    [
        (EMPTY, "consumer", 2_000),
        (EMPTY, "connect", 2_000),
        (STABLE, "consumer", 1_000),
        (STABLE, "connect", None),
        (PREPARING_REBALANCE, "consumer", None),
        (COMPLETING_REBALANCE, "consumer", None),
    ],
)
def test_from_when_retention_counts(state: ClassicGroupState, kind: str, since: int | None) -> None:
    clock = group_in(state, kind).expiry_clock()
    assert (None if clock is None else clock(OFFSET)) == since


def test_retention_of_simple_and_of_old_groups_counts_from_the_commit() -> None:
    clock = ClassicGroup("simple", 2_000).expiry_clock()
    assert clock is not None and clock(OFFSET) == 1_000
    group = group_in(EMPTY)
    group.state_timestamp_ms = -1
    clock = group.expiry_clock()
    assert clock is not None and clock(OFFSET) == 1_000


def test_a_stable_group_whose_topics_are_unknown_expires_nothing() -> None:
    group = group_in(STABLE)
    group.subscribed_topics = None
    assert group.expiry_clock() is None
