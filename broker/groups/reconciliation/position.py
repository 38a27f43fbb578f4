"""How a member goes from what it has to what it shall have: give up first, take what is free then.

Owns the rules by which a member's position follows its target; one pure function. A member that
has to give something up stays at its epoch until it says that it did; then it is at the target's
epoch, with what nobody else holds, and gets the rest as others let go. So nothing is held twice,
and nobody stops for others. Knows nothing of what is assigned (`held`), and never who holds what:
it asks. Follows Kafka's `CurrentAssignmentBuilder` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple

from broker.groups.reconciliation.held import (
    Held,
    K,
    Named,
    names,
    only,
    overlap,
    split,
    with_given,
    without,
)
from broker.groups.reconciliation.member_state import (
    STABLE,
    TRANSITIONS,
    UNKNOWN,
    UNREVOKED_PARTITIONS,
    MemberState,
    Step,
)

LEAVE_GROUP_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
JOIN_EPOCH = 0


class Position(NamedTuple, Generic[K]):
    """Where a member is on the way to its target, as record type 8 holds it."""

    epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    """Requests with it are accepted of a member that did not get the last answer."""
    state: MemberState = STABLE
    assigned: Held[K] = {}
    revoking: Held[K] = {}
    """What it was told to give up, and still counts as its own."""

    @property
    def has(self) -> Named[K]:
        """All that it may still have, also what it was told to give up."""
        return names(with_given(self.assigned, names(self.revoking), self.epoch))

    def has_since(self, epoch: int, container: K, number: int) -> bool:
        """Whether it has had that since `epoch` or before."""
        for held in (self.assigned, self.revoking):
            since = held.get(container, {}).get(number)
            if since is not None:
                return since <= epoch
        return False

    def away(self) -> Position[K]:
        """Of a static member that leaves for a while (KIP-848, epoch −2)."""
        return Position(
            STATIC_LEAVE_EPOCH, self.previous_epoch, self.state, without_epochs(self.assigned), {}
        )

    def taken_over(self) -> Position[K]:
        """Of the member that comes in the place of a static one."""
        return Position(JOIN_EPOCH, JOIN_EPOCH, self.state, without_epochs(self.assigned), {})


def without_epochs(held: Held[K]) -> Held[K]:
    """Kafka forgets since when a static member that was away has what it has."""
    return {container: dict.fromkeys(numbers, 0) for container, numbers in held.items()}


class Target(NamedTuple, Generic[K]):
    """What a member shall have."""

    epoch: int
    named: Named[K]
    is_wanted: Callable[[K], bool]
    """Whether the member is subscribed to a container now. The target may be older than that."""
    has_subscription_changed: bool = False


def reconcile(
    position: Position[K],
    target: Target[K],
    owned: Named[K] | None,
    is_free: Callable[[K, int], bool],
) -> Position[K]:
    """The next position of a member, or its position unchanged.

    `owned`: what the member says that it owns; None where it said nothing, and then it may own all
    that it ever had. `is_free`: whether nobody, this member included, has that number.
    """
    state = position.state
    if state is STABLE:
        if position.epoch != target.epoch:
            return _towards(position, target, owned, is_free)
        if target.has_subscription_changed:
            return _narrowed(position, target, owned)
        return position
    if state is UNREVOKED_PARTITIONS and (owned is None or overlap(owned, position.revoking)):
        return position
    if state is UNKNOWN and owned != {}:
        return position
    return _towards(position, target, owned, is_free)


def _towards(
    position: Position[K],
    target: Target[K],
    owned: Named[K] | None,
    is_free: Callable[[K, int], bool],
) -> Position[K]:
    wanted = only(target.named, target.is_wanted)
    kept, lost = split(position.assigned, wanted)
    missing = without(wanted, kept)
    if lost and (owned is None or overlap(owned, lost)):
        return _revoking(position, kept, lost)
    given: dict[K, tuple[int, ...]] = {}
    step = Step.ARRIVES
    for container, numbers in missing.items():
        free = tuple(number for number in numbers if is_free(container, number))
        if free:
            given[container] = free
        if len(free) < len(numbers):
            step = Step.WAITS
    return Position(
        target.epoch,
        position.epoch,
        TRANSITIONS[position.state][step],
        with_given(kept, given, target.epoch) if given else kept,
        {},
    )


def _narrowed(position: Position[K], target: Target[K], owned: Named[K] | None) -> Position[K]:
    """A member gives up at once what it is not subscribed to any more, before there is a target."""
    wanted = {
        container: tuple(numbers)
        for container, numbers in position.assigned.items()
        if target.is_wanted(container)
    }
    kept, lost = split(position.assigned, wanted)
    if not lost:
        return position
    if owned is None or overlap(owned, lost):
        return _revoking(position, kept, lost)
    return Position(position.epoch, position.epoch, position.state, kept, {})


def _revoking(position: Position[K], kept: Held[K], lost: Held[K]) -> Position[K]:
    state = TRANSITIONS[position.state][Step.REVOKES]
    return Position(position.epoch, position.epoch, state, kept, lost)
