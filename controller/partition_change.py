"""The record that takes a partition to a new in-sync set and leader.

Owns: what a PartitionChangeRecord must name so that replaying it is safe: the ISR is never emptied
unless eligible leader replicas are kept, an unclean leader starts in RECOVERING with an ISR of its
own, an ISR at `min.insync.replicas` clears the ELR.

Never: chooses the brokers or the partitions that are looked at.

Follows KIP-966 and Kafka's `PartitionChangeBuilder`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from controller.leader_election import Candidates, Election, ElectionResult, elect_leader
from controller.metadata_image import (
    NO_LEADER,
    NO_LEADER_CHANGE,
    RECOVERED,
    RECOVERING,
    PartitionRegistration,
)
from protocol.messages.metadata_records import PartitionChangeRecord


class ChangeRules(NamedTuple):
    """What holds for all partitions that one decision changes."""

    is_active: Callable[[int], bool]
    """Whether a broker is registered, not fenced and not shutting down."""
    elr_enabled: bool = False
    min_insync_replicas: int = 1
    """Of the topic; only looked at where ELR are kept."""
    unclean_shutdown: tuple[int, ...] = ()
    """Brokers that lost what they had not flushed: no proof of theirs counts any more."""


def partition_change(
    topic_id: bytes,
    index: int,
    partition: PartitionRegistration,
    rules: ChangeRules,
    *,
    election: Election = Election.ONLINE,
    target_isr: Sequence[int] | None = None,
) -> PartitionChangeRecord | None:
    """The change that gives `partition` the ISR `target_isr` and the leader it then should have.

    None where nothing changes.
    """
    isr = list(partition.isr if target_isr is None else target_isr)
    isr = [replica for replica in isr if replica not in rules.unclean_shutdown]
    if not isr and not rules.elr_enabled:
        isr = list(partition.isr)
    elr, last_known = _eligible(partition, isr, rules)
    result = elect_leader(
        Candidates(partition.replicas, isr, partition.leader, elr, last_known, rules.elr_enabled),
        election,
        rules.is_active,
    )
    isr, elr = _with_leader(result, isr, elr)
    record = PartitionChangeRecord(partition_id=index, topic_id=topic_id)
    _name_changes(record, partition, result, isr)
    if rules.elr_enabled:
        if _reaches_minimum(isr, partition, rules):
            elr, last_known = (), ()
        if elr != partition.elr:
            record.eligible_leader_replicas = list(elr)
        if last_known != partition.last_known_elr:
            record.last_known_elr = list(last_known)
    return record if _changes(record) else None


def _name_changes(
    record: PartitionChangeRecord,
    partition: PartitionRegistration,
    result: ElectionResult,
    isr: list[int],
) -> None:
    if result.leader != partition.leader:
        record.leader = result.leader
    if tuple(isr) != partition.isr:
        record.isr = isr
    if result.unclean and partition.leader_recovery_state != RECOVERING:
        record.leader_recovery_state = RECOVERING


def _with_leader(
    result: ElectionResult, isr: list[int], elr: tuple[int, ...]
) -> tuple[list[int], tuple[int, ...]]:
    """A leader that is not in sync by its own right is alone in the new ISR."""
    if result.leader == NO_LEADER or result.leader in isr:
        return isr, elr
    return [result.leader], tuple(replica for replica in elr if replica != result.leader)


def _eligible(
    partition: PartitionRegistration, isr: list[int], rules: ChangeRules
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ELR and the last known ELR that go with `isr`, in the order of the replicas."""
    if not rules.elr_enabled or _reaches_minimum(isr, partition, rules):
        return (), ()
    before = (*partition.isr, *partition.elr)
    out = [replica for replica in partition.replicas if replica in before and replica not in isr]
    elr = tuple(replica for replica in out if replica not in rules.unclean_shutdown)
    lost = tuple(
        replica
        for replica in partition.replicas
        if replica not in isr
        and replica not in elr
        and (replica in out or replica in partition.last_known_elr)
    )
    if not isr and partition.leader != NO_LEADER and not partition.last_known_elr:
        lost = (partition.leader,)  # the last leader, who may return when all proof is gone
    return elr, lost


def _reaches_minimum(
    isr: Sequence[int], partition: PartitionRegistration, rules: ChangeRules
) -> bool:
    return len(isr) >= min(rules.min_insync_replicas, len(partition.replicas))


def _changes(record: PartitionChangeRecord) -> bool:
    return (
        record.leader != NO_LEADER_CHANGE
        or record.isr is not None
        or record.leader_recovery_state >= RECOVERED
        or record.eligible_leader_replicas is not None
        or record.last_known_elr is not None
    )
