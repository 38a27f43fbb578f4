"""Clients that work while the nodes change their program: producers, groups, transactions.

Each kind of client writes down what it saw, and says at the end what was lost, what came twice and
what has another offset. They log in as SCRAM users, and talk to all brokers.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping

from confluent_kafka import KafkaError, Message, Producer, ShareConsumer

from tests.chaos.stock_producers import FLUSH_S, PACE_S, StockProducer
from tests.clients.transactional_clients import open_producer, open_reader
from tests.clients.transactional_faces import COMMITTED, Row, TransactionalProducer
from tests.tools.cluster_security import ClusterLogin
from tests.tools.waiting import wait_until

CONFLUENT = "confluent-kafka"
Place = tuple[int, int]
"""Partition and offset."""


class ManyTopics(StockProducer):
    """librdkafka, to all partitions of many topics in turn."""

    client = "many-topics"

    def __init__(
        self, bootstrap: str, topics: Mapping[str, int], first_value: int, login: ClusterLogin
    ) -> None:
        self.places = [(t, p) for t, partitions in topics.items() for p in range(partitions)]
        self._numbers = {place: number for number, place in enumerate(self.places)}
        super().__init__(bootstrap, self.client, len(self.places), first_value, login)

    def key(self, number: int) -> str:
        topic, partition = self.places[number]
        return f"{topic}-{partition}"

    def produce_until_stopped(self) -> None:
        assert self.login is not None
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                **self.login.of_librdkafka(),
                "enable.idempotence": True,
                "error_cb": lambda _: None,
                "log_level": 0,
            }
        )
        while not self._stopping.is_set():
            value, number = self.next_value()
            topic, partition = self.places[number]
            producer.produce(topic, b"%d" % value, partition=partition, on_delivery=self._report)
            producer.poll(PACE_S)
        if left := producer.flush(FLUSH_S):
            self.errors.append(f"{left} records were never reported")

    def _report(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(str(error))
            return
        number = self._numbers[message.topic() or "", message.partition() or 0]
        offset = -1 if message.offset() is None else message.offset()
        self.delivered(int(message.value() or b""), number, offset or 0)


class ShareMember(threading.Thread):
    """A member of a share group that accepts all records. `deliveries` counts each record's."""

    def __init__(self, bootstrap: str, group: str, topic: str, login: ClusterLogin) -> None:
        super().__init__(name=f"{group}-member", daemon=True)
        self.deliveries: Counter[Place] = Counter()
        self.failure: BaseException | None = None
        self._topic = topic
        self._stopping = threading.Event()
        self._consumer = ShareConsumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "error_cb": lambda _: None,
                "log_level": 0,
                **login.of_librdkafka(),
            }
        )

    def run(self) -> None:
        """Receive and accept records until `stop`."""
        try:
            self._consumer.subscribe([self._topic])
            while not self._stopping.is_set():
                for message in self._consumer.poll(0.2):
                    if message.error() is None:
                        self.deliveries[message.partition() or 0, message.offset() or 0] += 1
            self._consumer.close()
        except BaseException as error:  # noqa: BLE001 - raised by `stop`
            self.failure = error

    def stop(self) -> None:
        """Leave the group. Raises what went wrong in the member."""
        self._stopping.set()
        self.join(90)
        assert not self.is_alive(), f"{self.name} does not end"
        if self.failure is not None:
            raise self.failure


class Transactions:
    """Transactions that stay open for as long as a caller wants, each with some records.

    All are in partition 0 of a topic. `committed` has the names of those that were committed.
    """

    RECORDS = 20

    def __init__(self, bootstrap: str, topic: str, prefix: str, login: ClusterLogin) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._prefix = prefix
        self._settings = login.of_librdkafka()
        self._open: dict[str, TransactionalProducer] = {}
        self._left: list[TransactionalProducer] = []
        self.committed: list[str] = []

    def begin(self, name: str, timeout_ms: int = 900_000) -> None:
        """Begin a transaction, and write its records."""
        transactional_id = f"{self._prefix}{name}"
        where = (CONFLUENT, self._bootstrap, transactional_id, timeout_ms, self._settings)
        producer = self._open[name] = open_producer(*where)
        producer.begin()
        for number in range(self.RECORDS):
            producer.send(self._topic, 0, f"{name}/{number}".encode())
        producer.flush()

    def commit(self, name: str) -> None:
        """Commit a transaction; it has to succeed."""
        self._open[name].commit()
        self.committed.append(name)

    def abort(self, name: str) -> None:
        """Abort a transaction; it has to succeed."""
        self._open[name].abort()

    def rows(self, login: ClusterLogin) -> list[Row]:
        """Return the committed records. Raises AssertionError if some are missing after a while."""
        reader = open_reader(
            *(CONFLUENT, self._bootstrap, self._topic, 3),
            isolation=COMMITTED,
            settings=login.of_librdkafka(),
        )
        rows: list[Row] = []
        wanted = len(self.committed) * self.RECORDS

        def all_came() -> bool:
            rows.extend(reader.poll(0.2))
            return len(rows) >= wanted

        try:
            wait_until(all_came, f"{wanted} committed records")
            quiet_at = time.monotonic() + 2
            while time.monotonic() < quiet_at:
                rows.extend(reader.poll(0.2))
        finally:
            reader.close()
        return rows

    def faults(self, rows: list[Row]) -> list[str]:
        """Return what is wrong with the committed records: lost, twice, or of another one."""
        counts = Counter(row.value.decode() for row in rows)
        expected = {f"{name}/{n}" for name in self.committed for n in range(self.RECORDS)}
        faults = [f"transaction: {value} is lost" for value in sorted(expected - {*counts})]
        faults += [f"transaction: {v} is not committed" for v in sorted({*counts} - expected)]
        return faults + [f"transaction: {v} came {n} times" for v, n in counts.items() if n > 1]
