"""A topic that is written all the while: transactions, aborted ones, and values that do not fit.

Owns the producer, in a thread. What the topic holds in the end is read by a stock consumer.
"""

from __future__ import annotations

import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 3
MISFIT = b"\xff\xfe"
"""No UTF-8; a number follows."""
_ABORTED_SHARE = 0.3
_MISFIT_SHARE = 0.05
_TRANSACTION_MAX = 40
_PAUSE_S = 0.25
_TIMEOUT_S = 90
Place = tuple[int, int]


class WrittenTopic:
    """`with WrittenTopic(servers, name, seed): …`: transactions until the end of the block."""

    def __init__(self, servers: str, name: str, seed: int) -> None:
        self.servers, self.name = servers, name
        self._random = random.Random(seed)
        self._ends = threading.Event()
        self._threads = ThreadPoolExecutor(1, "transactions")
        self._writes: Future[None] | None = None

    def __enter__(self) -> WrittenTopic:
        admin = AdminClient({"bootstrap.servers": self.servers})
        (made,) = admin.create_topics([NewTopic(self.name, PARTITIONS, 1)]).values()
        made.result(_TIMEOUT_S)
        self._writes = self._threads.submit(self._write)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """No more transactions; the last one is over."""
        self._ends.set()
        self._threads.shutdown()
        if self._writes is not None:
            self._writes.result()

    def _write(self) -> None:
        producer = Producer(
            {"bootstrap.servers": self.servers, "transactional.id": f"writes-{self.name}"}
        )
        producer.init_transactions(_TIMEOUT_S)
        number = 0
        while not self._ends.wait(_PAUSE_S):
            producer.begin_transaction()
            for _ in range(self._random.randint(1, _TRANSACTION_MAX)):
                self._send(producer, number)
                number += 1
            if self._random.random() < _ABORTED_SHARE:
                producer.flush(_TIMEOUT_S)
                producer.abort_transaction(_TIMEOUT_S)
            else:
                producer.commit_transaction(_TIMEOUT_S)

    def _send(self, producer: Producer, number: int) -> None:
        value = b"%d" % number
        if self._random.random() < _MISFIT_SHARE:
            value = MISFIT + value
        partition = self._random.randrange(PARTITIONS)
        producer.produce(
            self.name,
            value=value,
            key=b"k%d" % (number % 9),
            partition=partition,
            headers=[("n", b"%d" % number)],
        )

    def committed(self) -> dict[Place, bytes]:
        """Every record that a reader of committed ones gets, by partition and offset."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "looks-only",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
            }
        )
        found: dict[Place, bytes] = {}
        try:
            consumer.assign([TopicPartition(self.name, one, 0) for one in range(PARTITIONS)])
            ended: set[int] = set()
            while len(ended) < PARTITIONS:
                for message in consumer.consume(10_000, 1.0):
                    if message.error() is not None:
                        ended.add(message.partition())
                    else:
                        found[message.partition(), message.offset()] = message.value()
        finally:
            consumer.close()
        return found
