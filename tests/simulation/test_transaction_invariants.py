"""The invariants of transactions on histories that are made up: each anomaly is told, no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ground.sim_scheduler import SimScheduler
from protocol.errors import ErrorCode
from protocol.messages.end_txn import EndTxnResponse
from protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from protocol.records import Record
from simulation.invariants.invariant import Promises, Violation
from simulation.network.sim_network import Exchange
from tests.batches import build_batch
from tests.simulation.consumers import FetchedPartition, Fetching
from tests.simulation.data_invariants import ReadPartition
from tests.simulation.fetched_batches import bounds_of, committed_of, records_of
from tests.simulation.producers import Batch, Sending
from tests.simulation.transaction_invariants import AllOrNothing, FencedHasNoEffect, NothingHangs
from tests.simulation.transaction_manager import end_request, produce_request
from tests.simulation.transactions import Ending, Fencing, Moving, Txn

TOPIC = b"t" * 16
SOURCE = b"s" * 16
GROUP_KEY = ("copiers", ("orders", 0))


class History:
    """Tells invariants what clients and brokers said, at moments of its own."""

    def __init__(self) -> None:
        self.world = SimScheduler(0)
        self.whole = AllOrNothing(self.world, Promises())
        self.fence = FencedHasNoEffect(self.world, Promises())
        self.invariants = [self.whole, self.fence, NothingHangs(self.world, Promises())]
        self._exchanges = 0

    def exchange(self, request: Any, version: int, about: Any) -> Exchange:
        self._exchanges += 1
        exchange = Exchange(self._exchanges, "client", request, version, self.world.now_ms, about)
        exchange.node = "broker-1"
        for invariant in self.invariants:
            invariant.sent(exchange)
        return exchange

    def handle(self, exchange: Exchange) -> Exchange:
        for invariant in self.invariants:
            invariant.handled(exchange)
        return exchange

    def receive(self, exchange: Exchange, response: Any) -> None:
        exchange.response = response
        for invariant in self.invariants:
            invariant.received(exchange)

    # --- what clients do ------------------------------------------------------------------------

    def write(self, txn: Txn, *values: bytes, partition: int = 0) -> Exchange:
        """A Produce on its way."""
        batch = Batch("accounts", TOPIC, partition, list(values), txn.producer_id, 0, 0, txn=txn)
        txn.values |= dict.fromkeys(values, (TOPIC, partition))
        return self.exchange(produce_request(batch, 0), 9, Sending(batch, -1, idempotent=True))

    def written(self, exchange: Exchange) -> None:
        told = PartitionProduceResponse(0, 0, 0)
        self.receive(exchange, ProduceResponse([TopicProduceResponse("accounts", TOPIC, [told])]))

    def write_all(self, txn: Txn, *values: bytes, partition: int = 0) -> None:
        self.written(self.handle(self.write(txn, *values, partition=partition)))

    def ending(self, txn: Txn, commit: bool = True) -> Exchange:
        return self.exchange(end_request(txn, commit), 3, Ending(txn, commit))

    def end(
        self, txn: Txn, *, commit: bool = True, error: ErrorCode | None = ErrorCode.NONE
    ) -> None:
        """An EndTxn and its answer; None: no answer."""
        exchange = self.handle(self.ending(txn, commit))
        if error is not None:
            self.receive(exchange, EndTxnResponse(error_code=error))

    def init(self, transactional_id: str, producer_id: int, epoch: int) -> None:
        request = InitProducerIdRequest(transactional_id, 1_000)
        exchange = self.handle(self.exchange(request, 3, Fencing(transactional_id)))
        self.receive(exchange, InitProducerIdResponse(0, 0, producer_id, epoch))

    def move(self, txn: Txn, offset: int) -> None:
        txn.offsets[GROUP_KEY] = offset
        self.handle(self.exchange(TxnOffsetCommitRequest(), 3, Moving(txn, "copiers", 1)))

    def fetch(self, data: bytes, aborted: list[AbortedTransaction]) -> None:
        asked = FetchedPartition("accounts", TOPIC, 0, 0, -1)
        about = Fetching({("accounts", 0): asked}, 1, 1, 100, in_session=False, from_leader=True)
        told = PartitionData(0, 0, 9, 9, 0, aborted_transactions=aborted, records=data)
        exchange = self.handle(self.exchange(FetchRequest(isolation_level=1), 11, about))
        self.receive(exchange, FetchResponse(responses=[FetchableTopicResponse(
            "accounts", partitions=[told])]))  # fmt: skip

    def ends_with(
        self, *values: bytes, position: int | None = None, stable: int = 99, source: int = 0
    ) -> None:
        """A last reader finds these values, and `source` records to copy."""
        read = ReadPartition("accounts", 0, 99, stable_end=stable)
        read.committed = list(enumerate(values))
        orders = ReadPartition("orders", 0, 99, stable_end=99)
        orders.committed = [(offset, b"plain/%d" % offset) for offset in range(source)]
        final = SimpleNamespace(
            partitions={(TOPIC, 0): read, (SOURCE, 0): orders},
            offsets={} if position is None else {GROUP_KEY: position},
        )
        for invariant in self.invariants:
            invariant.at_end(final)


@pytest.fixture
def history() -> History:
    return History()


def txn(epoch: int = 0, name: str = "transfer-1#1") -> Txn:
    return Txn(name, "bank", 7, epoch)


def transactional(*values: bytes, offset: int = 0, producer_id: int = 7) -> bytes:
    records = [Record(-1, 0, b"k", value) for value in values]
    return bytes(
        build_batch(
            records, base_offset=offset, producer_id=producer_id, producer_epoch=0,
            base_sequence=0, is_transactional=True,
        )
    )  # fmt: skip


def marker(offset: int, kind: int, producer_id: int = 7) -> bytes:
    record = Record(-1, 0, bytes([0, 0, 0, kind]), b"\0\0\0\0\0\0")
    return bytes(
        build_batch(
            [record], base_offset=offset, producer_id=producer_id, producer_epoch=0,
            is_transactional=True, is_control=True,
        )
    )  # fmt: skip


ABORT, COMMIT = 0, 1


def test_a_committed_transaction_may_be_read(history: History) -> None:
    one = txn()
    history.write_all(one, b"transfer-1/1", b"transfer-1/2")
    history.end(one)
    history.fetch(transactional(b"transfer-1/1", b"transfer-1/2") + marker(2, COMMIT), [])
    history.ends_with(b"transfer-1/1", b"transfer-1/2")


def test_an_aborted_one_may_stay_away(history: History) -> None:
    one = txn()
    history.write_all(one, b"transfer-1/1")
    history.end(one, commit=False)
    data = transactional(b"transfer-1/1") + marker(1, ABORT)
    history.fetch(data, [AbortedTransaction(7, 0)])
    history.ends_with()


def test_i9_an_aborted_value_that_is_not_listed(history: History) -> None:
    one = txn()
    history.write_all(one, b"transfer-1/1")
    history.end(one, commit=False)
    with pytest.raises(Violation, match="I9.*was aborted"):
        history.fetch(transactional(b"transfer-1/1") + marker(1, ABORT), [])


def test_i9_a_value_of_an_open_transaction(history: History) -> None:
    history.write_all(txn(), b"transfer-1/1")
    with pytest.raises(Violation, match="I9.*is open"):
        history.fetch(transactional(b"transfer-1/1"), [])


def test_i9_a_value_after_each_commit_was_refused(history: History) -> None:
    one = txn()
    history.write_all(one, b"transfer-1/1")
    history.end(one, error=ErrorCode.PRODUCER_FENCED)
    with pytest.raises(Violation, match="I9"):
        history.ends_with(b"transfer-1/1")


def test_i8_a_refusal_after_it_was_read(history: History) -> None:
    one = txn()
    history.write_all(one, b"transfer-1/1")
    exchange = history.handle(history.ending(one))
    history.fetch(transactional(b"transfer-1/1"), [])
    with pytest.raises(Violation, match="I8.*not committed"):
        history.receive(exchange, EndTxnResponse(error_code=ErrorCode.PRODUCER_FENCED))


@pytest.mark.parametrize("error", [ErrorCode.NONE, None, ErrorCode.NOT_COORDINATOR])
def test_i8_half_a_transaction(history: History, error: ErrorCode | None) -> None:
    """Whatever its client knows: one value that is there tells that it was committed."""
    one = txn()
    history.write_all(one, b"transfer-1/1")
    history.write_all(one, b"transfer-1/2", partition=1)
    history.end(one, error=error)
    with pytest.raises(Violation, match=r"I8.*lacks \[b'transfer-1/2'\]"):
        history.ends_with(b"transfer-1/1")


def test_i8_a_commit_that_was_lost(history: History) -> None:
    one = txn()
    history.write_all(one, b"transfer-1/1")
    history.end(one)
    with pytest.raises(Violation, match="I8.*lacks.*was acknowledged"):
        history.ends_with()


def test_nobody_knows_without_an_answer(history: History) -> None:
    one = txn()
    history.write_all(one, b"transfer-1/1")
    history.end(one, error=None)
    history.end(one, error=ErrorCode.PRODUCER_FENCED)
    history.ends_with()
    history.ends_with(b"transfer-1/1")


def test_i8_two_outcomes(history: History) -> None:
    one = txn()
    history.write_all(one, b"transfer-1/1")
    history.end(one)
    with pytest.raises(Violation, match=r"I8.*EndTxn\(abort\) succeeded"):
        history.end(one, commit=False)


def test_i8_an_offset_that_did_not_move(history: History) -> None:
    one = txn()
    history.write_all(one, b"copier-1/1")
    history.move(one, 5)
    history.end(one)
    with pytest.raises(Violation, match="I8.*is at -1.*committed were"):
        history.ends_with(b"copier-1/1", position=-1)


def test_i8_an_offset_of_an_aborted_transaction(history: History) -> None:
    one = txn()
    history.write_all(one, b"copier-1/1")
    history.move(one, 5)
    history.end(one, commit=False)
    history.ends_with(position=-1)
    with pytest.raises(Violation, match="I8.*is at 5"):
        history.ends_with(position=5)


def test_i8_a_position_before_the_one_that_was_committed(history: History) -> None:
    one, two = txn(), txn(name="copier-1#2")
    for number, each in enumerate((one, two), start=1):
        history.move(each, 10 * number)
        history.end(each)
    history.whole.position(GROUP_KEY, 20, 0.0)
    history.whole.position(GROUP_KEY, 10, -1.0)  # asked before it was known
    with pytest.raises(Violation, match="I8.*is told offset 10"):
        history.whole.position(GROUP_KEY, 10, 0.0)
    with pytest.raises(Violation, match="I8.*is told offset 30"):
        history.whole.position(GROUP_KEY, 30, 0.0)


@pytest.mark.parametrize("copied", [[0], [0, 1, 1], [1, 0], [0, 1, 2]])
def test_i8_copies_that_are_not_exactly_once(history: History, copied: list[int]) -> None:
    one = txn()
    values = [b"copier-1/%d" % number for number in range(len(copied))]
    for value, offset in zip(values, copied, strict=True):
        one.copied[value] = ((SOURCE, 0), offset)
    history.write_all(one, *values)
    history.move(one, 2)
    history.end(one)
    with pytest.raises(Violation, match="I8.*was copied up to 2"):
        history.ends_with(*values, position=2, source=3)


def test_copies_that_are(history: History) -> None:
    one = txn()
    one.copied = {b"copier-1/1": ((SOURCE, 0), 0), b"copier-1/2": ((SOURCE, 0), 1)}
    history.write_all(one, b"copier-1/1", b"copier-1/2")
    history.move(one, 2)
    history.end(one)
    history.ends_with(b"copier-1/1", b"copier-1/2", position=2, source=3)


def test_i10_a_log_that_is_not_stable_to_its_end(history: History) -> None:
    with pytest.raises(Violation, match="I10"):
        history.ends_with(stable=98)


def test_i11_an_end_after_the_fence(history: History) -> None:
    one = txn(epoch=4)
    history.write_all(one, b"transfer-1/1")
    late = history.ending(one)
    history.init("bank", 7, 5)
    history.handle(late)
    with pytest.raises(Violation, match="I11.*EndTxn"):
        history.receive(late, EndTxnResponse())


def test_an_end_that_began_before_the_fence(history: History) -> None:
    one = txn(epoch=4)
    history.write_all(one, b"transfer-1/1")
    exchange = history.handle(history.ending(one))
    history.init("bank", 7, 5)
    history.receive(exchange, EndTxnResponse())


def test_i11_a_value_that_arrived_after_the_fence(history: History) -> None:
    one = txn(epoch=4)
    late = history.write(one, b"transfer-1/1")
    history.init("bank", 7, 5)
    history.handle(late)
    with pytest.raises(Violation, match="I11.*was taken"):
        history.written(late)
    with pytest.raises(Violation, match="I11.*was read"):
        history.fetch(transactional(b"transfer-1/1"), [AbortedTransaction(7, 0)])


def test_a_second_copy_that_arrives_after_the_fence(history: History) -> None:
    """The first was in time: the value may well be there."""
    one = txn(epoch=4)
    sent = history.handle(history.write(one, b"transfer-1/1"))
    history.init("bank", 7, 5)
    history.handle(sent)
    history.written(sent)


def test_what_a_read_committed_consumer_leaves_out() -> None:
    data = (
        transactional(b"a", offset=0)
        + transactional(b"b", offset=1, producer_id=8)
        + marker(2, ABORT)
        + transactional(b"c", offset=3)
        + marker(4, COMMIT)
        + marker(5, COMMIT, producer_id=8)
    )
    assert bounds_of(data) == (0, 6)
    assert [value for _, value in records_of(data)] == [b"a", b"b", b"c"]
    assert committed_of(data, [AbortedTransaction(7, 0)]) == [(1, b"b"), (3, b"c")]
    assert committed_of(data[:-5], None) == [(0, b"a"), (1, b"b"), (3, b"c")]


def test_a_gap_between_batches_is_told() -> None:
    with pytest.raises(ValueError, match="after offset 0 comes 2"):
        bounds_of(transactional(b"a") + transactional(b"b", offset=2))
