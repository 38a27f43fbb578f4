"""Transactions a second, and how long a record takes to a reader of committed records.

`python -m bench --transactions`: transactions of ten 100-byte records, by 1 and by 20 producers at
once, with confluent-kafka (protocol 1) and with the Java client (protocol 2, KIP-890), on one node
and on three (RF 3, min.insync.replicas 2). One consumer with isolation level read_committed reads
along; its latency counts from the send of a record to its arrival. Every load runs until two
successive windows differ by less than 5 %, then one window counts. With `--json` the figures of
each peer are written when it is done, and a run that was broken off goes on where it was.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from bench.peers import NODES, start_peer
from bench.scenario import LARGER, SMALLER, STEADY, Figure
from bench.wire import create_topic
from tests.java_tools import java_command, program_classpath

RECORDS = 10
VALUE_BYTES = 100
PARTITIONS = 6
PRODUCERS = (1, 20)
# The client is not what is measured: no flags but a heap that twenty producers fit into.
JAVA = ("-Xms512m", "-Xmx512m")
CALL_S = 30.0
WINDOWS_MAX = 6


@dataclass
class Target:
    """A running peer of one node or three."""

    peer: Any
    bootstrap: str
    port: int
    replicas: int


@dataclass
class ConfluentLoad:
    """Producers and a consumer in threads of this process."""

    bootstrap: str
    topic: str
    producers: int
    committed: list[int] = field(default_factory=list)
    trips: list[float] | None = None
    failures: list[BaseException] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def run(self, window_s: float) -> tuple[float, list[float]]:
        """Transactions a second, and seconds from send to arrival."""
        self.committed = [0] * self.producers
        threads = [threading.Thread(target=self._guarded, args=(self._consume,))]
        for number in range(self.producers):
            make = self._guarded
            threads.append(threading.Thread(target=make, args=(self._produce, number)))
        for thread in threads:
            thread.start()
        try:
            self._warm_up(window_s)
            trips: list[float] = []
            self.trips = trips
            began = time.perf_counter()
            rate = self._window(window_s) / (time.perf_counter() - began)
            self.trips = None
        finally:
            self.stopping.set()
            for thread in threads:
                thread.join(60)
        return rate, trips

    def _warm_up(self, window_s: float) -> None:
        before = self._window(window_s)
        for _ in range(WINDOWS_MAX - 1):
            count = self._window(window_s)
            if before and abs(count - before) < STEADY * before:
                return
            before = count

    def _window(self, seconds: float) -> float:
        before = sum(self.committed)
        time.sleep(seconds)
        if self.failures:
            raise self.failures[0]
        return sum(self.committed) - before

    def _guarded(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # noqa: BLE001 - raised by whoever measures
            self.failures.append(error)

    def _produce(self, number: int) -> None:
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


def by_confluent(target: Target, topic: str, producers: int, window_s: float) -> dict[str, float]:
    """librdkafka."""
    rate, trips = ConfluentLoad(target.bootstrap, topic, producers).run(window_s)
    trips.sort()
    if not trips:
        raise RuntimeError("no committed record arrived")
    p50, p99 = trips[len(trips) // 2], trips[len(trips) * 99 // 100]
    return {"rate": rate, "p50_ms": p50 * 1e3, "p99_ms": p99 * 1e3}


def by_java(target: Target, topic: str, producers: int, window_s: float) -> dict[str, float]:
    """`tests/java/src/TransactionLoad.java`, in a JVM of its own."""
    words = (target.bootstrap, topic, str(PARTITIONS), str(producers), str(window_s))
    done = subprocess.run(
        java_command("TransactionLoad", *words, classpath=program_classpath(), jvm=JAVA),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20 * window_s + 120,
    )
    if done.returncode:
        raise RuntimeError(f"TransactionLoad failed: {done.stdout}{done.stderr[-2000:]}")
    told: dict[str, float] = json.loads(done.stdout)
    return told


CLIENTS = {"confluent": by_confluent, "java": by_java}
SCENARIOS = [
    f"{nodes}-{client}-{producers}"
    for nodes in ("one", "rf3")
    for client in CLIENTS
    for producers in PRODUCERS
]


def figures_of(target: Target, name: str, window_s: float) -> list[Figure]:
    """One scenario's figures."""
    nodes, client, producers = name.split("-")
    topic = f"transactions-{name}"
    create_topic(target.port, topic, PARTITIONS, target.replicas)
    print(f"    {name}", file=sys.stderr, flush=True)
    told = CLIENTS[client](target, topic, int(producers), window_s)
    where = "one node" if nodes == "one" else "RF 3"
    label = f"{where}, {client}, {producers} producer{'s' if producers != '1' else ''}"
    return [
        Figure(f"{label}: rate", "txn/s", told["rate"], LARGER),
        Figure(f"{label}: p50", "ms", told["p50_ms"], SMALLER),
        Figure(f"{label}: p99", "ms", told["p99_ms"], SMALLER),
    ]


def measure(peer_name: str, nodes: str, names: list[str], window_s: float) -> dict[str, Figure]:
    """The scenarios of one node or of three, on fresh data."""
    peer = start_peer(peer_name, 1 if nodes == "one" else NODES)
    try:
        target = Target(peer, peer.bootstrap, peer.port, peer.nodes)
        figures = [one for name in names for one in figures_of(target, name, window_s)]
    finally:
        peer.stop()
    return {figure.name: figure for figure in figures}


Done = dict[str, dict[str, dict[str, list[Any]]]]
"""`round/nodes` → peer → figure's name → its fields."""


def run(
    peers: list[str],
    rounds: int,
    window_s: float,
    names: list[str],
    keep: Path | None,
    table: Callable[[Any], list[str]],
) -> int:
    """Alternate the peers, keep what is done, print the table."""
    done: Done = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    for number in range(1, rounds + 1):
        for nodes in ("one", "rf3"):
            chosen = [name for name in names if name.startswith(nodes)]
            for peer in peers if chosen else ():
                part = done.setdefault(f"{number}/{nodes}", {})
                if peer in part:
                    continue
                print(f"round {number} of {rounds}: {peer}, {nodes}", file=sys.stderr, flush=True)
                measured = measure(peer, nodes, chosen, window_s)
                part[peer] = {name: list(astuple(figure)) for name, figure in measured.items()}
                if keep is not None:
                    keep.write_text(json.dumps(done, indent=1) + "\n")
    today, python = time.strftime("%Y-%m-%d"), platform.python_version()
    print(f"{today}, {os.cpu_count()} cores, Python {python}")
    print("\n".join(table(_rounds(done, peers, rounds))))
    return 0


def _rounds(done: Done, peers: list[str], rounds: int) -> dict[str, list[dict[str, Figure]]]:
    return {
        peer: [
            {
                name: Figure(*fields)
                for nodes in ("one", "rf3")
                for name, fields in done.get(f"{number}/{nodes}", {}).get(peer, {}).items()
            }
            for number in range(1, rounds + 1)
        ]
        for peer in peers
    }
