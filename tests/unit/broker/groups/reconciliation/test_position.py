"""How a member follows its target: the rules one by one, and all of them together by chance."""

from __future__ import annotations

import random

from broker.groups.reconciliation.member_state import (
    STABLE,
    UNKNOWN,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
)
from broker.groups.reconciliation.position import MemberPosition, TargetAssignment, reconcile

Letters = MemberPosition[str]


def target(
    epoch: int, *numbers: int, wanted: bool = True, changed: bool = False
) -> TargetAssignment[str]:
    named = {"t": numbers} if numbers else {}
    return TargetAssignment(epoch, named, lambda container: wanted, changed)


def held(*numbers: int, epoch: int = 2) -> dict[str, dict[int, int]]:
    return {"t": dict.fromkeys(numbers, epoch)} if numbers else {}


def free(container: str, number: int) -> bool:
    return True


def taken(container: str, number: int) -> bool:
    return False


AT_TWO: Letters = MemberPosition(2, 0, STABLE, held(0, 1, 2), {})


def test_a_new_member_takes_what_is_free() -> None:
    position = reconcile(MemberPosition[str](), target(2, 0, 1), None, free)
    assert position == MemberPosition(2, 0, STABLE, held(0, 1), {})


def test_what_others_have_is_waited_for_at_the_target_epoch() -> None:
    waits = reconcile(MemberPosition[str](), target(3, 0, 1), None, lambda c, n: n == 1)
    assert waits == MemberPosition(3, 0, UNRELEASED_PARTITIONS, held(1, epoch=3), {})
    got = reconcile(waits, target(3, 0, 1), None, free)
    assert got == MemberPosition(3, 3, STABLE, held(0, 1, epoch=3), {})


def test_a_stable_member_at_the_target_stays() -> None:
    assert reconcile(AT_TWO, target(2, 0), None, free) is AT_TWO


def test_what_is_to_be_given_up_keeps_the_epoch() -> None:
    told = reconcile(AT_TWO, target(3, 0), None, free)
    assert told == MemberPosition(2, 2, UNREVOKED_PARTITIONS, held(0), held(1, 2))
    assert reconcile(told, target(3, 0), None, free) is told
    assert reconcile(told, target(3, 0), {"t": (0, 1)}, free) is told
    done = reconcile(told, target(3, 0), {"t": (0,)}, free)
    assert done == MemberPosition(3, 2, STABLE, held(0), {})


def test_a_member_that_owns_nothing_needs_not_be_told() -> None:
    assert reconcile(AT_TWO, target(3, 0), {}, free).epoch == 3


def test_a_target_that_moves_while_a_member_revokes_is_followed_afterwards() -> None:
    told = reconcile(AT_TWO, target(3, 0, 1), None, free)
    again = reconcile(told, target(4, 0), {"t": (0, 1)}, free)
    assert again == MemberPosition(2, 2, UNREVOKED_PARTITIONS, held(0), held(1))


def test_what_a_member_no_longer_wants_is_given_up_before_there_is_a_target() -> None:
    told = reconcile(AT_TWO, target(2, 0, 1, 2, wanted=False, changed=True), None, free)
    assert told == MemberPosition(2, 2, UNREVOKED_PARTITIONS, {}, held(0, 1, 2))
    gone = reconcile(told, target(2, 0, 1, 2, wanted=False), {}, free)
    assert gone == MemberPosition(2, 2, STABLE, {}, {})
    assert reconcile(AT_TWO, target(2, 0, wanted=True, changed=True), None, free) is AT_TWO
    silent = reconcile(AT_TWO, target(2, 0, wanted=False, changed=True), {}, free)
    assert silent == MemberPosition(2, 2, STABLE, {}, {})


def test_a_state_of_a_later_version_is_left_by_owning_nothing() -> None:
    unknown = AT_TWO._replace(state=UNKNOWN)
    assert reconcile(unknown, target(3, 0, 1, 2), None, free) is unknown
    assert reconcile(unknown, target(3, 0, 1, 2), {}, free).state is STABLE


def test_a_static_member_forgets_since_when_it_has_what_it_has() -> None:
    revoking = reconcile(AT_TWO, target(3, 0), None, free)
    assert revoking.away() == MemberPosition(-2, 2, UNREVOKED_PARTITIONS, held(0, epoch=0), {})
    assert AT_TWO.taken_over() == MemberPosition(0, 0, STABLE, held(0, 1, 2, epoch=0), {})


def test_since_when_something_is_held() -> None:
    revoking = reconcile(AT_TWO, target(3, 0), None, free)
    assert revoking.has_since(2, "t", 0)
    assert revoking.has_since(2, "t", 1)
    assert not revoking.has_since(1, "t", 0)
    assert not revoking.has_since(9, "t", 7)


def test_nothing_is_ever_held_twice_and_all_arrive() -> None:
    """Members, targets and lost answers by chance: invariants 1 to 3 and 7 of KIP-848's groups."""
    for seed in range(150):
        _play(random.Random(seed))


def _play(chance: random.Random) -> None:
    members = [f"m{number}" for number in range(chance.randint(1, 4))]
    positions: dict[str, Letters] = {member: MemberPosition() for member in members}
    owned: dict[str, list[int]] = {member: [] for member in members}
    epoch, targets = 1, {member: target(1) for member in members}
    for turn in range(120):
        if turn < 90 and chance.random() < 0.1:
            epoch += 1
            shares: dict[str, list[int]] = {member: [] for member in members}
            for number in range(6):
                shares[chance.choice(members)].append(number)
            targets = {member: target(epoch, *shares[member]) for member in members}
        member = chance.choice(members)
        before = positions[member]
        says = {"t": tuple(owned[member])} if owned[member] else {}
        silent = chance.random() < 0.3 and turn < 90
        after = reconcile(
            before,
            targets[member],
            None if silent else says,
            lambda container, number: not any(_has(one, number) for one in positions.values()),
        )
        positions[member] = after
        assert before.epoch <= after.epoch <= epoch
        if after.epoch > before.epoch:
            assert not after.revoking
        if chance.random() < 0.8 or turn >= 90:
            owned[member] = list(after.assigned.get("t", {}))
        for number in range(6):
            assert sum(_has(one, number) for one in positions.values()) <= 1
    for _ in range(3):
        for member in members:
            says = {"t": tuple(owned[member])} if owned[member] else {}
            positions[member] = reconcile(
                positions[member],
                targets[member],
                says,
                lambda container, number: not any(_has(one, number) for one in positions.values()),
            )
            owned[member] = list(positions[member].assigned.get("t", {}))
    for member in members:
        assert positions[member].state is STABLE
        assert tuple(positions[member].assigned.get("t", ())) == targets[member].named.get("t", ())


def _has(position: Letters, number: int) -> bool:
    return any(number in one.get("t", {}) for one in (position.assigned, position.revoking))
