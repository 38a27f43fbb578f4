"""The states of a consumer group, which follow from its epochs and its members.

Owns the table. Never stores a state: it is computed when it is needed. Follows Kafka's
`ConsumerGroup.ConsumerGroupState` (KIP-848).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ConsumerGroupState(Enum):
    """The states. A group has the first of these that applies.

    EMPTY        no members; committed offsets may remain
    ASSIGNING    the group's epoch is above that of the target assignment, which is to be computed
    RECONCILING  some member is not at the target's epoch, has partitions to revoke or to wait for,
                 or is static and away
    STABLE       every member has its target
    DEAD         there is no such group
    """

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class Situation(NamedTuple):
    """The facts from which a group's state follows."""

    has_members: bool
    is_assigned: bool
    """True if the target assignment is for the group's epoch."""
    is_reconciled: bool
    """True if every member has its target."""


def state_of(situation: Situation) -> ConsumerGroupState:
    """Return the state of an existing group: Empty, Assigning, Reconciling or Stable, the first
    that applies."""
    if not situation.has_members:
        return ConsumerGroupState.EMPTY
    if not situation.is_assigned:
        return ConsumerGroupState.ASSIGNING
    if not situation.is_reconciled:
        return ConsumerGroupState.RECONCILING
    return ConsumerGroupState.STABLE
