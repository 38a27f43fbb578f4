"""The state machine's table, and a group as data: membership, vote, records."""

from __future__ import annotations

from functools import partial

import pytest

from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.group_state import (
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupEvent,
)
from broker.groups.classic.member import ClassicMember
from broker.groups.deadline import Deadline
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from protocol.messages.group_records import GroupMetadataValue
from protocol.messages.join_group import JoinGroupRequestProtocol
from tests.clients.group_conversation import subscription


def member(member_id: str, *protocols: str, instance: str | None = None) -> ClassicMember:
    return ClassicMember(
        member_id,
        instance,
        "c",
        "/h",
        1_000,
        500,
        "consumer",
        [JoinGroupRequestProtocol(name, subscription("t")) for name in protocols or ("range",)],
    )


def group_of(*members: ClassicMember) -> ClassicGroup:
    group = ClassicGroup("g")
    for one in members:
        group.add(one)
    return group


def test_the_first_member_leads_and_the_next_one_follows_it() -> None:
    group = group_of(member("a"), member("b"), member("c"))
    assert group.leader_id == "a"
    group.remove("b")
    assert group.leader_id == "a"
    group.remove("a")
    assert group.leader_id == "c"
    group.remove("c")
    assert group.leader_id is None
    assert group.remove("c") is None


def test_the_vote() -> None:
    group = group_of(member("a", "x", "y"), member("b", "y", "x"), member("c", "z", "y", "x"))
    assert group.select_protocol() == "y"
    group.remove("c")
    assert group.select_protocol() == "x", "a tie goes to the first vote"
    group.update_member(group.members["a"], member("a", "y", "x").protocols, 1, 1)
    assert group.select_protocol() == "y"


def test_what_fits_in() -> None:
    group = ClassicGroup("g")
    assert group.supports("anything", member("a", "x").protocols)
    assert not group.supports("", member("a", "x").protocols)
    assert not group.supports("consumer", [])
    group = group_of(member("a", "x", "y"), member("b", "y"))
    group.state = STABLE
    assert group.supports("consumer", member("c", "z", "y").protocols)
    assert not group.supports("consumer", member("c", "x").protocols)
    assert not group.supports("connect", member("c", "y").protocols)
    assert not group.supports("consumer", [])
    # Without members, while their successors are pending, any protocol is common.
    group.remove("a")
    group.remove("b")
    assert group.supports("consumer", member("c", "x").protocols)


def test_joins_are_counted() -> None:
    group = group_of(member("a"), member("b"))
    assert not group.has_all_members_joined
    first, second = group.members.values()
    assert group.park_join(first, lambda _: None) is None
    assert group.park_join(second, lambda _: None) is None
    assert group.has_all_members_joined
    assert group.take_join(first) is not None
    assert group.take_join(first) is None
    assert (group.awaiting_join_count, group.has_all_members_joined) == (1, False)
    group.remove("a")
    assert group.has_all_members_joined
    group.remove("b")
    assert group.awaiting_join_count == 0


def test_a_leader_who_has_not_joined_is_replaced_by_one_who_has() -> None:
    group = group_of(member("a"), member("b"))
    assert not group.elect_joined_leader()
    group.park_join(group.members["b"], lambda _: None)
    assert group.elect_joined_leader()
    assert group.leader_id == "b"
    assert not ClassicGroup("empty").elect_joined_leader()


def test_validation_of_members() -> None:
    group = group_of(member("a"), member("s", instance="S"))
    assert group.validate_member("a", None) is ErrorCode.NONE
    assert group.validate_member("x", None) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.validate_member("s", "S") is ErrorCode.NONE
    assert group.validate_member("s", None) is ErrorCode.NONE
    assert group.validate_member("old", "S") is ErrorCode.FENCED_INSTANCE_ID
    assert group.validate_member("s", "X") is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_keeps_its_place_under_a_new_id() -> None:
    group = group_of(member("a"), member("old", instance="S"), member("z"))
    group.leader_id = "old"
    group.members["old"].assignment = b"share"
    new = group.replace_static_member("S", "old", "new")
    assert list(group.members) == ["a", "new", "z"]
    assert (group.leader_id, group.static_members) == ("new", {"S": "new"})
    assert new.assignment == b"share"
    group.remove("new")
    assert group.static_members == {}


def test_from_its_record_and_back() -> None:
    group = group_of(member("a"), member("s", instance="S"))
    group.state = PREPARING_REBALANCE
    group.begin_generation(5)
    value = group.record({"a": b"1"})
    assert [one.assignment for one in value.members] == [b"1", b""]
    again = ClassicGroup.restore("g", value, 9)
    assert again.state is STABLE
    assert again.record({"a": b"1"}) == value
    assert (again.static_members, again.record_offset) == ({"S": "s"}, 9)
    assert again.is_subscribed_to("u"), "it might be"
    in_one_go(again.read_subscriptions())
    assert again.is_subscribed_to("t")
    assert not again.is_subscribed_to("u")


def test_an_empty_generation() -> None:
    group = group_of(member("a"))
    group.state = PREPARING_REBALANCE
    group.begin_generation(5)
    group.remove("a")
    group.fire(GroupEvent.REBALANCE, 6)
    value = group.empty_record(7)
    group.install(value, 3, 8)
    assert (group.state, group.generation_id, group.protocol_name) == (EMPTY, 2, None)
    assert (group.state_timestamp_ms, group.record_offset) == (7, 3)
    again = ClassicGroup.restore("g", value, 3)
    assert (again.state, again.generation_id, again.state_timestamp_ms) == (EMPTY, 2, 7)
    assert (again.protocol_type, again.leader_id) == ("consumer", None)


def test_a_live_group_follows_only_its_own_record() -> None:
    group = group_of(member("a"), member("b"))
    group.state = PREPARING_REBALANCE
    group.begin_generation(5)
    value = group.record({})
    value.members.pop()
    with pytest.raises(AssertionError):
        group.install(value, 1, 1)


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0\0\0\0\5", b"\0\0\0\0\0\1\0\x09a"])
def test_metadata_that_is_no_subscription_might_be_any(metadata: bytes) -> None:
    value = GroupMetadataValue("consumer", 1, "range", "a", 0, [])
    one = member("a").record("range", b"")
    one.subscription = metadata
    value.members.append(one)
    group = ClassicGroup.restore("g", value, 0)
    in_one_go(group.read_subscriptions())
    assert group.subscribed_topics is None
    assert group.is_subscribed_to("anything")


def test_a_long_subscription_is_read_in_slices() -> None:
    value = GroupMetadataValue("consumer", 1, "range", "a", 0, [])
    for name in ("a", "b"):
        one = member(name).record("range", b"")
        one.subscription = subscription(*(f"{name}{number}" for number in range(5_000)))
        value.members.append(one)
    group = ClassicGroup.restore("g", value, 0)
    assert len(list(group.read_subscriptions())) > 10
    assert group.is_subscribed_to("a4999") and group.is_subscribed_to("b0")
    assert not group.is_subscribed_to("c")
    assert not list(group.read_subscriptions()), "once"


def test_groups_of_other_protocols_subscribe_to_nothing() -> None:
    value = GroupMetadataValue("connect", 1, "v1", "a", 0, [])
    assert not ClassicGroup.restore("g", value, 0).is_subscribed_to("t")
    assert not ClassicGroup("simple").is_subscribed_to("t")
    assert ClassicGroup("simple").is_simple


def test_the_rebalance_time_out_is_the_longest_that_was_asked_for() -> None:
    group = group_of(member("a"), member("b"))
    group.members["b"].rebalance_timeout_ms = 5_000
    assert group.rebalance_timeout_ms == 5_000
    assert ClassicGroup("g").rebalance_timeout_ms == 0


def test_only_who_comes_in_a_first_join_phase_lets_the_group_grow() -> None:
    group = group_of(member("a"))
    assert not group.take_growth(), "who makes the group's first rebalance is waited for anyway"
    group.fire(GroupEvent.REBALANCE, 0)
    group.add(member("b"))
    assert group.take_growth() and not group.take_growth()
    group.fire(GroupEvent.JOINED, 0)
    group.fire(GroupEvent.REBALANCE, 0)
    group.add(member("c"))
    assert not group.take_growth()


def test_a_phase_has_one_deadline() -> None:
    scheduler = SimScheduler()
    reached: list[str] = []
    group = group_of(member("a"))
    for expect in (group.expect_joins, group.expect_syncs):
        for name in ("first", "second"):
            deadline = Deadline(scheduler, partial(reached.append, name))
            expect(deadline)
            deadline.extend(10)
        scheduler.run_for(10)
        assert reached == ["second"]
        reached.clear()
        deadline.extend(10)
        expect(None)
        assert scheduler.pending() == 0
