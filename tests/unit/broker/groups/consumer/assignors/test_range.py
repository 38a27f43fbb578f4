from __future__ import annotations

from random import Random

import pytest

from broker.groups.consumer.assignors.assignor import MemberSubscription
from broker.groups.consumer.assignors.range import RangeAssignor
from tests.unit.broker.groups.consumer.assignors.groups import (
    AssignmentInput,
    a_group,
    changed,
    check_whole,
    with_targets,
)

A, B = b"a" * 16, b"b" * 16


@pytest.mark.parametrize("alike", [True, False])
def test_every_partition_has_one_owner_and_pieces_are_even(alike: bool) -> None:
    random = Random(848)
    for _ in range(200):
        asked = a_group(random, alike)
        given = RangeAssignor().assign(asked.members, asked.topics)
        check_whole(asked, given)
        _check_pieces(asked, given)


def _check_pieces(asked: AssignmentInput, given: object) -> None:
    assert isinstance(given, dict)
    for topic, count in asked.topics.items():
        takers = [name for name, one in asked.members.items() if topic in one.topic_ids]
        takers.sort(
            key=lambda name: (
                asked.members[name].instance_id is None,
                asked.members[name].instance_id or name,
            )
        )
        pieces = [given[name].get(topic, ()) for name in takers]
        assert [one for piece in pieces for one in piece] == list(range(count))
        lengths = [len(piece) for piece in pieces]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] - lengths[-1] <= 1


def test_what_members_had_does_not_count() -> None:
    random = Random(1)
    for _ in range(50):
        asked = changed(a_group(random, alike=True), random, alike=True)
        fresh = RangeAssignor().assign(asked.members, asked.topics)
        reversed_names = dict(zip(asked.members, reversed(list(fresh.values())), strict=True))
        again = with_targets(asked, reversed_names)
        assert RangeAssignor().assign(again.members, again.topics) == fresh


def test_static_members_come_first_and_names_are_compared_as_java_does() -> None:
    both = frozenset((A,))
    members = {
        "z": MemberSubscription(both),
        "\U0001f600": MemberSubscription(both),
        "￿": MemberSubscription(both),
        "y": MemberSubscription(both, instance_id="i2"),
        "x": MemberSubscription(both, instance_id="i1"),
    }
    given = RangeAssignor().assign(members, {A: 5})
    assert {name: one[A] for name, one in given.items()} == {
        "x": (0,),
        "y": (1,),
        "z": (2,),
        "\U0001f600": (3,),
        "￿": (4,),
    }


def test_topics_alike_are_cut_alike() -> None:
    both = frozenset((A, B))
    members = {name: MemberSubscription(both) for name in "abc"}
    given = RangeAssignor().assign(members, {A: 7, B: 7})
    for assignment in given.values():
        assert assignment[A] == assignment[B]


def test_nobody_and_nothing() -> None:
    assert RangeAssignor().assign({}, {}) == {}
    assert RangeAssignor().assign({}, {A: 1}) == {}
    assert RangeAssignor().assign({"m": MemberSubscription(frozenset())}, {}) == {"m": {}}


def test_a_large_group_is_done_in_slices() -> None:
    topics = {number.to_bytes(16, "big"): 50 for number in range(100)}
    subscribed = frozenset(topics)
    members = {f"m{number}": MemberSubscription(subscribed) for number in range(500)}
    steps = RangeAssignor().steps(members, topics)
    assert 5 <= sum(1 for _ in steps) <= 20
