"""A client's side of its transactions, as exact as can be: no retry that nobody asked for.

`TransactionManager` speaks for one transactional id: InitProducerId, then for each transaction
AddPartitionsToTxn (protocol v1) or none (v2: Produce adds its partition, KIP-890), Produce,
TxnOffsetCommit, EndTxn. It keeps to what makes an outcome certain: under v1 an epoch in which a
request was not answered is not used for another transaction, since that request may still arrive
(v2 has an epoch for each transaction). What it is refused for good sends it back to InitProducerId.
"""

from __future__ import annotations

from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.batches import build_batch
from tests.simulation.producers import RETRIED, SETTLED, Batch, Sending
from tests.simulation.sim_actor import REFUSALS, SimActor, Topic
from tests.simulation.transactions import Ending, Fencing, Txn

TRANSACTION = 1
"""The key type of FindCoordinator."""
TIMEOUT_MS = 4_000.0
TRIES_MAX = 12
SEQUENCE_MASK = 0x7FFFFFFF

ELSEWHERE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)
FENCED = (
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)
ABORTABLE = (
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
)
AGAIN = (*RETRIED, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.OPERATION_NOT_ATTEMPTED)


class TransactionManager:
    """See the module. Its methods are parts of the client's life."""

    def __init__(
        self, client: SimActor, transactional_id: str, protocol: int, timeout_ms: int
    ) -> None:
        self.client = client
        self.transactional_id = transactional_id
        self.protocol = protocol
        """1 or 2."""
        self.timeout_ms = timeout_ms
        self.producer_id = self.producer_epoch = -1
        self.sequences: dict[tuple[bytes, int], int] = {}
        self.coordinator: str | None = None
        self.fenced = False
        """Whether the last id was lost to another."""
        self.produce_version = client.chance.choice([3, 5, 8, 9, 11] if protocol == 1 else [12, 13])
        self._tainted = False
        self._begun = 0
        self._refusals = REFUSALS if client.may_be_refused else ()
        """After which the transaction is given up, and there may be another one."""

    @property
    def ready(self) -> bool:
        """Whether a transaction can begin."""
        return self.producer_id >= 0

    def forget(self) -> None:
        """The next transaction needs another InitProducerId."""
        self.producer_id = self.producer_epoch = -1
        self.sequences.clear()
        self._tainted = False

    def taint(self) -> None:
        """A request of this epoch was not answered, and may arrive yet."""
        if self.protocol == 1:
            self._tainted = True

    # --- the coordinator ------------------------------------------------------------------------

    def find(self) -> Waits:
        client = self.client
        version = client.chance.randint(1, 6)
        request = FindCoordinatorRequest(
            self.transactional_id, TRANSACTION, [self.transactional_id]
        )
        response = yield from client.call(request, version)
        if response is None:
            return
        told = response.coordinators[0] if version >= 4 else response
        if told.error_code:
            self._expect(told.error_code, *ELSEWHERE, *self._refusals)
            yield client.pause_ms()
        else:
            self.coordinator = told.host

    def _ask(self, request: Any, version: int, about: Any = None) -> Waits:
        """Its response; None where there is none, or nobody to ask."""
        if self.coordinator is None:
            yield from self.find()
            if self.coordinator is None:
                return None
        response = yield from self.client.call(
            request, version, self.coordinator, timeout_ms=TIMEOUT_MS, about=about
        )
        if response is None:
            self.coordinator = None
            self.taint()
        return response

    def init(self) -> Waits:
        """InitProducerId until it is answered, or the client stops."""
        client = self.client
        while not client.stopping:
            # KIP-360: whoever had an epoch may ask for the next one.
            known = self.ready and client.chance.random() < 0.5
            request = InitProducerIdRequest(self.transactional_id, self.timeout_ms)
            if known:
                request.producer_id, request.producer_epoch = self.producer_id, self.producer_epoch
            version = client.chance.randint(3, 5) if known else client.chance.randint(0, 5)
            about = Fencing(self.transactional_id)
            response = yield from self._ask(request, version, about)
            if response is None:
                continue
            error = ErrorCode(response.error_code)
            if error is ErrorCode.NONE:
                self.forget()
                self.producer_id, self.producer_epoch = (
                    response.producer_id,
                    response.producer_epoch,
                )
                self.fenced = False
                return
            if error in FENCED and known:
                self.forget()
            else:
                allowed = (ErrorCode.CONCURRENT_TRANSACTIONS, *ELSEWHERE, *self._refusals)
                self._expect(error, *allowed)
            self._look_elsewhere(error)
            yield client.pause_ms()

    def _look_elsewhere(self, error: ErrorCode) -> None:
        if error in ELSEWHERE:
            self.coordinator = None

    # --- a transaction --------------------------------------------------------------------------

    def begin(self) -> Txn:
        """Nothing is sent for it yet."""
        self._begun += 1
        name = f"{self.client.name}#{self._begun}"
        return Txn(name, self.transactional_id, self.producer_id, self.producer_epoch)

    def add(self, txn: Txn, places: list[tuple[str, int]]) -> Waits:
        """AddPartitionsToTxn, which v2 does not need; whether all are in the transaction."""
        if self.protocol == 2:
            return True
        topics: dict[str, list[int]] = {}
        for name, partition in places:
            topics.setdefault(name, []).append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=txn.transactional_id,
            v3_and_below_producer_id=txn.producer_id,
            v3_and_below_producer_epoch=txn.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(*one) for one in topics.items()],
        )

        def errors(response: Any) -> list[int]:
            return [
                one.partition_error_code
                for topic in response.results_by_topic_v3_and_below
                for one in topic.results_by_partition
            ]

        return (yield from self._until_done(request, self.client.chance.randint(0, 3), errors))

    def add_offsets(self, txn: Txn, group: str) -> Waits:
        """AddOffsetsToTxn, which v2 does not need; whether the group is in the transaction."""
        if self.protocol == 2:
            return True
        request = AddOffsetsToTxnRequest(
            txn.transactional_id, txn.producer_id, txn.producer_epoch, group
        )
        version = self.client.chance.randint(0, 3)
        return (yield from self._until_done(request, version, lambda it: [it.error_code]))

    def _until_done(self, request: Any, version: int, errors_of: Any) -> Waits:
        """Ask until it is done; False once it is refused, or has been tried too often."""
        for _ in range(TRIES_MAX):
            response = yield from self._ask(request, version)
            if response is None:
                continue
            error = next((ErrorCode(one) for one in errors_of(response) if one), ErrorCode.NONE)
            if error is ErrorCode.NONE:
                return True
            if not self.goes_on_after(error):
                return False
            self._look_elsewhere(error)
            yield self.client.pause_ms()
        return False

    def goes_on_after(self, error: ErrorCode) -> bool:
        """Whether what was refused may be tried again; else the transaction has failed."""
        if error in FENCED:
            self.fenced = True
            self.forget()
            return False
        if error in (*ABORTABLE, *self._refusals):
            self._tainted = True
            return False
        self._expect(error, *ELSEWHERE, *AGAIN)
        return True

    def batch(self, txn: Txn, topic: Topic, partition: int, values: list[bytes]) -> Batch:
        """Values for a partition, with the next sequences."""
        key = (topic.topic_id, partition)
        sequence = self.sequences.get(key, 0)
        self.sequences[key] = (sequence + len(values)) & SEQUENCE_MASK
        for value in values:
            txn.values[value.rstrip(b".")] = key
        return Batch(
            topic.name, topic.topic_id, partition, values,
            txn.producer_id, txn.producer_epoch, sequence, txn=txn,
        )  # fmt: skip

    def produce(self, batches: list[Batch], names: list[str]) -> Waits:
        """Send until each is acknowledged; False once one is refused, or has been tried too
        often: then the transaction must not be committed."""
        client = self.client
        for _ in range(TRIES_MAX):
            exchanges = [self._send(one) for one in batches]
            yield [one for one in exchanges if one is not None]
            left = []
            for batch, exchange in zip(batches, exchanges, strict=True):
                if exchange is None or not exchange.ok:
                    self.taint()
                    left.append(batch)
                    continue
                told = exchange.response.responses[0].partition_responses[0]
                error = ErrorCode(told.error_code)
                if error in SETTLED:
                    continue
                if not self.goes_on_after(error):
                    return False
                left.append(batch)
            batches = left
            if not batches:
                return True
            yield client.pause_ms()
            yield from client.learn(names)
            if client.chance.random() < 0.05:
                break  # it gives up, and what it sent may still arrive
        self._tainted = True
        return False

    def _send(self, batch: Batch) -> Any:
        leader = self.client.topics.leader(batch.topic, batch.partition)
        connection = self.client.connection(leader) if leader else None
        if connection is None:
            return None
        batch.sends += 1
        return connection.send(
            produce_request(batch, self.client.world.wall_ms()),
            self.produce_version,
            TIMEOUT_MS,
            about=Sending(batch, -1, idempotent=True),
        )

    def end(self, txn: Txn, commit: bool) -> Waits:
        """EndTxn until its outcome is known; whether it is what was asked for.

        Now and then it gives up, and nobody knows.
        """
        client = self.client
        for _ in range(TRIES_MAX):
            request = end_request(txn, commit)
            version = 5 if self.protocol == 2 else client.chance.randint(0, 4)
            response = yield from self._ask(request, version, Ending(txn, commit))
            if response is None:
                if client.chance.random() < 0.2:
                    break
                continue
            error = ErrorCode(response.error_code)
            if error is ErrorCode.NONE:
                if self.protocol == 2:
                    self._next_epoch(response)
                if self._tainted:
                    self.forget()
                return True
            if error in (*FENCED, *ABORTABLE, *self._refusals):
                self.fenced = error in FENCED
                break
            self._expect(error, ErrorCode.CONCURRENT_TRANSACTIONS, *ELSEWHERE)
            self._look_elsewhere(error)
            yield client.pause_ms()
        self.forget()
        return False

    def _next_epoch(self, response: Any) -> None:
        before = self.producer_id, self.producer_epoch
        now = response.producer_id, response.producer_epoch
        if now[0] == before[0] and now[1] <= before[1]:
            raise Violation("I11", f"after {before} the next transaction is given {now}")
        tainted = self._tainted
        self.forget()
        self.producer_id, self.producer_epoch = now
        self._tainted = tainted

    def _expect(self, error: int, *allowed: ErrorCode) -> None:
        if error not in allowed:
            raise Violation("I20", f"{self.client.name} is told {ErrorCode(error)!r}")


def produce_request(batch: Batch, now_ms: int) -> ProduceRequest:
    """A Produce with one batch of a transaction."""
    assert batch.txn is not None
    built = build_batch(
        [Record(-1, now_ms, b"k", value) for value in batch.values],
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.sequence,
        is_transactional=True,
    )
    data = [PartitionProduceData(batch.partition, bytes(built))]
    topic = TopicProduceData(batch.topic, batch.topic_id, data)
    return ProduceRequest(batch.txn.transactional_id, -1, 3_000, [topic])


def end_request(txn: Txn, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(txn.transactional_id, txn.producer_id, txn.producer_epoch, commit)
