"""`controller.decisions.partition_change`: the record for a new ISR and leader."""

from __future__ import annotations

from controller.decisions.leader_election import Election
from controller.decisions.partition_change import ChangeRules, Targets, partition_change
from controller.metadata.image import PartitionRegistration
from controller.metadata.topics_delta import merge
from protocol.messages.metadata_records import PartitionChangeRecord

FOO = b"f" * 16


def partition(isr: tuple[int, ...], leader: int, **more: object) -> PartitionRegistration:
    return PartitionRegistration((1, 2, 3), (bytes(16),) * 3, isr, leader, 5, 7)._replace(**more)


def rules(
    *alive: int, elr: bool = False, minimum: int = 1, lost: tuple[int, ...] = ()
) -> ChangeRules:
    return ChangeRules(lambda broker: broker in alive, elr, minimum, lost)


def test_nothing_to_change() -> None:
    assert partition_change(FOO, 0, partition((1, 2), 1), rules(1, 2, 3)) is None


def test_a_follower_leaves_the_isr() -> None:
    record = partition_change(FOO, 0, partition((1, 2), 1), rules(1, 3), Targets(isr=[1]))
    assert record == PartitionChangeRecord(0, FOO, isr=[1])


def test_the_leader_leaves() -> None:
    record = partition_change(FOO, 0, partition((1, 2), 1), rules(2, 3), Targets(isr=[2]))
    assert record == PartitionChangeRecord(0, FOO, isr=[2], leader=2)


def test_the_last_member_stays_in_the_isr_without_elr() -> None:
    record = partition_change(FOO, 0, partition((1,), 1), rules(2, 3), Targets(isr=[]))
    assert record == PartitionChangeRecord(0, FOO, leader=-1)


def test_an_unclean_leader_is_alone_in_the_isr_and_recovers() -> None:
    record = partition_change(
        FOO,
        0,
        partition((1,), 1),
        rules(2, 3)._replace(election=Election.UNCLEAN),
        Targets(isr=[]),
    )
    assert record == PartitionChangeRecord(0, FOO, isr=[2], leader=2, leader_recovery_state=1)


def test_with_elr_the_last_member_becomes_eligible() -> None:
    """As Apache Kafka writes it when the only broker shuts down, but for three replicas."""
    before = partition((1,), 1)
    record = partition_change(FOO, 0, before, rules(2, elr=True), Targets(isr=[]))
    assert record is not None
    assert (record.isr, record.leader) == ([], -1)
    assert (record.eligible_leader_replicas, record.last_known_elr) == ([1], [1])
    back = partition_change(FOO, 0, merge(before, record), rules(1, elr=True))
    assert back is not None
    assert (back.isr, back.leader, back.eligible_leader_replicas) == ([1], 1, [])


def test_below_the_minimum_who_leaves_is_eligible_until_it_is_reached_again() -> None:
    before = partition((1, 2), 1)
    less = partition_change(FOO, 0, before, rules(1, elr=True, minimum=2), Targets(isr=[1]))
    assert less is not None
    assert (less.isr, less.eligible_leader_replicas) == ([1], [2])
    more = partition_change(
        FOO, 0, merge(before, less), rules(1, 2, elr=True, minimum=2), Targets(isr=[1, 2])
    )
    assert more is not None
    assert (more.isr, more.eligible_leader_replicas) == ([1, 2], [])


def test_an_unclean_shutdown_is_no_proof() -> None:
    before = partition((), -1, elr=(1, 2))
    record = partition_change(FOO, 0, before, rules(elr=True, minimum=2, lost=(1,)))
    assert record is not None
    assert record.eligible_leader_replicas == [2]
