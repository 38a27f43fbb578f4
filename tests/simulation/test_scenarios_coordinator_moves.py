"""Coordinators that move without a death: by a stop, and by reassignment of their partition."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol.messages.elect_leaders import ElectLeadersRequest
from simulation.machines.sim_broker import SimBroker
from simulation.network.sim_network import Exchange
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_groups import (
    STAY,
    ScriptedMember,
    check_known,
    found_by,
    read_offset,
    serves,
    stable_group,
    until_told,
)

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinator_that_is_stopped_hands_its_groups_over(seed: int) -> None:
    """Members go on in their generation; what waits at the old one is told to look elsewhere."""
    story = Scenario(seed, properties=STAY)

    def tell() -> None:
        one, two = ScriptedMember(story, "one"), ScriptedMember(story, "two")
        late = ScriptedMember(story, "late")
        stable_group(story, one, two)
        old = story.coordinator()
        assert one.commit(old, 10) is ErrorCode.NONE
        late.introduce(old)
        join = late.joining(old)
        until_told(story, one, old, ErrorCode.REBALANCE_IN_PROGRESS)
        stopped: list[bool] = []
        old.stop(lambda: stopped.append(True))
        sent = [one.committing(old, offset) for offset in (20, 21, 22)]
        new = story.new_leader(old, "__consumer_offsets")
        serves(story, new)
        assert late.joined(join) is ErrorCode.NOT_COORDINATOR
        acked = [one.commit_error(exchange) is ErrorCode.NONE for exchange in sent]
        assert read_offset(story, new) >= max([10, *(20 + n for n in range(3) if acked[n])])
        check_known(story, new, one, two)
        story.run_until(lambda: bool(stopped), 20_000)
        story.start(old)

    story.run(tell)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_coordinator_moves_with_the_reassignment_of_its_partition(seed: int) -> None:
    """It unloads, and when it is given the partition back it loads what was written meanwhile."""
    story = Scenario(seed, properties=STAY)

    def tell() -> None:
        one, two = ScriptedMember(story, "one"), ScriptedMember(story, "two")
        stable_group(story, one, two)
        old = story.coordinator()
        assert one.commit(old, 10) is ErrorCode.NONE
        others = [node for node in story.brokers if node is not old]
        waiting = _parked_join(story, old)
        _reassign(story, [node.node_id for node in others])
        new = story.new_leader(old, "__consumer_offsets")
        serves(story, new)
        client, join = waiting
        assert client.joined(join) is ErrorCode.NOT_COORDINATOR
        until_told(story, one, old, ErrorCode.NOT_COORDINATOR)
        assert one.commit(old, 99) is ErrorCode.NOT_COORDINATOR
        check_known(story, new, one, two)
        assert read_offset(story, new) == 10
        assert one.commit(new, 20) is ErrorCode.NONE
        _gone(story, old)
        for node in story.brokers:
            story.run_until(lambda asked=node: found_by(story, asked) == new.address, 5_000)
        _reassign(story, [old.node_id, *(node.node_id for node in others)])
        story.in_sync(*story.brokers)
        story.ask(ElectLeadersRequest(0, None, 5_000), 2, new)
        story.run_until(lambda: story.coordinator() is old, 10_000)
        serves(story, old)
        assert read_offset(story, old) == 20
        check_known(story, old, one, two)
        until_told(story, one, new, ErrorCode.NOT_COORDINATOR)

    story.run(tell)


def _parked_join(story: Scenario, to: SimBroker) -> tuple[ScriptedMember, Exchange]:
    """Somebody waits at the coordinator for the others to rejoin."""
    late = ScriptedMember(story, "late")
    late.introduce(to)
    join = late.joining(to)
    story.run_until(lambda: join.handled_ms is not None, 1_000)
    return late, join


def _reassign(story: Scenario, replicas: list[int]) -> None:
    wanted = ReassignableTopic("__consumer_offsets", [ReassignablePartition(0, replicas)])
    request = AlterPartitionReassignmentsRequest(5_000, topics=[wanted])
    response = story.ask(request, 1, story.controller())
    assert response.error_code == 0
    assert response.responses[0].partitions[0].error_code == 0


def _gone(story: Scenario, node: SimBroker) -> None:
    """Wait until a broker does not have the partition any more."""
    replicas = node.replicas
    story.run_until(lambda: replicas.partition("__consumer_offsets", 0) is None, 10_000)
