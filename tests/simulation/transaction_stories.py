"""Stories of transactions that a test tells, and that catch mutants which chance rarely meets."""

from __future__ import annotations

from collections.abc import Callable

from protocol.errors import ErrorCode
from simulation.machines.simulated_nodes import TRANSACTIONS_TOPIC
from tests.simulation.cast import ACCOUNTS, COPIERS, SOURCE
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_transactions import (
    KEY,
    PLACES,
    Transactor,
    error_of,
    is_stable,
    leaders_log,
    transaction_log,
)

FENCED = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_TXN_STATE,  # the leader asked a coordinator that has aborted it
    ErrorCode.TRANSACTION_ABORTABLE,  # the same, for newer clients
)
STAY = {"auto.leader.rebalance.enable": "false"}
FINISHED_WITHIN_MS = 15_000.0
ALL_PLACES = [*PLACES, (SOURCE, 1)]
POINTS = (
    "arrives", "prepare appended", "prepare replicated", "first marker", "second marker",
    "third marker", "complete appended",
)  # fmt: skip


def second_producer(seed: int, protocol: int) -> None:
    """T3. Each thing that the first one does afterwards is refused, and none has an effect."""
    story = Scenario(seed, transactional=True)

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


def late_produce(seed: int, protocol: int, *, next_one: bool) -> None:
    """T5. A Produce is held back until its transaction is aborted, or the next has begun."""
    story = Scenario(seed, transactional=True, properties=STAY)
    told: list[ErrorCode | None] = []

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
        log = transaction_log(story)
        decided = log.log_end_offset
        assert same.end(txn, commit=False)
        # While it is being aborted, who is late is told to ask again.
        story.run_until(lambda: log.high_watermark > decided + 1, 5_000)
        if next_one:
            other = same.begin()
            assert same.write(other, (SOURCE, 0))
        story.network.links.mend(slow.client.name, leader.address)
        told.append(error_of(story, late))
        if next_one:
            assert same.end(other)

    story.run(tell)
    assert told[0] in FENCED


def coordinator_dies(seed: int, protocol: int, point: str, *, commit: bool = True) -> None:
    """T6. The coordinator of a transaction over three partitions and a group dies at a point of its
    end; its successor finishes it, in one way, within fifteen seconds. Raises Failure."""
    story = Scenario(seed, transactional=True, properties=STAY)

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


def _point(story: Scenario, point: str) -> Callable[[], bool]:
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


def leader_dies_before_its_marker(seed: int, protocol: int) -> None:
    """The leader of a partition dies once the decision is made; its successor gets the marker.
    Raises Failure."""
    story = Scenario(seed, transactional=True, properties=STAY)

    def tell() -> None:
        client = Transactor(story, "transfer-1", protocol=protocol)
        client.init()
        coordinator = story.transaction_coordinator()
        place = next(one for one in ALL_PLACES if story.leader(*one) is not coordinator)
        txn = client.begin()
        assert client.write(txn, place)
        log = transaction_log(story)
        before = log.log_end_offset
        ended = story.begin(client.manager.end(txn, True))
        story.run_until(lambda: log.log_end_offset > before, 5_000)
        leader = story.leader(*place)
        story.kill(leader)
        story.run_until(lambda: bool(ended), FINISHED_WITHIN_MS)
        story.new_leader(leader, *place)
        story.run_until(lambda: is_stable(story, place), FINISHED_WITHIN_MS)
        other = client.begin()
        assert client.write(other, place)
        assert client.end(other)
        story.start(leader)
        story.in_sync(*story.brokers)

    story.run(tell)


def group_moves_in_a_transaction(seed: int, protocol: int, *, commit: bool = True) -> None:
    """A group's coordinator dies between TxnOffsetCommit and EndTxn: the offset counts all the
    same, or never. Raises Failure."""
    story = Scenario(seed, transactional=True, properties=STAY)

    def tell() -> None:
        client = Transactor(story, "transfer-1", protocol=protocol, timeout_ms=30_000)
        client.init()
        first = client.begin()
        assert client.write(first, PLACES[0])
        assert client.move(first, 5) is ErrorCode.NONE
        assert client.end(first)
        txn = client.begin()
        assert client.write(txn, *PLACES)
        assert client.move(txn, 9) is ErrorCode.NONE
        old = story.coordinator()
        story.kill(old)
        story.new_leader(old, "__consumer_offsets", 0)
        assert client.end(txn, commit=commit)
        story.start(old)
        story.in_sync(*story.brokers)

    story.run(tell)
    assert story.last_reader is not None
    assert story.last_reader.offsets[(COPIERS, KEY)] == (9 if commit else 5)


def coordinator_dies_alone_with_its_decision(seed: int, protocol: int) -> None:
    """A decision that no other replica has dies with its coordinator: no partition may have been
    told of it, though one could be reached. Raises Failure."""
    story = Scenario(seed, transactional=True, properties=STAY)

    def tell() -> None:
        client = Transactor(story, "transfer-1", protocol=protocol, timeout_ms=3_000)
        client.init()
        coordinator = story.transaction_coordinator()
        near = next(one for one in ALL_PLACES if story.leader(*one) is not coordinator)
        reached = story.leader(*near)
        far = next(one for one in ALL_PLACES if story.leader(*one) is not reached)
        txn = client.begin()
        assert client.write(txn, near, far)
        for other in story.brokers:
            if other is not coordinator:
                story.network.links.cut(other.address, coordinator.address)
                if other is not reached:
                    story.network.links.cut(coordinator.address, other.address)
        client.ending(txn)
        story.run_for(500)
        story.kill(coordinator)
        story.network.links.heal()
        story.new_leader(coordinator, TRANSACTIONS_TOPIC, 0)
        story.start(coordinator)
        story.in_sync(*story.brokers)

    story.run(tell)
