"""The load of a chaos run: raw producers, consumers, a group, and a watcher of leaders.

Each worker is a coroutine with connections of its own that writes into the history what it was
told. Producers are idempotent: what has no clear answer is sent again with its sequence number, or
given up with its producer id, as a client that crashes does.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Iterator
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.chaos.history import FAIL, INFO, OK, Claim, History, Poll, Send, Surprise, Unanswered
from tests.chaos.raw_client import (
    COMMITTED,
    UNCOMMITTED,
    Address,
    Hung,
    NotSent,
    RawClient,
    Silent,
    batch_of,
    read_of,
)

PACE_S = 0.05
"""Between two operations of a worker."""
RETRY_S = 0.1
PATIENCE_S = 25.0
"""A send is given up after it."""
WATCH_S = 0.5

_NOT_APPENDED = {ErrorCode.NOT_ENOUGH_REPLICAS}
_UNCLEAR = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,  # under acks=all it may come after the append
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
}
_ASK_AGAIN = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.LEADER_NOT_AVAILABLE,
}


class Shared:
    """What the workers of a run have in common."""

    def __init__(self, addresses: dict[int, Address], keys: list[str], seed: int) -> None:
        self.addresses = addresses
        self.keys = keys
        self.history = History()
        self.values: Iterator[int] = itertools.count(1)
        self.stopping = asyncio.Event()
        self.stable_at = 0.0
        """`time.monotonic` when every last stable offset had reached its log's end."""
        self._transactions = itertools.count()
        self._seed = seed
        self._begin = time.monotonic()

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._begin

    def next_transaction(self) -> int:
        """A number for a transaction."""
        return next(self._transactions)

    def rng(self, name: str) -> random.Random:
        return random.Random(f"{self._seed} {name}")


class Worker:
    """One coroutine of load."""

    def __init__(self, name: str, shared: Shared) -> None:
        self.name = name
        self.shared = shared
        self.history = shared.history
        self.rng = shared.rng(name)
        self.client = RawClient(name, shared.addresses, self.rng)

    async def run(self) -> None:
        """Work until the run stops."""
        try:
            await self.client.metadata()
            while not self.shared.stopping.is_set():
                await self.work()
                await asyncio.sleep(PACE_S * self.rng.uniform(0.5, 1.5))
        finally:
            await self.end()
            self.client.close()

    async def work(self) -> None:
        raise NotImplementedError

    async def end(self) -> None:
        """Before the connections close."""

    def silent(self, node: int, api: str, t0: float) -> None:
        """Nobody answered a request."""
        self.history.add(Unanswered(self.name, node, api, t0, self.shared.now()))


class Producer(Worker):
    """Sends one value after another, to a random key each."""

    def __init__(self, name: str, shared: Shared) -> None:
        super().__init__(name, shared)
        self._producer_id: int | None = None
        self._sequences: dict[str, int] = {}

    async def work(self) -> None:
        if self._producer_id is None and not await self._new_id():
            await asyncio.sleep(RETRY_S)
            return
        if self.rng.random() < 0.005:
            self._producer_id = None  # a client that crashed
            return
        await self._send(self.rng.choice(self.shared.keys), next(self.shared.values))

    async def _new_id(self) -> bool:
        node = self.rng.choice(list(self.shared.addresses))
        try:
            answer = await self.client.call(node, InitProducerIdRequest(None, 60_000), 4)
        except (NotSent, Hung):
            return False
        if answer.error_code != ErrorCode.NONE:
            return False
        self._producer_id, self._sequences = answer.producer_id, {}
        return True

    async def _send(self, key: str, value: int) -> None:
        assert self._producer_id is not None
        t0 = self.shared.now()
        sequence = self._sequences.get(key, 0)
        batch = batch_of([value], self._producer_id, sequence, int(time.time() * 1000))
        patience_s = PATIENCE_S if self.rng.random() < 0.8 else 0.5
        outcome, offset, node, error = FAIL, None, -1, "no leader"
        while outcome != OK:
            leader = self.client.leader(key)
            if leader is not None:
                node = leader
                clear, offset, error = await self._attempt(node, key, batch)
                if clear == OK:
                    outcome = OK
                    break
                if clear == INFO:
                    outcome = INFO
                if error.startswith("!"):
                    self.history.add(Surprise(self.name, key, error, self.shared.now()))
                    outcome = INFO
                    break
            if self.shared.now() - t0 > patience_s or self.shared.stopping.is_set():
                break
            await asyncio.sleep(RETRY_S)
            await self.client.metadata()
        t1 = self.shared.now()
        self.history.add(
            Send(
                *(self.name, self._producer_id, key, sequence, value),
                *(outcome, offset, node, t0, t1, error),
            )
        )
        if outcome == OK:
            self._sequences[key] = sequence + 1
        elif outcome == INFO:
            self._producer_id = None

    async def _attempt(self, node: int, key: str, batch: bytes) -> tuple[str, int | None, str]:
        """Outcome of one request, offset, and the error; one that must not be begins with "!"."""
        begun = self.shared.now()
        try:
            answer = await self.client.produce(node, key, batch)
        except NotSent as error:
            return FAIL, None, f"not sent: {error}"
        except Silent:
            self.silent(node, "PRODUCE", begun)
            return INFO, None, "no answer"
        except Hung:
            return INFO, None, "connection ended"
        code = ErrorCode(answer.error_code)
        if code is ErrorCode.NONE:
            return OK, answer.base_offset if answer.base_offset >= 0 else None, ""
        if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            return OK, None, ""
        if code in _NOT_APPENDED:
            return FAIL, None, code.name
        return INFO, None, code.name if code in _UNCLEAR else f"!{code.name}"


class Reader(Worker):
    """Reads keys that it chose itself from where it likes, always onward from there."""

    isolation = UNCOMMITTED

    def __init__(self, name: str, shared: Shared) -> None:
        super().__init__(name, shared)
        self.session = 0
        self.positions: dict[str, int] = {}

    async def work(self) -> None:
        if not self.positions or self.rng.random() < 0.01:
            self._assign()
        await self.read(self.rng.choice(list(self.positions)))

    def _assign(self) -> None:
        """Other keys, some of them from the start and some from where it was."""
        self.session += 1
        count = min(len(self.shared.keys), self.rng.randrange(1, 7))
        chosen = self.rng.sample(self.shared.keys, count)
        before = self.positions
        self.positions = {
            key: before.get(key, 0) if self.rng.random() < 0.7 else 0 for key in chosen
        }

    async def read(self, key: str) -> None:
        """One fetch of one key, and what came."""
        node, epoch = self.client.leaders.get(key, (-1, -1))
        t0 = self.shared.now()
        if node < 0:
            await asyncio.sleep(RETRY_S)
            await self.client.metadata()
            return
        position = self.positions[key]
        try:
            data = await self.client.fetch(node, key, position, epoch, self.isolation)
        except Silent:
            self.silent(node, "FETCH", t0)
            await self.client.metadata()
            return
        except (NotSent, Hung):
            await asyncio.sleep(RETRY_S)
            await self.client.metadata()
            return
        code = ErrorCode(data.error_code)
        if code is not ErrorCode.NONE:
            await self._refused(key, code, position)
            return
        records, self.positions[key] = read_of(data, position)
        high, start = data.high_watermark, data.log_start_offset
        now = self.shared.now()
        self.history.add(Claim(key, epoch, node, f"fetch of {self.name}", now))
        self.history.add(
            Poll(
                *(self.name, self.session, key, node, epoch, records, high, start, t0, now),
                *(data.last_stable_offset, self.isolation == COMMITTED),
            )
        )

    async def _refused(self, key: str, code: ErrorCode, position: int) -> None:
        if code not in _ASK_AGAIN:
            what = f"FETCH from {position}: {code.name}"
            self.history.add(Surprise(self.name, key, what, self.shared.now()))
            self.session += 1
            self.positions[key] = 0
        await asyncio.sleep(RETRY_S)
        await self.client.metadata()


class Watcher(Worker):
    """Asks each node in turn who leads what."""

    async def work(self) -> None:
        for node in list(self.shared.addresses):
            answer = await self.client.metadata(node, 1.0)
            now = self.shared.now()
            for topic in answer.topics if answer is not None else ():
                for part in topic.partitions:
                    self._claim(topic.name, part, node, now)
            quorum = await self.client.quorum(node)
            if quorum is not None:
                self.history.add(
                    Claim("quorum", quorum[1], quorum[0], f"node {node}", self.shared.now())
                )
        await asyncio.sleep(WATCH_S)

    def _claim(self, topic: str, part: Any, node: int, now: float) -> None:
        key = f"{topic}-{part.partition_index}"
        self.history.add(Claim(key, part.leader_epoch, part.leader_id, f"node {node}", now))
