"""Transactions a second, and the latency of their records to a reader of committed records.

Transactions of ten 100-byte records, by 1 and by 20 producers at once, with confluent-kafka
(protocol 1) and with the Java client (protocol 2, KIP-890), on one node and on three (RF 3,
min.insync.replicas 2). A consumer with isolation level read_committed reads at the same time; its
latency is the time from the send of a record to its arrival.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.peers import NODES, BenchPeer
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    RATE,
    SMALLER,
    Figure,
    Run,
    Scenario,
    WindowResult,
    latencies,
    steady,
)
from bench.wire import create_topic
from tests.tools.java_tools import java_command, program_classpath

RECORDS = 10
VALUE_BYTES = 100
PARTITIONS = 6
PRODUCERS = (1, 20)
# The JVM's only options set a heap for twenty producers, because the client is not measured.
JAVA = ("-Xms512m", "-Xmx512m")
CALL_S = 30.0


@dataclass
class ConfluentLoad:
    """A load of producers and a consumer in threads of this process."""

    bootstrap: str
    topic: str
    producers: int
    committed: list[int] = field(default_factory=list)
    trips: list[float] | None = None
    failures: list[BaseException] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self, peer: BenchPeer, window_s: float) -> list[Figure]:
        """Load until the rate is steady, and stop all threads."""
        self.committed = [0] * self.producers
        threads = [threading.Thread(target=self._guarded, args=(self._consume,))]
        for number in range(self.producers):
            make = self._guarded
            threads.append(threading.Thread(target=make, args=(self._produce, number)))
        for thread in threads:
            thread.start()
        try:
            self._wait_for_all()
            measured = steady(peer, self._window, window_s)
        finally:
            self.stopping.set()
            for thread in threads:
                thread.join(2 * CALL_S)
        if not measured.trips:
            raise RuntimeError("no committed record arrived")
        return [
            Figure(RATE, "txn/s", measured.rate, LARGER),
            Figure(BROKER_CPU, "µs/txn", measured.cpu_per_unit * 1e6, SMALLER),
            *latencies(measured.trips, "ms"),
            measured.client_load,
        ]

    def _wait_for_all(self) -> None:
        """Wait until every producer has its id and has committed once."""
        deadline = time.monotonic() + CALL_S
        while not all(self.committed):
            if self.failures:
                raise self.failures[0]
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self.committed.count(0)} producers have committed nothing")
            time.sleep(0.01)

    def _window(self, seconds: float) -> WindowResult:
        """Count the commits and take the trips of some seconds. Raises a thread's failure."""
        before = sum(self.committed)
        trips: list[float] = []
        self.trips = trips
        time.sleep(seconds)
        self.trips = None
        if self.failures:
            raise self.failures[0]
        return WindowResult(sum(self.committed) - before, trips)

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> None:
        """Run the work of a thread; what it raises is kept in `failures`."""
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001 - the measuring thread raises it
            self.failures.append(error)

    def _produce(self, number: int) -> None:
        """Commit transactions until the load stops, and count them."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": f"{self.topic}-{number}",
                "linger.ms": 0,
            }
        )
        producer.init_transactions(CALL_S)
        partition = number % PARTITIONS
        filling = b"v" * (VALUE_BYTES - 20)
        while not self.stopping.is_set():
            producer.begin_transaction()
            for _ in range(RECORDS):
                value = b"%020d" % time.perf_counter_ns() + filling
                producer.produce(self.topic, value, partition=partition)
            producer.commit_transaction(CALL_S)
            self.committed[number] += 1

    def _consume(self) -> None:
        """Read committed records until the load stops; note their trips during a window."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "nobody",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(self.topic, part, 0) for part in range(PARTITIONS)])
        while not self.stopping.is_set():
            messages = consumer.consume(1000, 0.1)
            trips, now = self.trips, time.perf_counter_ns()
            if trips is None:
                continue
            trips += [
                (now - int((message.value() or b"0")[:20])) / 1e9
                for message in messages
                if message.error() is None
            ]
        consumer.close()


def by_confluent(producers: int) -> Run:
    """Measure transactions by confluent-kafka, which is librdkafka."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        topic = f"transactions-confluent-{producers}"
        create_topic(peer.port, topic, PARTITIONS, peer.nodes)
        return ConfluentLoad(peer.bootstrap, topic, producers).run(peer, window_s)

    return run


def by_java(producers: int) -> Run:
    """Measure by `tests/java/src/TransactionLoad.java`, in a JVM that warms up first."""

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        """Run the Java load. Raises RuntimeError if it fails."""
        topic = f"transactions-java-{producers}"
        create_topic(peer.port, topic, PARTITIONS, peer.nodes)
        words = (peer.bootstrap, topic, str(PARTITIONS), str(producers), str(window_s))
        done = subprocess.run(
            java_command("TransactionLoad", *words, classpath=program_classpath(), jvm=JAVA),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=20 * window_s + 120,
        )
        if done.returncode:
            raise RuntimeError(f"TransactionLoad failed: {done.stdout}{done.stderr[-2000:]}")
        result: dict[str, float] = json.loads(done.stdout)
        return [
            Figure(RATE, "txn/s", result["rate"], LARGER),
            Figure("p50", "ms", result["p50_ms"], SMALLER),
            Figure("p99", "ms", result["p99_ms"], SMALLER),
        ]

    return run


CLIENTS: dict[str, Callable[[int], Run]] = {"confluent": by_confluent, "java": by_java}


def scenario(nodes: int, client: str, producers: int) -> Scenario:
    """Return the scenario of these nodes, client and producers."""
    where = "" if nodes == 1 else "RF 3, "
    many = f"{producers} producer{'s' if producers > 1 else ''}"
    return Scenario(
        name=f"{'rf3-' if nodes > 1 else ''}transactions-{client}-{producers}",
        group="transactions",
        title=f"{where}transactions of {RECORDS} records, {client}, {many}",
        client=f"{client}, {producers} and a reader",
        connections=producers + 1,
        partitions=PARTITIONS,
        run=CLIENTS[client](producers),
        nodes=nodes,
    )


SCENARIOS = [
    scenario(nodes, client, producers)
    for nodes in (1, NODES)
    for client in CLIENTS
    for producers in PRODUCERS
]
