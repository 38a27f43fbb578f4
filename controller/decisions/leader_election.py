"""Who leads a partition: a pure function of its replicas and of who is alive.

Owns: the order in which candidates are tried. Never: which partitions to look at, nor the record
that says what came out (`controller.decisions.partition_change`).

Follows KIP-966 (eligible leader replicas) and Kafka's `PartitionChangeBuilder.electLeader`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from controller.metadata.image import NO_LEADER


class Election(Enum):
    """What kind of election is asked for."""

    PREFERRED = "preferred"
    """The first replica if it may lead; else as ONLINE."""
    ONLINE = "online"
    """Anyone who is known to have all committed records."""
    UNCLEAN = "unclean"
    """As ONLINE, but at last any replica that is alive: committed records may be lost."""


class Candidates(NamedTuple):
    """What an election looks at."""

    replicas: Sequence[int]
    isr: Sequence[int]
    leader: int
    """The present one, or -1."""
    elr: Sequence[int] = ()
    """Counts only where the ISR is empty."""
    last_known_elr: Sequence[int] = ()
    """The last leader, then others that were proven; counts only where ISR and ELR are empty.
    Without those whose disk is gone."""
    elr_enabled: bool = False


class ElectionResult(NamedTuple):
    """The leader (-1: none), and whether it may lack committed records."""

    leader: int
    unclean: bool = False


def elect_leader(
    candidates: Candidates, election: Election, is_active: Callable[[int], bool]
) -> ElectionResult:
    """The leader that `candidates` should have.

    `is_active(broker)` tells whether a broker is registered, not fenced, not shutting down, and has
    the directory of its replica. The present leader stays where it may, so that an election
    without need changes nothing.
    """
    proven = candidates.isr or (candidates.elr if candidates.elr_enabled else ())

    def may_lead(replica: int) -> bool:
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
    """Nobody alive is known to have everything: the last leader may return, or one takes risks."""
    if candidates.elr_enabled and not candidates.isr and not candidates.elr:
        known = candidates.last_known_elr[:1]  # the next one has its turn when this one is lost
        if known and is_active(known[0]):
            return ElectionResult(known[0], unclean=True)
    if election is Election.UNCLEAN:
        for replica in candidates.replicas:
            if is_active(replica):
                return ElectionResult(replica, unclean=True)
    return ElectionResult(NO_LEADER)
