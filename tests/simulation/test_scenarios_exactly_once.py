"""T9, T10 and T12 of the reliability scenarios as told stories: wraps, readers' bounds, money."""

from __future__ import annotations

import pytest

from broker.transactions import producer_identity, transaction_metadata
from tests.simulation.cast import ACCOUNTS, COPIERS, COPIES, SOURCE
from tests.simulation.consumers import SimConsumer
from tests.simulation.copiers import Copier
from tests.simulation.data_invariants import payload
from tests.simulation.scenario import Scenario
from tests.simulation.scripted_transactions import PLACES, Transactor
from tests.simulation.transaction_invariants import AllOrNothing
from tests.simulation.transactions import Txn
from tests.simulation.transfers import Transferrer

pytestmark = pytest.mark.slow

PROTOCOLS = (1, 2)
LAST_SEQUENCE = 2**31 - 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t9_when_epochs_are_used_up_another_producer_id_goes_on(
    protocol: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ends (v2), or lives (v1), to come: epochs end at 6 here, at 32,767 elsewhere."""
    for module in (transaction_metadata, producer_identity):
        monkeypatch.setattr(module, "EPOCH_MAX", 6)
    story = Scenario(transactional=True)

    def tell() -> None:
        client = Transactor(story, "transfer-1", protocol=protocol)
        identities: dict[tuple[int, int], None] = {}
        client.init()
        for _ in range(9):
            txn = client.begin()
            identities[(txn.producer_id, txn.producer_epoch)] = None
            assert client.write(txn, *PLACES[:2])
            assert client.end(txn)
            if protocol == 1:
                client.init()
        assert len(identities) == 9
        assert len({producer_id for producer_id, _ in identities}) == 2
        assert max(epoch for _, epoch in identities) < 6

    story.run(tell)


def test_t9_sequences_begin_anew_after_the_last_one() -> None:
    story = Scenario(transactional=True)

    def tell() -> None:
        client = Transactor(story, "transfer-1", protocol=1)
        client.init()
        for topic, partition in PLACES:
            (known,) = client.story.do(client.client.know(topic))
            client.manager.sequences[(known.topic_id, partition)] = LAST_SEQUENCE - 1
        for _ in range(3):
            txn = client.begin()
            assert client.write(txn, *PLACES)
            assert client.write(txn, *PLACES)
            assert client.end(txn)
        assert set(client.manager.sequences.values()) == {4}

    story.run(tell)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t9_an_idle_producer_that_was_forgotten_goes_on(protocol: int) -> None:
    """Leaders forget it after a while (`producer.id.expiration.ms`); its next sequences are taken
    all the same, and an open transaction keeps it known."""
    story = Scenario(
        transactional=True,
        properties={
            "producer.id.expiration.ms": "1500",
            "producer.id.expiration.check.interval.ms": "500",
        },
    )

    def tell() -> None:
        client = Transactor(story, "transfer-1", protocol=protocol, timeout_ms=20_000)
        client.init()
        for _ in range(2):
            txn = client.begin()
            assert client.write(txn, *PLACES)
            story.run_for(4_000)
            assert client.write(txn, *PLACES)
            assert client.end(txn)
            story.run_for(4_000)

    story.run(tell)


@pytest.mark.long(sample=1)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_t10_readers_while_bounds_move_and_leaders_change(seed: int) -> None:
    """Nothing is read above the last stable offset, and it does not go back (I5, I6, I9)."""
    story = Scenario(seed, transactional=True)

    def tell() -> None:
        for number, protocol in enumerate(PROTOCOLS, start=1):
            story.add(Transferrer, f"transfer-{number}", topics=[ACCOUNTS, SOURCE], think_ms=10.0,
                      transactional_id=f"bank-{number}", protocol=protocol)  # fmt: skip
        for number in range(3):
            reader = story.add(SimConsumer, f"consumer-{number}", topics=[ACCOUNTS, SOURCE])
            reader.isolation = int(number > 0)
        for number in range(5):
            story.run_for(1_200)
            leader = story.leader(*PLACES[number % len(PLACES)])
            if number % 2:
                story.kill(leader)
                story.run_for(800)
                story.start(leader)
            else:
                leader.stop(lambda: None)
                story.run_until(lambda leader=leader: not leader.alive, 20_000)
                story.start(leader)

    story.run(tell)


@pytest.mark.parametrize("seed", [2, 5])
def test_t12_money(seed: int) -> None:
    """Each transfer takes from one account what it gives to others; every broker is bounced, and
    the accounts are copied. The total is what it was, and the copiers' offsets moved with it."""
    story = Scenario(seed, transactional=True)

    def tell() -> None:
        for number in (1, 2, 3):
            story.add(Transferrer, f"transfer-{number}", topics=[ACCOUNTS, SOURCE], think_ms=150.0,
                      transactional_id=f"bank-{min(number, 2)}",
                      protocol=1 + number % 2)  # fmt: skip
        for number in (1, 2):
            story.add(Copier, f"copier-{number}", group=COPIERS, topics=[SOURCE], target=COPIES,
                      protocol=number)  # fmt: skip
        for broker in story.brokers:
            story.run_for(2_500)
            story.kill(broker)
            story.run_for(1_000)
            story.start(broker)
            story.in_sync(broker)

    story.run(tell)
    ledger = next(one for one in story.invariants if isinstance(one, AllOrNothing))
    assert story.last_reader is not None
    amounts = _amounts(list(dict.fromkeys(ledger.by_value.values())))
    there = [
        payload(value)
        for read in story.last_reader.partitions.values()
        for _, value in read.committed
    ]
    assert sum(amounts[value] for value in there if value in amounts) == 0
    assert len([value for value in there if value in amounts]) > 20
    assert max(story.last_reader.offsets.values()) > 5


def _amounts(transfers: list[Txn]) -> dict[bytes, int]:
    """What each value gives to its account, so that each transfer comes to nothing."""
    amounts: dict[bytes, int] = {}
    for txn in transfers:
        if not txn.copied:
            first, *others = txn.values
            amounts |= dict.fromkeys(others, 7) | {first: -7 * len(others)}
    return amounts
