"""The replica lists of a partition during a reassignment: pure arithmetic.

During a reassignment the replicas are the target in its order, then those to be removed; separate
lists name the ones to add and to remove. It ends when all replicas of the target are in sync.

Owns: the lists at its start, at its end, and after a cancel. Never: checks brokers, writes records.

Follows KIP-455 and Kafka's `PartitionReassignmentReplicas` and `PartitionReassignmentRevert`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controller.metadata.image import PartitionRegistration


class Reassignment(NamedTuple):
    """The replica lists of a partition; without a reassignment only `replicas` is not empty."""

    replicas: tuple[int, ...]
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()

    @property
    def in_progress(self) -> bool:
        """Whether replicas are still to be added or removed."""
        return bool(self.removing or self.adding)


class Completed(NamedTuple):
    """Replicas and ISR of a partition whose reassignment is complete."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class Reverted(NamedTuple):
    """Replicas and ISR of a partition whose reassignment was cancelled."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    unclean: bool
    """Whether no replica of the ISR stays: the first replica becomes the ISR and may lack
    records."""


def reassignment_of(partition: PartitionRegistration) -> Reassignment:
    """Return the reassignment of `partition`, in progress or not."""
    return Reassignment(partition.replicas, partition.removing_replicas, partition.adding_replicas)


def begin(present: Sequence[int], target: Sequence[int]) -> Reassignment:
    """Return the lists for a reassignment from `present` to `target`: the replicas are `target`,
    then those to remove."""
    removing = tuple(sorted(replica for replica in present if replica not in target))
    adding = tuple(sorted(replica for replica in target if replica not in present))
    return Reassignment((*target, *removing), removing, adding)


def complete(reassignment: Reassignment, isr: Sequence[int]) -> Completed | None:
    """Return the final replicas and ISR; None if `isr` lacks a replica that stays, or no
    reassignment is in progress."""
    if not reassignment.in_progress:
        return None
    removing = reassignment.removing
    staying_isr = tuple(replica for replica in isr if replica not in removing)
    staying = tuple(replica for replica in reassignment.replicas if replica not in removing)
    if not staying_isr or not staying or any(replica not in staying_isr for replica in staying):
        return None
    return Completed(staying, staying_isr)


def revert(partition: PartitionRegistration) -> Reverted:
    """Return the replicas and ISR of `partition` as they were before its reassignment. If no such
    replica is in the ISR, the first replica becomes the ISR."""
    adding = partition.adding_replicas
    replicas = tuple(replica for replica in partition.replicas if replica not in adding)
    assert replicas, "a partition has replicas before it is reassigned"
    isr = tuple(replica for replica in partition.isr if replica not in adding)
    if isr:
        return Reverted(replicas, isr, unclean=False)
    return Reverted(replicas, (replicas[0],), unclean=True)
