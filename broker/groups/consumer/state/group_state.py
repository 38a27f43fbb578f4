"""The states of a group that the broker assigns. They follow from what the group holds.

Owns the table. No state is stored: whoever asks is told what the epochs and the members say.
Follows Kafka's `ConsumerGroup.ConsumerGroupState` (KIP-848).
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ConsumerGroupState(Enum):
    """The states, in the order in which they are looked for: the first that applies.

    EMPTY        no members; committed offsets may remain
    ASSIGNING    the group's epoch is above that of the target assignment, which is to be computed
    RECONCILING  some member is not at the target's epoch, has something to give up or to wait for,
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
    """What a group's state follows from."""

    has_members: bool
    is_assigned: bool
    """Whether the target assignment is of the group's epoch."""
    is_reconciled: bool
    """Whether every member is at its target."""


def state_of(situation: Situation) -> ConsumerGroupState:
    """The state of a group that there is."""
    if not situation.has_members:
        return ConsumerGroupState.EMPTY
    if not situation.is_assigned:
        return ConsumerGroupState.ASSIGNING
    if not situation.is_reconciled:
        return ConsumerGroupState.RECONCILING
    return ConsumerGroupState.STABLE
