"""T3 to T7 of the reliability scenarios as told stories: fences, late requests, dead nodes."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from tests.simulation.cast import ACCOUNTS, SOURCE
from tests.simulation.consumers import SimConsumer
from tests.simulation.plans import TRANSACTIONS
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_transactions import (
    PLACES,
    Transactor,
    error_of,
    is_stable,
    leaders_log,
    transaction_log,
)
from tests.simulation.sim_broker import SimBroker

pytestmark = pytest.mark.skipif(not TRANSACTIONS, reason="transactions are not served yet")
PROTOCOLS = (1, 2)
FENCED = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_TXN_STATE,  # the leader asked a coordinator that has aborted it
)
STAY = {"auto.leader.rebalance.enable": "false"}
FINISHED_WITHIN_MS = 15_000.0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t3_a_second_producer_fences_the_first(protocol: int) -> None:
    """Each thing that the first one does afterwards is refused, and none has an effect."""
    story = Scenario(transactional=True)

    def tell() -> None:
        first = Transactor(story, "transfer-1", protocol=protocol)
        second = Transactor(story, "transfer-2", protocol=protocol)
        first.init()
        open_one = first.begin()
        assert first.write(open_one, (ACCOUNTS, 0))
        assert first.move(open_one, 3) is ErrorCode.NONE
        second.init()
        more = [first.batch(open_one, place) for place in PLACES]
        for batch in more:
            assert error_of(story, first.produce(batch)) in FENCED
        if protocol == 1:
            for place in PLACES:
                assert error_of(story, first.adding(open_one, place)) in FENCED
        assert first.commit_offset(open_one, 4) in FENCED
        for commit in (True, False):
            assert error_of(story, first.ending(open_one, commit=commit)) in FENCED
        assert is_stable(story, *PLACES)
        other = second.begin()
        assert second.write(other, *PLACES)
        assert second.end(other)

    story.run(tell)


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
            late = [first.produce(first.batch(txn, PLACES[0]))]
            if protocol == 1:
                late.append(first.adding(txn, PLACES[2]))
            late.append(first.ending(txn))
            second.init()
            for exchange in late:
                error_of(story, exchange)
        txn = second.begin()
        assert second.write(txn, *PLACES)
        assert second.end(txn)

    story.run(tell)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("next_one", [False, True])
def test_t5_a_late_produce_hangs_nothing(protocol: int, next_one: bool) -> None:
    """A Produce is held back until its transaction is aborted, or the next has begun."""
    story = Scenario(transactional=True, properties=STAY)

    def tell() -> None:
        slow = Transactor(story, "transfer-1", protocol=protocol)
        slow.init()
        txn = slow.begin()
        assert slow.write(txn, (ACCOUNTS, 1))
        if protocol == 1:
            assert error_of(story, slow.adding(txn, (ACCOUNTS, 0))) is ErrorCode.NONE
        leader = story.leader(ACCOUNTS, 0)
        slow.client.connection(leader.address)
        story.network.links.cut(slow.client.name, leader.address)
        late = slow.produce(slow.batch(txn, (ACCOUNTS, 0)))
        same = Transactor(story, "transfer-2", protocol=protocol)  # it speaks elsewhere, too
        same.manager.producer_id = slow.manager.producer_id
        same.manager.producer_epoch = slow.manager.producer_epoch
        story.do(same.client.learn_all([ACCOUNTS, SOURCE]))
        assert same.end(txn, commit=False)
        if next_one:
            other = same.begin()
            assert same.write(other, (SOURCE, 0))
        story.network.links.mend(slow.client.name, leader.address)
        assert error_of(story, late) in FENCED
        if next_one:
            assert same.end(other)
        story.run_for(1_000)
        assert is_stable(story, *PLACES)

    story.run(tell)


POINTS = (
    "arrives", "prepare appended", "prepare replicated", "first marker", "second marker",
    "third marker", "complete appended",
)  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t6_a_coordinator_that_dies_leaves_one_outcome(protocol: int, point: str) -> None:
    """And its successor finishes what it has begun within fifteen seconds."""
    ends_at(Scenario(transactional=True, properties=STAY), protocol, point)


@pytest.mark.parametrize("point", ["prepare appended", "second marker"])
def test_t6_of_an_abort(point: str) -> None:
    ends_at(Scenario(transactional=True, properties=STAY), 2, point, commit=False)


def ends_at(story: Scenario, protocol: int, point: str, *, commit: bool = True) -> None:
    """The coordinator of a transaction over three partitions and a group dies at a point of its
    end. Raises Failure."""

    def tell() -> None:
        client = Transactor(story, "transfer-1", protocol=protocol)
        client.init()
        txn = client.begin()
        assert client.write(txn, *PLACES)
        assert client.move(txn, 2) is ErrorCode.NONE
        coordinator = story.transaction_coordinator()
        reached = _point(story, point)
        story.begin(client.manager.end(txn, commit))
        story.run_until(reached, 5_000)
        story.kill(coordinator)
        killed_ms = story.world.now_ms
        story.run_until(lambda: _all_led(story) and is_stable(story, *PLACES), FINISHED_WITHIN_MS)
        assert story.world.now_ms - killed_ms < FINISHED_WITHIN_MS
        story.start(coordinator)
        story.in_sync(*story.brokers)
        again = Transactor(story, "transfer-2", protocol=protocol)
        again.init()
        other = again.begin()
        assert again.write(other, *PLACES)
        assert again.end(other)

    story.run(tell)


def _point(story: Scenario, point: str):  # type: ignore[no-untyped-def]
    """Whether the end of a transaction has come so far."""
    log = transaction_log(story)
    before = log.log_end_offset
    data = [leaders_log(story, place) for place in PLACES]
    ends = [one.log_end_offset for one in data]

    def markers() -> int:
        return sum(one.log_end_offset > end for one, end in zip(data, ends, strict=True))

    handled = len([one for one in story.trace.last if "END_TXN" in one])
    return {
        "arrives": lambda: len([one for one in story.trace.last if "END_TXN" in one]) > handled,
        "prepare appended": lambda: log.log_end_offset > before,
        "prepare replicated": lambda: log.high_watermark > before,
        "first marker": lambda: markers() >= 1,
        "second marker": lambda: markers() >= 2,
        "third marker": lambda: markers() >= 3,
        "complete appended": lambda: log.log_end_offset > before + 1,
    }[point]


def _all_led(story: Scenario) -> bool:
    """Whether somebody who serves leads each partition."""
    leaders = [story.view.leader(*place) for place in PLACES]
    return all(one is not None and one.serving for one in leaders)


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
