from __future__ import annotations

from random import Random

import pytest

from broker.groups.consumer.assignors.assignor import Assignment, GroupAssignment
from broker.groups.share.simple_assignor import ShareSubscription, assign
from ground.sliced_work import in_one_go

A, B = b"a" * 16, b"b" * 16


def of(
    members: dict[str, frozenset[bytes]],
    partitions: dict[bytes, int],
    targets: GroupAssignment | None = None,
) -> dict[str, Assignment]:
    inputs = {
        name: ShareSubscription(topics, (targets or {}).get(name, {}))
        for name, topics in members.items()
    }
    ranges = {topic: tuple(range(count)) for topic, count in partitions.items()}
    return dict(in_one_go(assign(inputs, ranges)))


def sizes(assignment: GroupAssignment) -> list[int]:
    return sorted(
        sum(len(partitions) for partitions in member.values()) for member in assignment.values()
    )


def holders(assignment: GroupAssignment, topic: bytes, index: int) -> int:
    return sum(index in member.get(topic, ()) for member in assignment.values())


def alike(count: int, *topics: bytes) -> dict[str, frozenset[bytes]]:
    return {f"m{number}": frozenset(topics) for number in range(count)}


@pytest.mark.parametrize(("members", "partitions"), [(1, 3), (3, 3), (2, 1), (7, 4), (2, 5)])
def test_partitions_are_shared_out_evenly(members: int, partitions: int) -> None:
    assignment = of(alike(members, A), {A: partitions})
    shared = [holders(assignment, A, index) for index in range(partitions)]
    assert set(shared) == {-(-members // partitions)}
    assert max(sizes(assignment)) - min(sizes(assignment)) <= 1


def test_a_member_keeps_what_it_had() -> None:
    targets: GroupAssignment = {"m0": {A: (2, 3)}, "m1": {A: (0, 1)}}
    assert of(alike(2, A), {A: 4}, targets) == targets
    grown = of(alike(3, A), {A: 4}, targets)
    assert sum(len(set(targets[m][A]) & set(grown[m].get(A, ()))) for m in targets) >= 2


def test_different_subscriptions_are_shared_out_topic_by_topic() -> None:
    members = {"x": frozenset({A}), "y": frozenset({A, B}), "z": frozenset({B})}
    assignment = of(members, {A: 2, B: 2})
    assert assignment["x"].keys() == {A} and assignment["z"].keys() == {B}
    for topic in (A, B):
        assert [holders(assignment, topic, index) for index in range(2)] == [1, 1]


def test_nothing_is_assigned_of_nothing() -> None:
    assert of({}, {A: 3}) == {}
    assert of(alike(2, A), {}) == {"m0": {}, "m1": {}}


@pytest.mark.parametrize("seed", range(40))
def test_each_partition_has_its_members_and_each_member_its_share(seed: int) -> None:
    random = Random(seed)
    topics = [A, B]
    targets: GroupAssignment = {}
    members: dict[str, frozenset[bytes]] = {}
    partitions = {topic: random.randrange(1, 9) for topic in topics}
    for _ in range(12):
        if random.random() < 0.6 or not members:
            members[f"m{random.randrange(9)}"] = frozenset(
                random.sample(topics, random.choice((1, 2)))
            )
        else:
            members.pop(random.choice(sorted(members)))
        partitions[random.choice(topics)] += random.choice((0, 0, 1))
        wanted = {t: n for t, n in partitions.items() if any(t in m for m in members.values())}
        targets = of(members, wanted, targets)
        for name, topic_ids in members.items():
            assert targets[name].keys() <= topic_ids
        for topic, count in wanted.items():
            subscribers = sum(topic in topic_ids for topic_ids in members.values())
            for index in range(count):
                assert 1 <= holders(targets, topic, index) <= subscribers
        if len(set(members.values())) == 1:
            assert max(sizes(targets)) - min(sizes(targets)) <= 1
