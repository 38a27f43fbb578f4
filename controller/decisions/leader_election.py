"""The leader of a partition: a pure function of its replicas and of the live brokers.

Owns: the order in which candidates are tried. Never: chooses the partitions, nor makes the record
of the result (`controller.decisions.partition_change`).

Follows KIP-966 (eligible leader replicas) and Kafka's `PartitionChangeBuilder.electLeader`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from controller.metadata.image import NO_LEADER


class Election(Enum):
    """The kinds of election."""

    PREFERRED = "preferred"
    """The first replica if it may lead; else like ONLINE."""
    ONLINE = "online"
    """A live replica of the ISR, or of the ELR if the ISR is empty."""
    UNCLEAN = "unclean"
    """Like ONLINE, but at last any live replica: committed records may be lost."""


class Candidates(NamedTuple):
    """The replicas of a partition that an election chooses from."""

    replicas: Sequence[int]
    isr: Sequence[int]
    leader: int
    """The present leader; -1: none."""
    elr: Sequence[int] = ()
    """The eligible leader replicas, which count only if the ISR is empty."""
    last_known_elr: Sequence[int] = ()
    """The last leader, then other replicas that had all committed records. They count only if ISR
    and ELR are empty. Replicas that lost their disk are left out."""
    elr_enabled: bool = False


class ElectionResult(NamedTuple):
    """The new leader (-1: none), and whether it may lack committed records."""

    leader: int
    unclean: bool = False


def elect_leader(
    candidates: Candidates, election: Election, is_active: Callable[[int], bool]
) -> ElectionResult:
    """Return the leader that `candidates` should have, -1 if none of them may lead.

    `is_active(broker)` returns whether a broker is registered, not fenced, not shutting down, and
    has the directory of its replica. The present leader stays if it may lead, unless the election
    is PREFERRED and the first replica may lead.
    """
    proven = candidates.isr or (candidates.elr if candidates.elr_enabled else ())

    def may_lead(replica: int) -> bool:
        """Return whether the replica is active and in the ISR, or in the ELR if the ISR is
        empty."""
        return replica in proven and is_active(replica)

    if election is Election.PREFERRED and candidates.replicas and may_lead(candidates.replicas[0]):
        return ElectionResult(candidates.replicas[0])
    if may_lead(candidates.leader):
        return ElectionResult(candidates.leader)
    for replica in candidates.replicas:
        if may_lead(replica):
            return ElectionResult(replica)
    return _without_proof(candidates, election, is_active)


def _without_proof(
    candidates: Candidates, election: Election, is_active: Callable[[int], bool]
) -> ElectionResult:
    """Return a leader that may lack committed records: the last leader, else, in an unclean
    election, any live replica, else none."""
    if candidates.elr_enabled and not candidates.isr and not candidates.elr:
        last_leader = candidates.last_known_elr[:1]  # the others count after this one is lost
        if last_leader and is_active(last_leader[0]):
            return ElectionResult(last_leader[0], unclean=True)
    if election is Election.UNCLEAN:
        for replica in candidates.replicas:
            if is_active(replica):
                return ElectionResult(replica, unclean=True)
    return ElectionResult(NO_LEADER)
