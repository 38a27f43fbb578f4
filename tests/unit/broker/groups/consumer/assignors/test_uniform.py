from __future__ import annotations

from random import Random

from broker.groups.consumer.assignors.assignor import MemberSubscription
from broker.groups.consumer.assignors.uniform import UniformAssignor
from tests.unit.broker.groups.consumer.assignors.groups import (
    AssignmentInput,
    a_group,
    changed,
    check_whole,
    moved,
    sizes,
    with_targets,
)

A, B = b"a" * 16, b"b" * 16


def _assigned(asked: AssignmentInput) -> AssignmentInput:
    """The group with what it is given, which is checked."""
    given = UniformAssignor().assign(asked.members, asked.topics)
    check_whole(asked, given)
    held = list(sizes(given).values())
    assert max(held) - min(held) <= 1
    return with_targets(asked, given)


def test_every_partition_has_one_owner_and_nobody_has_two_more_than_another() -> None:
    random = Random(848)
    for _ in range(300):
        asked = a_group(random, alike=True)
        for _ in range(4):
            asked = changed(_assigned(asked), random, alike=True)


def test_as_few_partitions_move_as_the_shares_allow() -> None:
    random = Random(39)
    for _ in range(300):
        asked = changed(_assigned(a_group(random, alike=True)), random, alike=True)
        given = UniformAssignor().assign(asked.members, asked.topics)
        share, larger = divmod(sum(asked.topics.values()), len(asked.members))
        had = sorted(
            (
                sum(len(asked.members[name].target.get(topic, ())) for topic in asked.topics)
                for name in asked.members
            ),
            reverse=True,
        )
        least = sum(max(0, n - share - (at < larger)) for at, n in enumerate(had))
        assert moved(asked, given) == least


def test_nothing_moves_where_nothing_changed() -> None:
    random = Random(7)
    for _ in range(100):
        asked = _assigned(a_group(random, alike=True))
        given = UniformAssignor().assign(asked.members, asked.topics)
        assert given == {name: one.target for name, one in asked.members.items()}


def test_a_partition_that_two_members_had_stays_with_the_first() -> None:
    both = frozenset((A,))
    members = {name: MemberSubscription(both, {A: (0, 1)}) for name in "ab"}
    assert UniformAssignor().assign(members, {A: 4}) == {"a": {A: (0, 1)}, "b": {A: (2, 3)}}


def test_what_does_not_exist_any_more_is_given_up() -> None:
    members = {"a": MemberSubscription(frozenset((A,)), {B: (0,), A: (0, 5)})}
    assert UniformAssignor().assign(members, {A: 2}) == {"a": {A: (0, 1)}}


def test_nobody_and_nothing() -> None:
    assert UniformAssignor().assign({}, {}) == {}
    assert UniformAssignor().assign({"m": MemberSubscription(frozenset())}, {}) == {"m": {}}


def test_a_large_group_is_done_in_slices() -> None:
    topics = {number.to_bytes(16, "big"): 50 for number in range(100)}
    subscribed = frozenset(topics)
    members = {f"m{number}": MemberSubscription(subscribed) for number in range(500)}
    steps = UniformAssignor().steps(members, topics)
    assert 8 <= sum(1 for _ in steps) <= 40
