"""The steps of a member from its assignment to its target: first revoke, then get what is free.

Owns the rules by which a member's position follows its target; one pure function. A member that
must revoke partitions stays at its epoch until it reports that it has. Then it moves to the
target's epoch, gets the partitions that are free, and the rest when others release them. So no
partition is held twice, and no member stops consuming to wait for another. Does not depend on what
is assigned (`held`), and never knows the other members: `is_free` does. Follows Kafka's
`CurrentAssignmentBuilder` (KIP-848).
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
    with_additions,
    without,
)
from broker.groups.reconciliation.member_state import (
    STABLE,
    TRANSITIONS,
    UNKNOWN,
    UNREVOKED_PARTITIONS,
    MemberState,
    MemberStep,
)

LEAVE_GROUP_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
JOIN_EPOCH = 0


class MemberPosition(NamedTuple, Generic[K]):
    """The place of a member on the way to its target, as in record type 8."""

    epoch: int = JOIN_EPOCH
    previous_epoch: int = JOIN_EPOCH
    """The member's epoch before, also accepted: the member may have missed the last answer."""
    state: MemberState = STABLE
    assigned: Held[K] = {}
    revoking: Held[K] = {}
    """The partitions that the member must revoke; until it has, it still holds them."""

    @property
    def has(self) -> Named[K]:
        """All that the member may still hold, including what it must revoke."""
        return names(with_additions(self.assigned, names(self.revoking), self.epoch))

    def has_since(self, epoch: int, container: K, number: int) -> bool:
        """Return whether the member has held that number since `epoch` or before."""
        for held in (self.assigned, self.revoking):
            since = held.get(container, {}).get(number)
            if since is not None:
                return since <= epoch
        return False

    def away(self) -> MemberPosition[K]:
        """Return the position of a static member that leaves for a while (KIP-848, epoch −2). It
        keeps its assigned partitions, with epochs 0, but not those to revoke."""
        return MemberPosition(
            STATIC_LEAVE_EPOCH, self.previous_epoch, self.state, without_epochs(self.assigned), {}
        )

    def taken_over(self) -> MemberPosition[K]:
        """Return the position, with the epoch of a join, of the member that replaces this static
        one. It keeps the assigned partitions, with epochs 0."""
        return MemberPosition(JOIN_EPOCH, JOIN_EPOCH, self.state, without_epochs(self.assigned), {})


def without_epochs(held: Held[K]) -> Held[K]:
    """Return `held` with all epochs 0, as Kafka does for a static member that was away."""
    return {container: dict.fromkeys(numbers, 0) for container, numbers in held.items()}


class TargetAssignment(NamedTuple, Generic[K]):
    """The target assignment of a member."""

    epoch: int
    named: Named[K]
    is_wanted: Callable[[K], bool]
    """The test whether the member subscribes to a container now; the target may be older."""
    has_subscription_changed: bool = False


def reconcile(
    position: MemberPosition[K],
    target: TargetAssignment[K],
    owned: Named[K] | None,
    is_free: Callable[[K, int], bool],
) -> MemberPosition[K]:
    """Return the next position of a member, or its position unchanged.

    It is unchanged while the member is at its target, or may still own partitions that it must
    revoke. `owned`: what the member reports that it owns. None: it did not report, and may own all
    that it ever had. `is_free`: returns whether no member, including this one, holds that number.
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
    position: MemberPosition[K],
    target: TargetAssignment[K],
    owned: Named[K] | None,
    is_free: Callable[[K, int], bool],
) -> MemberPosition[K]:
    """Return the position closer to the target.

    The member first revokes lost partitions that it may own, then gets those that are free; it
    waits for the others in the new epoch.
    """
    wanted = only(target.named, target.is_wanted)
    kept, lost = split(position.assigned, wanted)
    missing = without(wanted, kept)
    if lost and (owned is None or overlap(owned, lost)):
        return _revoking(position, kept, lost)
    additions: dict[K, tuple[int, ...]] = {}
    step = MemberStep.ARRIVES
    for container, numbers in missing.items():
        free = tuple(number for number in numbers if is_free(container, number))
        if free:
            additions[container] = free
        if len(free) < len(numbers):
            step = MemberStep.WAITS
    return MemberPosition(
        target.epoch,
        position.epoch,
        TRANSITIONS[position.state][step],
        with_additions(kept, additions, target.epoch) if additions else kept,
        {},
    )


def _narrowed(
    position: MemberPosition[K], target: TargetAssignment[K], owned: Named[K] | None
) -> MemberPosition[K]:
    """Return the position without what the member no longer subscribes to, before a new target. If
    the member may still own that, it must revoke it first."""
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
    return MemberPosition(position.epoch, position.epoch, position.state, kept, {})


def _revoking(position: MemberPosition[K], kept: Held[K], lost: Held[K]) -> MemberPosition[K]:
    """Return the position that keeps `kept` and must revoke `lost`, in the same epoch."""
    state = TRANSITIONS[position.state][MemberStep.REVOKES]
    return MemberPosition(position.epoch, position.epoch, state, kept, lost)
