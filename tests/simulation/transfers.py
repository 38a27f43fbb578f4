"""Transactional producers: each transaction takes from one account and gives to another.

An account is a partition. A transaction writes to one, two or three of them, in one or two rounds,
and commits, aborts, or is left: by a client that begins its next life, or that falls silent past
the transaction's time-out and then goes on as if nothing had happened. Two clients with one
transactional id fence each other.
"""

from __future__ import annotations

from typing import Any

from simulation.sim_client import Waits
from tests.simulation.sim_actor import SimActor
from tests.simulation.transaction_manager import TransactionManager
from tests.simulation.transactions import Txn

TIMEOUTS_MS = (2_500, 4_000, 6_000)


class Transferrer(SimActor):
    """See the module. `protocol` is 1 or 2: that of transactions."""

    def __init__(
        self,
        name: str,
        *where: Any,
        topics: list[str],
        transactional_id: str,
        protocol: int,
        think_ms: float,
    ) -> None:
        super().__init__(name, *where)
        self.names = topics
        self.think_ms = think_ms
        timeout_ms = self.chance.choice(TIMEOUTS_MS)
        self.manager = TransactionManager(self, transactional_id, protocol, timeout_ms)
        self.sent = 0

    def life(self) -> Waits:
        yield from self.learn_all(self.names)
        while not self.stopping:
            if self.manager.fenced:
                yield 500.0 + self.chance.random() * 2_000.0
            if not self.manager.ready:
                yield from self.manager.init()
                continue
            yield self.chance.expovariate(1 / self.think_ms)
            yield from self._transfer()

    def _transfer(self) -> Waits:
        txn = self.manager.begin()
        topics = yield from self.know(*self.names)
        places = [(topic.name, p) for topic in topics for p in sorted(topic.leaders)]
        for _ in range(self.chance.choice([1, 1, 2])):
            chosen = self.chance.sample(places, self.chance.choice([1, 2, 2, 3]))
            if not (yield from self.write(txn, chosen)):
                yield from self._abort(txn)
                return
            dice = 0.5 if self.calm else self.chance.random()
            if dice < 0.04:
                self.manager.forget()  # it dies here; its next life begins
                return
            if dice < 0.08:
                yield self.manager.timeout_ms * (0.8 + self.chance.random())
        commit = self.calm or self.chance.random() < 0.8
        yield from self.manager.end(txn, commit)

    def write(self, txn: Txn, places: list[tuple[str, int]]) -> Waits:
        """One batch for each of some partitions; whether all of them are there."""
        if not (yield from self.manager.add(txn, places)):
            return False
        topics = yield from self.know(*(name for name, _ in places))
        batches = [
            self.manager.batch(txn, topic, partition, self._values())
            for topic, (_, partition) in zip(topics, places, strict=True)
        ]
        return (yield from self.manager.produce(batches, self.names))

    def _abort(self, txn: Txn) -> Waits:
        """After a failure: by EndTxn, or by the InitProducerId that comes next."""
        if self.manager.ready and txn.values and self.chance.random() < 0.7:
            yield from self.manager.end(txn, commit=False)
        self.manager.forget()

    def _values(self) -> list[bytes]:
        values = []
        for _ in range(self.chance.choice([1, 1, 2])):
            self.sent += 1
            values.append(f"{self.name}/{self.sent}".encode() + b"." * self.chance.choice([0, 10]))
        return values
