"""What is measured. A scenario loads a running peer and gives figures, each with its unit.

Every peer is warm before it counts: it is loaded with the scenario's own load until two windows of
`WINDOW_S` differ by less than `STEADY` (a JVM compiles on the way), at most `WINDOWS_MAX` windows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import Producer

from bench.peers import Peer, cpu_seconds
from bench.wire import (
    Wire,
    check_produce,
    create_topic,
    end_offset,
    fetch_frame,
    produce_frame,
    replay,
)

WINDOW_S = 5.0
STEADY = 0.05
WINDOWS_MAX = 12

QUEUED_MAX = 100_000  # messages in librdkafka's queue: it is never empty and never full

SMALLER = "smaller"
LARGER = "larger"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value. `better` says which way is good."""

    name: str
    unit: str
    value: float
    better: str


Load = Callable[[float], float]
"""Load for so many seconds; the work done, in the scenario's unit."""


def warm_up(load: Load, window_s: float) -> int:
    """Load until it is steady; the number of windows that took."""
    before = load(window_s) / window_s
    for windows in range(2, WINDOWS_MAX + 1):
        rate = load(window_s) / window_s
        if abs(rate - before) < STEADY * before:
            return windows
        before = rate
    return WINDOWS_MAX


def single_record(connections: int) -> Callable[[Peer, float], list[Figure]]:
    """Produce requests of one 100-byte record, acks=1, one under way a connection."""

    def run(peer: Peer, window_s: float) -> list[Figure]:
        topic = f"single-{connections}"
        create_topic(peer.port, topic, connections)
        check_produce(peer.port, topic)
        frames = [produce_frame(topic, index, 100) for index in range(connections)]
        trips: list[float] = []

        def load(seconds: float) -> float:
            nonlocal trips
            answers, trips = replay(peer.port, frames, seconds)
            return answers

        warm_up(load, window_s)
        cpu = cpu_seconds(peer.pid)
        began = time.perf_counter()
        answers = load(window_s)
        spent = time.perf_counter() - began
        cpu = cpu_seconds(peer.pid) - cpu
        label = f"1 record a request, {connections} conn"
        figures = [
            Figure(f"{label}: rate", "req/s", answers / spent, LARGER),
            Figure(f"{label}: broker CPU", "µs/req", cpu / answers * 1e6, SMALLER),
        ]
        if trips:
            trips.sort()
            figures += [
                Figure(f"{label}: p50", "µs", trips[len(trips) // 2] * 1e6, SMALLER),
                Figure(f"{label}: p99", "µs", trips[len(trips) * 99 // 100] * 1e6, SMALLER),
            ]
        return figures

    return run


def batched(value_bytes: int) -> Callable[[Peer, float], list[Figure]]:
    """librdkafka, batches of up to 1 MB, acks=1, one partition."""

    def run(peer: Peer, window_s: float) -> list[Figure]:
        topic = f"batched-{value_bytes}"
        create_topic(peer.port, topic)
        failed: list[object] = []
        producer = Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{peer.port}",
                "acks": "1",
                "linger.ms": 5,
                "batch.size": 1_000_000,
                "batch.num.messages": 100_000,
                "queue.buffering.max.messages": 1_000_000,
                "queue.buffering.max.kbytes": 262_144,
                "delivery.report.only.error": True,
                "on_delivery": lambda error, _: failed.append(error) if error else None,
            }
        )
        many = [{"value": b"v" * value_bytes}] * 1000  # one call into librdkafka for all of them

        def load(seconds: float) -> float:
            end = time.monotonic() + seconds
            sent = 0
            while time.monotonic() < end:
                if len(producer) > QUEUED_MAX:
                    producer.poll(0.001)
                    continue
                sent += producer.produce_batch(topic, many)
                producer.poll(0)
            producer.flush()
            return sent

        warm_up(load, window_s)
        cpu = cpu_seconds(peer.pid)
        before = end_offset(peer.port, topic, 0)
        began = time.perf_counter()
        load(window_s)
        spent = time.perf_counter() - began
        cpu = cpu_seconds(peer.pid) - cpu
        messages = end_offset(peer.port, topic, 0) - before
        if failed:
            raise RuntimeError(f"{len(failed)} deliveries failed: {failed[0]}")
        megabytes = messages * value_bytes / 1e6
        label = f"batched {value_bytes} B, acks=1"
        return [
            Figure(f"{label}: rate", "MB/s", megabytes / spent, LARGER),
            Figure(f"{label}: messages", "msg/s", messages / spent, LARGER),
            Figure(f"{label}: broker CPU", "s/GB", cpu / megabytes * 1000, SMALLER),
        ]

    return run


def fetch_warm(peer: Peer, window_s: float) -> list[Figure]:
    """Fetches of 1 MiB of what is in the page cache, over and over."""
    topic = "fetched"
    create_topic(peer.port, topic)
    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{peer.port}",
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "queue.buffering.max.kbytes": 262_144,
        }
    )
    value = b"v" * 1024
    for _ in range(200_000):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    producer.flush()
    end = end_offset(peer.port, topic, 0)
    frames = [fetch_frame(topic, 0, offset, 1 << 20) for offset in range(0, end - 2000, 1000)]
    wire = Wire(peer.port)

    def load(seconds: float) -> float:
        total = 0
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            for frame in frames[:50]:
                wire.socket.sendall(frame)
                total += wire.skip_response()
        return total

    warm_up(load, window_s)
    cpu = cpu_seconds(peer.pid)
    began = time.perf_counter()
    gigabytes = load(window_s) / 1e9
    spent = time.perf_counter() - began
    cpu = cpu_seconds(peer.pid) - cpu
    wire.close()
    return [
        Figure("fetch, warm: rate", "MB/s", gigabytes * 1000 / spent, LARGER),
        Figure("fetch, warm: broker CPU", "s/GB", cpu / gigabytes, SMALLER),
    ]


SCENARIOS: dict[str, Callable[[Peer, float], list[Figure]]] = {
    "single-1": single_record(1),
    "single-8": single_record(8),
    "batched-1k": batched(1024),
    "fetch": fetch_warm,
}
