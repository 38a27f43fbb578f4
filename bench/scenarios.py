"""Produce and fetch on one node: the main rows of the report."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from bench.batches import CLIENT as CONFLUENT
from bench.batches import BatchProducer
from bench.peers import Peer
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    MEMORY,
    RATE,
    SMALLER,
    Done,
    Figure,
    Measured,
    Run,
    Scenario,
    steady,
)
from bench.wire import (
    Wire,
    create_topic,
    end_offset,
    fetch_frame,
    produce_frame,
    produce_one,
    replay,
)

REPLAYER = "replayer"
VALUE_BYTES = 100


def single_record(connections: int) -> Run:
    """Produce requests of one 100-byte record, acks=1, one under way a connection."""

    def run(peer: Peer, window_s: float) -> list[Figure]:
        topic = f"single-{connections}"
        create_topic(peer.port, topic, connections)
        produce_one(peer.port, topic)
        frames = [produce_frame(topic, index, VALUE_BYTES) for index in range(connections)]

        def load(seconds: float) -> Done:
            return Done(*replay(peer.port, frames, seconds))

        measured = steady(peer, load, window_s)
        return [
            Figure(RATE, "req/s", measured.rate, LARGER),
            Figure(BROKER_CPU, "µs/req", measured.cpu_per_unit * 1e6, SMALLER),
            *measured.latencies("µs"),
            measured.client_load,
        ]

    return run


def batched(value_bytes: int, acks: str) -> Run:
    """librdkafka, batches of up to 1 MB, one partition."""

    def run(peer: Peer, window_s: float) -> list[Figure]:
        producer = BatchProducer(peer.bootstrap, acks=acks)
        lots = [[{"value": b"v" * value_bytes}] * 500]
        topics = fresh_topics(peer, f"batched-{value_bytes}")

        def load(seconds: float) -> Done:
            topic = next(topics)
            producer.load(topic, lots, seconds)
            return Done(end_offset(peer.port, topic, 0))

        return batch_figures(steady(peer, load, window_s), value_bytes)

    return run


def fresh_topics(peer: Peer, name: str) -> Iterator[str]:
    """A new topic of one partition for each window, so that a window's data can go after it."""
    for number in itertools.count():
        topic = f"{name}-{number}"
        create_topic(peer.port, topic)
        yield topic


def batch_figures(measured: Measured, value_bytes: int) -> list[Figure]:
    """MB/s, messages a second and CPU for a GB of values; a unit of the load is a message."""
    gigabytes = measured.units * value_bytes / 1e9
    return [
        Figure(RATE, "MB/s", gigabytes * 1e3 / measured.seconds, LARGER),
        Figure("messages", "msg/s", measured.rate, LARGER),
        Figure(BROKER_CPU, "s/GB", measured.cpu_s / gigabytes, SMALLER),
        measured.client_load,
    ]


def fetch_warm(peer: Peer, window_s: float) -> list[Figure]:
    """Fetches of 1 MiB of what is in the page cache, over and over."""
    topic = "fetched"
    create_topic(peer.port, topic)
    BatchProducer(peer.bootstrap).load(topic, [[{"value": b"v" * 1024}] * 500], 60.0, 200_000)
    end = end_offset(peer.port, topic, 0)
    frames = [fetch_frame(topic, 0, offset, 1 << 20) for offset in range(0, end - 2000, 1000)]
    wire = Wire(peer.port)

    def load(seconds: float) -> Done:
        total = 0
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            for frame in frames[:50]:
                wire.socket.sendall(frame)
                total += wire.skip_response()
        return Done(total)

    measured = steady(peer, load, window_s)
    wire.close()
    return [
        Figure(RATE, "MB/s", measured.rate / 1e6, LARGER),
        Figure(BROKER_CPU, "s/GB", measured.cpu_per_unit * 1e9, SMALLER),
        measured.client_load,
    ]


SCENARIOS = [
    Scenario(
        f"single-{connections}",
        "produce",
        f"one 100-byte record a request, {connections} connections",
        REPLAYER,
        connections,
        connections,
        single_record(connections),
        goals=goals,
        limits={BROKER_CPU: 35.0} if goals else {},
        usual=True,
    )
    for connections, goals in (
        (1, {RATE: 1.2, BROKER_CPU: 0.9, "p50": 0.8, "p99": 1.0}),
        (8, {RATE: 1.2, BROKER_CPU: 0.9}),
        (64, {}),
    )
]
SCENARIOS += [
    Scenario(
        "batched-1k",
        "produce",
        "batched produce, 1 KiB, acks=1",
        CONFLUENT,
        1,
        1,
        batched(1024, "1"),
        goals={RATE: 1.5, BROKER_CPU: 0.6, MEMORY: 0.15},
        usual=True,
    ),
    Scenario(
        "fetch-warm",
        "fetch",
        "fetch of 1 MiB, warm",
        REPLAYER,
        1,
        1,
        fetch_warm,
        goals={BROKER_CPU: 0.4},
        usual=True,
    ),
]
