"""Idle connections and partitions, and connections that open and close.

CPU with idle things and without them is measured on one peer in turns (without, with, without), so
that a machine whose speed drifts favours neither. Each turn is compared with its two neighbours.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from bench.peers import BenchPeer
from bench.scenario import LARGER, SMALLER, Figure, Scenario, WindowResult, latencies, steady
from bench.wire import Wire, create_topic, produce_frame, produce_one, replay
from protocol.frames.message_codec import encode_request
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

IDLE_CONNECTIONS = 5_000
ACTIVE_CONNECTIONS = 100
IDLE_PARTITIONS = 1_000
ACTIVE_PARTITIONS = 8
CONNECTS_PER_S = 100
SPARE_DESCRIPTORS = 200
OPENED_AT_ONCE = 32
"""Connections that wait for accept: fewer than `socket.listen.backlog.size`, by default 50."""
DELETE_TIMEOUT_S = 60.0
TURNS = 2
RATIO_LIMIT = 1.2
IN_TURN = "CPU with / without"

API_VERSIONS_FRAME = encode_request(ApiVersionsRequest("bench", "1"), 3, 1, "bench")


@contextlib.contextmanager
def idle_connections(port: int, count: int) -> Iterator[None]:
    """Hold this many connections that sent one ApiVersions and then nothing."""
    allow_descriptors(count + SPARE_DESCRIPTORS)
    opened: list[socket.socket] = []
    try:
        while len(opened) < count:
            batch = [
                socket.create_connection(("127.0.0.1", port), timeout=60)
                for _ in range(min(OPENED_AT_ONCE, count - len(opened)))
            ]
            opened += batch
            for connection in batch:
                connection.sendall(API_VERSIONS_FRAME)
            for connection in batch:
                if not connection.recv(1 << 16):
                    raise ConnectionError("the broker refused a connection")
        yield
    finally:
        for connection in opened:
            connection.close()


def allow_descriptors(count: int) -> None:
    """Raise this process's limit of open files. Raises RuntimeError if the system refuses."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        raise RuntimeError(f"{count} open files are needed, ulimit -n allows {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def in_turns(
    peer: BenchPeer,
    load: Callable[[float], WindowResult],
    something_idle: Callable[[], contextlib.AbstractContextManager[None]],
    window_s: float,
) -> list[Figure]:
    """Return the CPU per request without and with idle things, and their ratio."""
    load(window_s / 2)
    without = [cpu_per_unit(peer, load, window_s / 3)]
    beside: list[float] = []
    for _ in range(TURNS):
        with something_idle():
            load(window_s / 6)  # work that their opening has left
            beside.append(cpu_per_unit(peer, load, window_s / 3))
        load(window_s / 6)
        without.append(cpu_per_unit(peer, load, window_s / 3))
    return [
        Figure("CPU without", "µs/req", median(without) * 1e6, SMALLER),
        Figure("CPU with", "µs/req", median(beside) * 1e6, SMALLER),
        Figure(IN_TURN, "×", to_neighbours(without, beside), SMALLER),
    ]


def to_neighbours(without: Sequence[float], beside: Sequence[float]) -> float:
    """Return the median ratio of each turn to the mean of the turn before and the turn after."""
    pairs = zip(without, without[1:], strict=False)
    return median(
        turn / ((before + after) / 2) for turn, (before, after) in zip(beside, pairs, strict=True)
    )


def cpu_per_unit(peer: BenchPeer, load: Callable[[float], WindowResult], seconds: float) -> float:
    """Return the seconds of broker CPU per unit of one period of load."""
    before = peer.cpu_seconds()
    units = load(seconds).units
    return (peer.cpu_seconds() - before) / units


def beside_connections(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure Produce of one record over 100 connections, with 5,000 idle ones and without."""
    create_topic(peer.port, "active", ACTIVE_PARTITIONS)
    produce_one(peer.port, "active")
    frames = [
        produce_frame("active", number % ACTIVE_PARTITIONS, 100)
        for number in range(ACTIVE_CONNECTIONS)
    ]

    def load(seconds: float) -> WindowResult:
        return WindowResult(replay(peer.port, frames, seconds)[0])

    return in_turns(peer, load, lambda: idle_connections(peer.port, IDLE_CONNECTIONS), window_s)


def beside_partitions(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure Produce requests of one record to 8 partitions, with 1,000 idle ones and without."""
    create_topic(peer.port, "active", ACTIVE_PARTITIONS)
    produce_one(peer.port, "active")
    frames = [produce_frame("active", index, 100) for index in range(ACTIVE_PARTITIONS)]

    def load(seconds: float) -> WindowResult:
        return WindowResult(replay(peer.port, frames, seconds)[0])

    return in_turns(peer, load, lambda: idle_partitions(peer.port, IDLE_PARTITIONS), window_s)


@contextlib.contextmanager
def idle_partitions(port: int, count: int) -> Iterator[None]:
    """Hold a topic of this many partitions that gets no requests."""
    create_topic(port, "idle", count)
    try:
        yield
    finally:
        delete_topic(port, "idle")


def delete_topic(port: int, name: str) -> None:
    """Delete a topic, and wait until metadata does not list it."""
    wire = Wire(port)
    wire.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=60_000), 4)
    metadata_request = MetadataRequest(
        [MetadataRequestTopic(name=name)], allow_auto_topic_creation=False
    )
    deadline = time.monotonic() + DELETE_TIMEOUT_S
    while not wire.ask(metadata_request, 8).topics[0].error_code:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{name} is not deleted after {DELETE_TIMEOUT_S:.0f} s")
        time.sleep(0.02)
    wire.close()


def connects(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure 100 times a second: connect, ApiVersions, Metadata of one topic, close."""
    create_topic(peer.port, "asked-for", ACTIVE_PARTITIONS)
    metadata_request = MetadataRequest(
        [MetadataRequestTopic(name="asked-for")], allow_auto_topic_creation=False
    )
    metadata_frame = encode_request(metadata_request, 8, 2, "bench")

    def load(seconds: float) -> WindowResult:
        """Connect at CONNECTS_PER_S; a trip lasts from the connect to the Metadata response."""
        trips = []
        began = time.perf_counter()
        for number in range(max(1, int(seconds * CONNECTS_PER_S))):
            pause = began + number / CONNECTS_PER_S - time.perf_counter()
            if pause > 0:
                time.sleep(pause)
            started = time.perf_counter()
            wire = Wire(peer.port)
            for frame in (API_VERSIONS_FRAME, metadata_frame):
                wire.socket.sendall(frame)
                wire.skip_response()
            trips.append(time.perf_counter() - started)
            wire.close()
        return WindowResult(len(trips), trips)

    measured = steady(peer, load, window_s)
    return [
        Figure("connects", "1/s", measured.rate, LARGER),
        Figure("CPU per connect", "µs", measured.cpu_per_unit * 1e6, SMALLER),
        *latencies(measured.trips),
    ]


SCENARIOS = [
    Scenario(
        name="idle-connections",
        group="idle",
        title=f"{ACTIVE_CONNECTIONS} active connections beside {IDLE_CONNECTIONS:,} idle ones",
        client="replayed frames",
        connections=IDLE_CONNECTIONS + ACTIVE_CONNECTIONS,
        partitions=ACTIVE_PARTITIONS,
        run=beside_connections,
        limits={IN_TURN: RATIO_LIMIT},
    ),
    Scenario(
        name="idle-partitions",
        group="idle",
        title=f"{ACTIVE_PARTITIONS} active partitions beside {IDLE_PARTITIONS:,} idle ones",
        client="replayed frames",
        connections=ACTIVE_PARTITIONS,
        partitions=IDLE_PARTITIONS + ACTIVE_PARTITIONS,
        run=beside_partitions,
        limits={IN_TURN: RATIO_LIMIT},
    ),
    Scenario(
        name="connects",
        group="idle",
        title=f"{CONNECTS_PER_S} connects a second, two requests each",
        client="replayed frames",
        connections=1,
        partitions=ACTIVE_PARTITIONS,
        run=connects,
    ),
]
