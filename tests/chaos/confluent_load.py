"""The load of a chaos run by confluent-kafka: its retries and its idempotence are what people run.

The same history as of the raw workers, with less in it: librdkafka tells no leader epochs and no
high watermarks, and an error of a delivery never says that nothing was appended.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import defaultdict
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from tests.chaos.history import INFO, OK, Poll, Send, Surprise
from tests.chaos.raw_client import topic_of
from tests.chaos.workload import Shared, Worker

OUTSTANDING_MAX = 200
DELIVERY_MS = 0
"""None: when a message times out, librdkafka takes a new producer epoch and sends again under it
what it had no answer to, which may then be there twice."""
FLUSH_S = 70.0

_numbers = itertools.count(-1, -1)
"""Names of producers, whose ids librdkafka does not tell: no other worker has a negative one."""


class ConfluentProducer(Worker):
    """An idempotent producer; now and then it is thrown away with all that it has not sent.

    `way`: the keys by which it reaches the cluster.
    """

    def __init__(self, name: str, shared: Shared, way: dict[str, str]) -> None:
        super().__init__(name, shared)
        self._way = way
        self._open: dict[int, Send] = {}
        self._renew()

    def _renew(self) -> None:
        self._number = next(_numbers)
        self._sequences: dict[str, int] = defaultdict(int)
        self._producer = Producer(
            {
                **self._way,
                "enable.idempotence": True,
                "message.timeout.ms": DELIVERY_MS,
                "linger.ms": 2,
                "error_cb": lambda _: None,
                "log_level": 0,
            }
        )

    async def work(self) -> None:
        if self.rng.random() < 0.001:
            self._give_up()
            self._renew()
        if len(self._producer) < OUTSTANDING_MAX:
            for _ in range(self.rng.randrange(1, 4)):
                self._send()
        self._producer.poll(0)

    def _send(self) -> None:
        key, value = self.rng.choice(self.shared.keys), next(self.shared.values)
        topic, number = topic_of(key)
        sequence = self._sequences[key]
        self._sequences[key] += 1
        now = self.shared.now()
        self._open[value] = Send(
            *(self.name, self._number, key, sequence, value, INFO, None, -1, now, now, "open")
        )
        self._producer.produce(
            topic, b"%d" % value, partition=number, on_delivery=partial(self._told, value)
        )

    def _told(self, value: int, error: Any, message: Any) -> None:
        send = self._open.pop(value, None)
        if send is None:
            return  # of a producer that was thrown away
        send = send._replace(t1=self.shared.now())
        if error is None:
            send = send._replace(outcome=OK, offset=message.offset(), error="")
        else:
            send = send._replace(error=str(error))
            if error.fatal():
                what = f"fatal: {error}"
                self.history.add(Surprise(self.name, send.key, what, send.t1))
        self.history.add(send)

    def _give_up(self) -> None:
        """Nobody will ever be told of what is open."""
        self._producer.poll(0)
        now = self.shared.now()
        for send in self._open.values():
            self.history.add(send._replace(t1=now, error="given up"))
        self._open.clear()
        self._producer.purge(in_queue=True, in_flight=True, blocking=False)

    async def end(self) -> None:
        await asyncio.to_thread(self._producer.flush, FLUSH_S)
        self._give_up()


class ConfluentReader(Worker):
    """A consumer that is given keys and positions, and other ones after a while."""

    def __init__(self, name: str, shared: Shared, way: dict[str, str]) -> None:
        super().__init__(name, shared)
        self._session = 0
        self._positions: dict[str, int] = {}
        self._consumer = Consumer(
            {
                **way,
                "group.id": f"nobody-{name}",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 100,
                "error_cb": lambda _: None,
                "log_level": 0,
            }
        )

    async def work(self) -> None:
        if not self._positions or self.rng.random() < 0.01:
            self._assign()
        t0 = self.shared.now()
        messages = await asyncio.to_thread(self._consumer.consume, 200, 0.1)
        now = self.shared.now()
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for message in messages:
            key = f"{message.topic()}-{message.partition()}"
            error = message.error()
            if error is None:
                found[key].append((message.offset(), int(message.value())))
            elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION):
                self.history.add(Surprise(self.name, key, str(error), now))
                self._positions = {}
        for key, records in found.items():
            poll = Poll(self.name, self._session, key, -1, -1, records, -1, -1, t0, now)
            self.history.add(poll._replace(committed=True))  # librdkafka's default
            if key in self._positions:
                self._positions[key] = records[-1][0] + 1

    def _assign(self) -> None:
        self._session += 1
        count = min(len(self.shared.keys), self.rng.randrange(1, 7))
        before = self._positions
        self._positions = {
            key: before.get(key, 0) if self.rng.random() < 0.7 else 0
            for key in self.rng.sample(self.shared.keys, count)
        }
        self._consumer.assign(
            [TopicPartition(*topic_of(key), offset) for key, offset in self._positions.items()]
        )

    async def end(self) -> None:
        await asyncio.to_thread(self._consumer.close)
