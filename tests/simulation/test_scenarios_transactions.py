"""T3 to T7 of the reliability scenarios as told stories: fences, late requests, dead nodes."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from simulation.machines.sim_broker import SimBroker
from tests.simulation.cast import SOURCE
from tests.simulation.consumers import SimConsumer
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_transactions import (
    PLACES,
    Transactor,
    error_of,
    is_stable,
    leaders_log,
)
from tests.simulation.transaction_stories import (
    FINISHED_WITHIN_MS,
    POINTS,
    coordinator_dies,
    coordinator_dies_alone_with_its_decision,
    group_moves_in_a_transaction,
    late_produce,
    leader_dies_before_its_marker,
    second_producer,
)

pytestmark = pytest.mark.slow

PROTOCOLS = (1, 2)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t3_a_second_producer_fences_the_first(protocol: int) -> None:
    second_producer(1, protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_t3_while_the_first_ones_requests_are_under_way(protocol: int, seed: int) -> None:
    """Which of them comes first is left to the network; the invariants judge either."""
    story = Scenario(seed, transactional=True)

    def tell() -> None:
        first = Transactor(story, "transfer-1", protocol=protocol)
        second = Transactor(story, "transfer-2", protocol=protocol)
        first.init()
        second.init()
        for _ in range(4):
            first, second = second, first
            first.init()
            txn = first.begin()
            assert first.write(txn, *PLACES[:2])
            batch = first.batch(txn, PLACES[0])
            late = [first.produce(batch)]
            if protocol == 1:
                late.append(first.adding(txn, PLACES[2]))
            late.append(first.ending(txn))
            second.init()
            told = [error_of(story, exchange) for exchange in late]
            if told[0]:
                # It came after the end, which no producer asks for before it has this answer.
                for value in batch.values:
                    del txn.values[value.rstrip(b".")]
        txn = second.begin()
        assert second.write(txn, *PLACES)
        assert second.end(txn)

    story.run(tell)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("next_one", [False, True])
def test_t5_a_late_produce_hangs_nothing(protocol: int, next_one: bool) -> None:
    late_produce(1, protocol, next_one=next_one)


@pytest.mark.long(sample=6)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t6_a_coordinator_that_dies_leaves_one_outcome(protocol: int, point: str) -> None:
    """And its successor finishes what it has begun within fifteen seconds."""
    coordinator_dies(1, protocol, point)


@pytest.mark.parametrize("point", ["prepare appended", "second marker"])
def test_t6_of_an_abort(point: str) -> None:
    coordinator_dies(1, 2, point, commit=False)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t7_what_a_dead_client_has_left_is_aborted_in_time(protocol: int) -> None:
    """Readers are held up by it, and go on."""
    story = Scenario(transactional=True)
    timeout_ms = 3_000

    def tell() -> None:
        client = Transactor(story, "transfer-1", protocol=protocol, timeout_ms=timeout_ms)
        client.init()
        txn = client.begin()
        assert client.write(txn, *PLACES)
        assert client.move(txn, 7) is ErrorCode.NONE
        client.client.die()
        reader = story.add(SimConsumer, "consumer-1", topics=[SOURCE])
        reader.isolation = 1
        leader = story.leader(SOURCE, 0)
        behind = story.produce(SOURCE, 0, leader)
        assert story.settled(behind) is ErrorCode.NONE
        log = leaders_log(story, (SOURCE, 0))
        assert log.last_stable_offset < log.high_watermark
        story.run_until(lambda: is_stable(story, *PLACES), timeout_ms + FINISHED_WITHIN_MS)
        end = log.log_end_offset
        story.run_until(lambda: reader.positions.get((SOURCE, 0)) == end, 5_000)

    story.run(tell)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t6_a_leader_dies_before_its_marker(protocol: int) -> None:
    leader_dies_before_its_marker(1, protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t6_a_coordinator_dies_alone_with_its_decision(protocol: int) -> None:
    coordinator_dies_alone_with_its_decision(1, protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("commit", [True, False])
def test_t6_a_groups_coordinator_dies_in_a_transaction(protocol: int, commit: bool) -> None:
    group_moves_in_a_transaction(1, protocol, commit=commit)


@pytest.mark.parametrize("seed", [1, 2])
def test_t6_again_and_again(seed: int) -> None:
    """The coordinator dies over and over, whatever it is about: no client is left without end."""
    story = Scenario(seed, transactional=True)

    def tell() -> None:
        clients = [Transactor(story, f"transfer-{n}", protocol=n, transactional_id=f"bank-{n}")
                   for n in PROTOCOLS]  # fmt: skip
        for client in clients:
            client.init()
        for number in range(6):
            client = clients[number % 2]
            if not client.manager.ready:
                client.init()
            txn = client.begin()
            if client.write(txn, *PLACES):
                ended = story.begin(client.manager.end(txn, True))
                story.run_for(3.0 * number)
                coordinator: SimBroker = story.transaction_coordinator()
                story.kill(coordinator)
                story.run_until(lambda ended=ended: bool(ended), 60_000)
                story.start(coordinator)

    story.run(tell)
