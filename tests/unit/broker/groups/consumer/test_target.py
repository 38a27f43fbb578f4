"""The question to an assignor, and the records of its answer."""

from __future__ import annotations

import pytest

from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember, Subscription
from broker.groups.consumer.state.records import regex_record, target_record
from broker.groups.consumer.target import make_assignor_input, target_records, voted_assignor, wants
from broker.groups.group_records import read_group_record
from ground.sliced_work import PIECES_AT_ONCE, in_one_go
from tests.unit.broker.groups.consumer.stage import Stage, T, U

NAMES = ["uniform", "range"]


@pytest.mark.parametrize(
    ("named", "winner"),
    [
        ([], "uniform"),
        ([None, None], "uniform"),
        (["range"], "range"),
        (["range", None, None], "range"),
        (["range", "uniform"], "uniform"),
        (["range", "uniform", "range"], "range"),
        (["gone", "gone", "range"], "range"),
        (["gone"], "uniform"),
    ],
)
def test_most_votes_win(named: list[str | None], winner: str) -> None:
    assert voted_assignor(named, NAMES) == winner


def member(name: str, *topics: str, **said: str) -> ConsumerMember:
    return ConsumerMember(name, Subscription(topics=topics, **said))  # type: ignore[arg-type]


def test_members_are_asked_about_with_what_they_want_and_had() -> None:
    stage = Stage()
    topics = stage.image.topics
    group = ConsumerGroup("g")
    stage.groups["g"] = group
    stage.replay([target_record("g", "m", {T: (0,)}), regex_record("g", "u.*", ["u"], 1, 1)])
    members = [
        member("m", "t", "missing"),
        member("n", "t", regex="u.*", instance_id="i", rack_id="r"),
        member("o", "t", "missing"),
    ]
    asked = make_assignor_input(group, members, {"n": {U: (1,)}}, topics)
    assert list(asked.members) == ["m", "n", "o"]
    assert asked.members["m"].topic_ids == {T}
    assert asked.members["m"].topic_ids is asked.members["o"].topic_ids
    assert asked.members["n"] == ({T, U}, {U: (1,)}, "i", "r")
    assert (asked.members["m"].target, asked.members["o"].target) == ({T: (0,)}, {})
    assert asked.topics == {T: 4, U: 2}
    assert wants(group, members[1].subscription, topics) == {T, U}


def test_only_what_differs_is_written() -> None:
    group = ConsumerGroup("g")
    stage = Stage()
    stage.groups["g"] = group
    stage.replay([target_record("g", "m", {T: (0,)}), target_record("g", "n", {})])
    answer = {"m": {T: (0,)}, "n": {T: (1,)}}
    written = in_one_go(target_records(group, ["m", "n", "o"], answer, 4, 99))
    read = [read_group_record(*one) for one in written]
    assert [key[1] for key, _ in written] == [7, 7, 6]
    assert [one[0].member_id for one in read[:2]] == ["n", "o"]  # type: ignore[index,union-attr]


def test_the_records_of_a_large_target_are_made_in_slices() -> None:
    members = 2 * PIECES_AT_ONCE
    answer = {f"m{number}": {T: (number,)} for number in range(members)}
    steps = target_records(ConsumerGroup("g"), list(answer), answer, 4, 99)
    slices = 0
    while True:
        slices += 1
        try:
            next(steps)
        except StopIteration as end:
            records = end.value
            break
    assert len(records) == members + 1
    # A member with one topic is two pieces.
    assert slices == 4
