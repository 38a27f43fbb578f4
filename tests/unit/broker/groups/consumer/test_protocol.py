"""Members that fall silent or take too long, and those an administrator sends away."""

from __future__ import annotations

from typing import Any

from ground.sliced_work import in_one_go
from protocol.errors import ErrorCode
from protocol.messages.leave_group import MemberIdentity
from tests.unit.broker.groups.consumer.stage import (
    GROUP,
    Stage,
    T,
    beat,
    joining,
    slices,
    whole,
)


def members(stage: Stage) -> list[str]:
    return list(stage.group.members)


def test_who_is_not_heard_of_is_removed() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    stage.wait(30_000)
    stage.tell(joining("n", "t"))
    stage.wait(14_999)
    assert members(stage) == ["m", "n"]
    stage.wait(1)
    assert members(stage) == ["n"]
    assert [key[1] for key, _ in stage.batches[-1]] == [8, 7, 5, 3]
    assert stage.tell(beat("m", 2)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeats_keep_a_member_and_those_that_are_refused_do_not() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    for _ in range(3):
        stage.wait(40_000)
        assert stage.tell(beat("m", 2)).error_code == 0
    stage.wait(40_000)
    assert stage.tell(beat("m", 1)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    stage.wait(5_000)
    assert members(stage) == []


def test_who_was_told_to_give_up_has_its_rebalance_time_out() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", rebalance_timeout_ms=7_000))
    stage.tell(joining("n", "t"))
    stage.wait(20_000)
    assert members(stage) == ["m", "n"]
    stage.tell(beat("m", 2))
    stage.wait(6_999)
    stage.tell(beat("m", 2))
    stage.wait(1)
    assert members(stage) == ["n"]
    assert stage.group.is_free(T, 0)


def test_who_gave_up_in_time_stays() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", rebalance_timeout_ms=7_000))
    stage.tell(joining("n", "t"))
    stage.tell(beat("m", 2))
    stage.wait(6_000)
    stage.tell(beat("m", 2, {T: [0, 1]}))
    stage.wait(6_000)
    assert members(stage) == ["m", "n"]


def test_a_static_member_that_is_away_is_awaited_as_long_as_its_session() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", instance_id="i"))
    stage.wait(20_000)
    stage.tell(beat("m", -2, instance_id="i"))
    stage.wait(24_999)
    assert members(stage) == ["m"]
    stage.wait(1)
    assert members(stage) == []


def test_after_a_load_all_time_outs_begin_anew() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", rebalance_timeout_ms=7_000))
    stage.tell(joining("n", "t"))
    stage.tell(beat("m", 2))
    stage.wait(6_000)
    stage.protocol.stop()
    stage.protocol.resume(stage.group)
    stage.wait(6_999)
    assert members(stage) == ["m", "n"]
    stage.wait(1)
    assert members(stage) == ["n"]
    stage.wait(38_000)
    assert members(stage) == []


def test_a_removal_that_cannot_be_written_is_tried_again() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    stage.refuse = ErrorCode.COORDINATOR_NOT_AVAILABLE
    stage.wait(45_500)
    assert members(stage) == ["m"]
    stage.refuse = ErrorCode.NONE
    stage.wait(1_000)
    assert members(stage) == []


def test_a_group_that_is_not_there_is_joined_only() -> None:
    stage = Stage()
    for epoch in (-1, 3):
        answer = stage.tell(beat("m", epoch))
        assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert answer.error_message is not None
    assert stage.groups == {}


def test_an_administrator_sends_members_away_in_one_batch() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    stage.tell(joining("n", "t", instance_id="i"))
    told: list[Any] = []
    named = [MemberIdentity("m"), MemberIdentity("m"), MemberIdentity("", "i"), MemberIdentity("x")]
    stage.settle(stage.protocol.leave(stage.group, named, told.extend))(ErrorCode.NONE)
    errors = [ErrorCode(one.error_code).name for one in told]
    assert errors == ["NONE", "NONE", "NONE", "UNKNOWN_MEMBER_ID"]
    assert stage.group.is_idle
    assert [key[1] for key, _ in stage.batches[-1]] == [8, 7, 5, 8, 7, 5, 3, 6]


def test_whom_an_administrator_could_not_send_away_is_told() -> None:
    stage = Stage()
    stage.tell(joining("m", "t"))
    told: list[Any] = []
    outcome = whole(stage.protocol.leave(stage.group, [MemberIdentity("m")], told.extend))
    outcome.reply(ErrorCode.NOT_COORDINATOR)
    assert [one.error_code for one in told] == [ErrorCode.NOT_COORDINATOR]


def test_many_are_sent_away_in_slices_and_one_batch() -> None:
    stage = Stage()
    names = [f"m{number}" for number in range(300)]
    for name in names:
        stage.tell(joining(name, "t"))
    named = [MemberIdentity(name) for name in names[:200]]
    count, outcome = slices(stage.protocol.leave(stage.group, named, lambda _: None))
    assert count == 3, "two to look at them, and one more for their records"
    assert len(outcome.records) == 3 * 200 + 1
    assert members(stage) == names, "nothing changes before it is written"
    alone = stage.protocol.leave(stage.group, named[:1], lambda _: None)
    assert slices(alone)[0] == 1


def test_the_assignor_that_is_voted_for_is_shown() -> None:
    stage = Stage()
    stage.tell(joining("m", "t", server_assignor="range"))
    described = in_one_go(stage.protocol.describe(stage.group))
    assert (described.group_id, described.assignor_name) == (GROUP, "range")
