from __future__ import annotations

from random import Random

from broker.groups.consumer.assignors.assignor import GroupAssignment, MemberSubscription
from broker.groups.consumer.assignors.uniform import UniformAssignor
from broker.groups.consumer.assignors.uniform_mixed import ROUNDS_MAX
from tests.unit.broker.groups.consumer.assignors.groups import (
    AssignmentInput,
    a_group,
    changed,
    check_whole,
    sizes,
    with_targets,
)


def _is_even(asked: AssignmentInput, given: GroupAssignment) -> bool:
    """Whether nobody could give a partition to a subscriber of it that has two less."""
    held = sizes(given)
    return not any(
        held[member] - held[other] >= 2
        for member, assignment in given.items()
        for topic in assignment
        for other, subscription in asked.members.items()
        if topic in subscription.topic_ids
    )


def test_every_partition_has_one_owner_and_no_single_move_makes_it_more_even() -> None:
    random = Random(848)
    for _ in range(300):
        asked = a_group(random, alike=False)
        for _ in range(4):
            given = UniformAssignor().assign(asked.members, asked.topics)
            check_whole(asked, given)
            assert _is_even(asked, given)
            asked = changed(with_targets(asked, given), random, alike=False)


def test_nothing_moves_where_nothing_changed() -> None:
    random = Random(7)
    for _ in range(200):
        asked = a_group(random, alike=False)
        given = UniformAssignor().assign(asked.members, asked.topics)
        again = with_targets(asked, given)
        assert UniformAssignor().assign(again.members, again.topics) == given


def test_who_has_no_subscription_gets_nothing_and_is_no_measure() -> None:
    topic = b"a" * 16
    members = {
        "idle": MemberSubscription(frozenset()),
        "a": MemberSubscription(frozenset((topic,)), {topic: (0, 1, 2, 3)}),
        "b": MemberSubscription(frozenset((topic,))),
    }
    given = UniformAssignor().assign(members, {topic: 4})
    assert given == {"idle": {}, "a": {topic: (0, 1)}, "b": {topic: (2, 3)}}


def test_a_partition_that_two_members_had_has_one_owner() -> None:
    one, two = b"a" * 16, b"b" * 16
    members = {
        "a": MemberSubscription(frozenset((one,)), {one: (0, 1, 9)}),
        "b": MemberSubscription(frozenset((one, two)), {one: (1,), two: (0,)}),
    }
    asked = AssignmentInput(members, {one: 2, two: 1})
    check_whole(asked, UniformAssignor().assign(members, asked.topics))


def test_a_chain_of_topics_ends() -> None:
    topics = {number.to_bytes(16, "big"): 4 for number in range(60)}
    ids = list(topics)
    members = {"first": MemberSubscription(frozenset(ids[:1]), {ids[0]: (0, 1, 2, 3)})}
    for number in range(1, 60):
        members[f"m{number}"] = MemberSubscription(frozenset(ids[number - 1 : number + 1]))
    asked = AssignmentInput(members, topics)
    for _ in range(ROUNDS_MAX):
        given = UniformAssignor().assign(asked.members, asked.topics)
        check_whole(asked, given)
        asked = with_targets(asked, given)
    assert _is_even(asked, given)


def test_a_large_group_is_done_in_slices() -> None:
    random = Random(1)
    topics = {number.to_bytes(16, "big"): 50 for number in range(100)}
    members = {
        f"m{number}": MemberSubscription(frozenset(t for t in topics if random.random() < 0.3))
        for number in range(500)
    }
    asked = AssignmentInput(members, topics)
    steps = UniformAssignor().steps(members, topics)
    slices = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            check_whole(asked, end.value)
            break
        slices += 1
    assert slices >= 20
