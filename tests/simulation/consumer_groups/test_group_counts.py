"""What a run's groups did is counted by their log; `--groups` puts such groups into any seed."""

from __future__ import annotations

import shlex

import pytest

from broker.coordinator.coordinator_log import Record
from broker.groups.consumer.state.member import PartitionsPosition, Subscription
from broker.groups.consumer.state.records import (
    epoch_record,
    group_tombstones,
    member_record,
    member_tombstones,
    position_record,
)
from broker.groups.group_records import group_metadata_record, group_tombstone
from broker.groups.reconciliation.member_state import STABLE, UNREVOKED_PARTITIONS
from broker.groups.reconciliation.position import MemberPosition
from protocol.messages.group_records import GroupMetadataValue, MemberMetadata
from simulation.sim_trace import Grouped
from tests.simulation.__main__ import Job, main
from tests.simulation.consumer_groups.group_counts import counts_of
from tests.simulation.consumer_groups.group_log import Entry
from tests.simulation.plans import Plan
from tests.simulation.simulation import Simulation

GROUP, TOPIC = "g", bytes(15) + b"\x01"


def at(epoch: int, *partitions: int, revoking: tuple[int, ...] = ()) -> PartitionsPosition:
    """A member at an epoch, with partitions of the topic."""
    return MemberPosition(
        epoch,
        epoch,
        UNREVOKED_PARTITIONS if revoking else STABLE,
        {TOPIC: dict.fromkeys(partitions, epoch)} if partitions else {},
        {TOPIC: dict.fromkeys(revoking, epoch)} if revoking else {},
    )


def joins(
    member_id: str, epoch: int, position: PartitionsPosition, instance_id: str | None = None
) -> list[Record]:
    """The batch of a member that joins."""
    subscription = Subscription(instance_id, topics=("t",))
    return [
        member_record(GROUP, member_id, subscription),
        epoch_record(GROUP, epoch, 0),
        position_record(GROUP, member_id, position),
    ]


def counted(*batches: list[Record]) -> Grouped:
    """What is counted of batches."""
    offset, entries = 0, []
    for batch in batches:
        entries.append([Entry(offset + n, key, value) for n, (key, value) in enumerate(batch)])
        offset += len(batch)
    return counts_of(entries)


def test_a_hand_over_is_a_partition_that_another_had() -> None:
    first = joins("a", 2, at(2, 0, 1))
    second = joins("b", 3, at(2))
    revokes = [position_record(GROUP, "a", at(2, 0, revoking=(1,)))]
    given_up = [position_record(GROUP, "a", at(3, 0))]
    taken = [position_record(GROUP, "b", at(3, 1))]
    assert counted(first, second) == Grouped(joins=2)
    assert counted(first, second, revokes) == Grouped(joins=2)
    assert counted(first, second, revokes, given_up) == Grouped(2, 1)
    assert counted(first, second, revokes, given_up, taken) == Grouped(2, 2, 1)


def test_a_static_members_next_process_takes_nothing_from_another() -> None:
    first = joins("a", 2, at(2, 0, 1), instance_id="i")
    second = [*member_tombstones(GROUP, "a"), *joins("b", 2, at(2, 0, 1), instance_id="i")]
    assert counted(first, second) == Grouped(joins=2)


def test_conversions_are_counted_both_ways_and_are_no_joins_of_those_that_were_there() -> None:
    members = [MemberMetadata("a", None, "", "", 1, 1, b"", b"")]
    value = GroupMetadataValue("consumer", 5, "range", "a", 0, members)
    classic = [group_metadata_record(GROUP, value)]
    upgrade = [group_tombstone(GROUP), *joins("a", 5, at(5, 0)), *joins("b", 6, at(5))]
    downgrade = [*member_tombstones(GROUP, "b"), *member_tombstones(GROUP, "a")]
    downgrade += [*group_tombstones(GROUP), *classic]
    assert counted(classic, upgrade) == Grouped(joins=1, upgrades=1)
    assert counted(classic, upgrade, downgrade) == Grouped(joins=1, upgrades=1, downgrades=1)


@pytest.mark.parametrize("brokers", [1, 3])
def test_any_seed_may_have_groups_with_all_else_but_transactions_and_rights(brokers: int) -> None:
    for seed in range(12):
        plan = Job(seed, brokers, groups=True).plan
        assert (plan.assigned, plan.transactional, plan.secured) == (True, False, False)
        other = Plan.of(seed) if brokers == 1 else Plan.cluster(seed)
        assert (plan.faults, plan.limited) == (other.faults, other.limited)


def test_a_failure_tells_how_to_run_it_again_with_its_groups(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By its words the same run is found: the seed has no groups by itself."""
    simulation = Simulation(0, Job(0, 3, groups=True).plan)
    words = shlex.split(simulation.replay)
    assert words[:3] == ["python", "-m", "tests.simulation"]
    outcome = simulation.run()
    assert outcome.grouped.joins > 5
    assert outcome.grouped.reconciliations > 5
    assert outcome.grouped.hand_overs > 2
    assert outcome.grouped.settled > 2
    assert main(words[3:]) == 0
    assert capsys.readouterr().out == f"{outcome}\n"
    assert not Plan.cluster(0).assigned
