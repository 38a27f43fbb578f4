"""Transactions in the load of a chaos run: raw producers of both protocols, readers of what is
committed.

A producer makes one transaction after another: one to four sends to one to three keys, a tenth of
them aborted, some left open by a client that dies and comes back with the same transactional id.
Its former life goes on now and then, as a zombie, and must have no effect (I11). `version_2` adds
partitions by Produce and takes the next epoch from EndTxn (KIP-890); version 1 asks for both.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any, NamedTuple

from protocol.errors import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.chaos.history import FAIL, INFO, OK, Send, Surprise, Transaction
from tests.chaos.raw_client import COMMITTED, Hung, NotSent, Silent, batch_of, topic_of
from tests.chaos.workload import PATIENCE_S, RETRY_S, Reader, Shared, Worker

TIMEOUT_MS = 10_000
KEYS_MAX, SENDS_MAX = 3, 4
ABORTED = 0.1
LEFT = 0.02
ZOMBIE = 0.3
"""Of the lives that follow another one, so many see the other one send once more."""

_AGAIN = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
}
_OVER = {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}
"""It timed out, or somebody else has its id."""


class _Life(NamedTuple):
    producer: int
    epoch: int


class _Over(Exception):
    """The transaction cannot go on; its producer needs a new epoch."""


class TransactionalProducer(Worker):
    """One transactional id and its lives."""

    timeout_ms = TIMEOUT_MS

    def __init__(self, name: str, shared: Shared, version_2: bool) -> None:
        super().__init__(name, shared)
        self._id = f"transactional-{name}"
        self._versions = (12, 5) if version_2 else (9, 3)  # Produce, EndTxn
        self._version_2 = version_2
        self._coordinator: int | None = None
        self._life: _Life | None = None
        self._former: _Life | None = None
        self._sequences: dict[str, int] = {}
        self._counted = itertools.count()

    async def work(self) -> None:
        if self._life is None:
            if not await self._begin_life():
                await asyncio.sleep(RETRY_S)
                return
            if self._former is not None and self.rng.random() < ZOMBIE:
                await self._send_as_zombie(self._former)
        await self._transact(self.rng.random() < ABORTED, self.rng.random() < LEFT)

    async def _begin_life(self) -> bool:
        answer = await self._ask(InitProducerIdRequest(self._id, self.timeout_ms), 4)
        if answer is None:
            return False
        code = ErrorCode(answer.error_code)
        if code is not ErrorCode.NONE:
            if code not in _AGAIN:
                self._surprise("", f"INIT_PRODUCER_ID: {code.name}")
            return False
        self._life, self._sequences = _Life(answer.producer_id, answer.producer_epoch), {}
        return True

    async def _ask(self, request: Any, version: int) -> Any:
        """The coordinator's answer, None without one; who it is is asked anew after that."""
        if self._coordinator is None:
            self._coordinator = await self.client.coordinator(self._id, 1)
        if self._coordinator is None:
            return None
        node, begun = self._coordinator, self.shared.now()
        try:
            answer = await self.client.call(node, request, version)
        except Silent:
            self.silent(node, type(request).__name__, begun)
            answer = None
        except (NotSent, Hung):
            answer = None
        if answer is None or getattr(answer, "error_code", 0) in _AGAIN:
            self._coordinator = None
        return answer

    def _surprise(self, key: str, what: str) -> None:
        self.history.add(Surprise(self.name, key, what, self.shared.now()))

    # --- one transaction -------------------------------------------------------------------------

    async def _transact(self, aborted: bool, left: bool) -> None:
        assert self._life is not None
        life, number = self._life, self.shared.next_transaction()
        begun = self.shared.now()
        ending, outcome, error = -1.0, FAIL, "aborted"
        chosen = self.rng.sample(self.shared.keys, min(KEYS_MAX, len(self.shared.keys)))
        keys = [self.rng.choice(chosen) for _ in range(self.rng.randrange(1, SENDS_MAX + 1))]
        sends: list[Send] = []
        try:
            if not self._version_2:
                await self._add_partitions(life, sorted(set(keys)))
            for key in keys:
                await self._send(life, number, key, sends)
            if left:
                self._lose_life("left open")
            else:
                ending = -1.0 if aborted else self.shared.now()
                outcome, error = await self._end(life, not aborted)
        except _Over as reason:
            error = str(reason)
            self._lose_life(error)
        now = self.shared.now()
        for send in sends:
            self.history.add(send._replace(outcome=outcome, t1=now, error=error))
        self.history.add(Transaction(self.name, number, *life, outcome, begun, ending, now, error))

    def _lose_life(self, why: str) -> None:
        self._former, self._life = self._life, None

    async def _add_partitions(self, life: _Life, keys: list[str]) -> None:
        topics: dict[str, list[int]] = {}
        for topic, partition in map(topic_of, keys):
            topics.setdefault(topic, []).append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=life.producer,
            v3_and_below_producer_epoch=life.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(*item) for item in topics.items()],
        )
        deadline = self.shared.now() + PATIENCE_S
        while self.shared.now() < deadline:
            answer = await self._ask(request, 3)
            if answer is not None:
                codes = {
                    ErrorCode(part.partition_error_code)
                    for topic in answer.results_by_topic_v3_and_below
                    for part in topic.results_by_partition
                }
                if codes == {ErrorCode.NONE}:
                    return
                self._check(codes - {ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED}, "ADD")
                self._coordinator = None
            await asyncio.sleep(RETRY_S)
        raise _Over("no partition was added in time")

    def _check(self, codes: set[ErrorCode], what: str, key: str = "") -> None:
        """Raise _Over where it cannot go on; note what must not be."""
        for code in sorted(codes - _AGAIN):
            if code not in _OVER:
                self._surprise(key, f"{what}: {code.name}")
            raise _Over(code.name)

    async def _send(self, life: _Life, number: int, key: str, sends: list[Send]) -> None:
        value, sequence = next(self.shared.values), self._sequences.get(key, 0)
        now = self.shared.now()
        order = next(self._counted)
        sends.append(
            Send(
                *(self.name, life.producer, key, order, value, INFO, None, -1, now, now),
                transaction=number,
            )
        )
        batch = self._batch(life, value, sequence)
        while self.shared.now() - now < PATIENCE_S:
            node = self.client.leader(key)
            if node is not None:
                answer = await self._produce(node, key, batch)
                code = ErrorCode(answer.error_code) if answer is not None else None
                if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                    offset = answer.base_offset if answer.base_offset >= 0 else None
                    sends[-1] = sends[-1]._replace(offset=offset, node=node)
                    self._sequences[key] = sequence + 1
                    return
                if code is not None:
                    self._check({code}, "PRODUCE", key)
            await asyncio.sleep(RETRY_S)
            await self.client.metadata()
        raise _Over("nothing was produced in time")

    def _batch(self, life: _Life, value: int, sequence: int) -> bytes:
        now_ms = int(time.time() * 1000)
        return batch_of([value], life.producer, sequence, now_ms, life.epoch, True)

    async def _produce(self, node: int, key: str, batch: bytes) -> Any:
        """None without an answer."""
        begun = self.shared.now()
        try:
            return await self.client.produce(node, key, batch, self._id, self._versions[0])
        except Silent:
            self.silent(node, "PRODUCE", begun)
        except (NotSent, Hung):
            pass
        return None

    async def _end(self, life: _Life, committed: bool) -> tuple[str, str]:
        """Outcome and error; a transaction that was never asked to commit has failed anyway."""
        request = EndTxnRequest(self._id, life.producer, life.epoch, committed)
        begun, unclear, error = self.shared.now(), False, "no coordinator"
        while self.shared.now() - begun < PATIENCE_S:
            answer = await self._ask(request, self._versions[1])
            code = ErrorCode(answer.error_code) if answer is not None else None
            if code is ErrorCode.NONE:
                self._next_epoch(answer)
                return (OK, "") if committed else (FAIL, "aborted")
            error = code.name if code is not None else "no answer"
            if code is not None and code not in _AGAIN:
                if code not in _OVER:
                    self._surprise("", f"END_TXN: {code.name}")
                break
            unclear = True
            if self.shared.stopping.is_set() and self.shared.now() - begun > 2:
                break
            await asyncio.sleep(RETRY_S)
        self._lose_life(error)
        return (INFO if committed and unclear else FAIL), error

    def _next_epoch(self, answer: Any) -> None:
        if self._version_2:
            self._life, self._sequences = _Life(answer.producer_id, answer.producer_epoch), {}

    # --- what must have no effect ----------------------------------------------------------------

    async def _send_as_zombie(self, former: _Life) -> None:
        """One more value of a life that another one has replaced."""
        if self._life is None or former == self._life:
            return
        key, value, number = (
            self.rng.choice(self.shared.keys),
            next(self.shared.values),
            self.shared.next_transaction(),
        )
        t0 = self.shared.now()
        node = self.client.leader(key)
        if node is None:
            return
        answer = await self._produce(node, key, self._batch(former, value, 0))
        if answer is not None and answer.error_code == ErrorCode.NONE:
            self._surprise(
                key, f"PRODUCE of a fenced epoch, {former} after {self._life}, was taken"
            )
        t1 = self.shared.now()
        told = (self.name, former.producer, key, next(self._counted), value, FAIL, None, node)
        self.history.add(Send(*told, t0, t1, "zombie", number))
        self.history.add(Transaction(self.name, number, *former, FAIL, t0, -1.0, t1, "zombie"))


class CommittedReader(Reader):
    """Reads with isolation level read_committed."""

    isolation = COMMITTED
