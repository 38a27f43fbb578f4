"""The states of a record that is in flight in a share-partition.

    available → acquired → acknowledged
                         → available              released, or its lock expired
                         → archiving → archived   on its way to the dead-letter topic
                         → archived               rejected, delivered too often, or gone

Owns the numbers of the states in `__share_group_state`, and the state after an acknowledgement.
Follows Kafka's `RecordState` (KIP-932, KIP-1191).
"""

from __future__ import annotations

from enum import IntEnum


class RecordState(IntEnum):
    """A state, by its number in the share coordinator's records."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    """The record is being written to the dead-letter topic."""
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        """True if the record is never delivered again and never changes."""
        return self is RecordState.ACKNOWLEDGED or self is RecordState.ARCHIVED


class AcknowledgeType(IntEnum):
    """An acknowledgement of a record, by its number in ShareFetch and ShareAcknowledge."""

    GAP = 0
    """The log has no record for clients at this offset."""
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


def state_after(
    acknowledgement: AcknowledgeType, deliveries: int, limit: int, *, has_dead_letters: bool
) -> RecordState:
    """Return the state of a record after an acknowledgement other than RENEW.

    `deliveries` counts this delivery, `limit` is `share.delivery.count.limit`. A record that was
    delivered so often and is released again is given up. With `has_dead_letters`, a record that is
    rejected or given up goes to the dead-letter topic first.
    """
    if acknowledgement is AcknowledgeType.ACCEPT:
        return RecordState.ACKNOWLEDGED
    if acknowledgement is AcknowledgeType.GAP:
        return RecordState.ARCHIVED
    if acknowledgement is AcknowledgeType.RELEASE and deliveries < limit:
        return RecordState.AVAILABLE
    return RecordState.ARCHIVING if has_dead_letters else RecordState.ARCHIVED
