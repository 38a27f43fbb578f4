"""Fetch on one node: old data from the page cache and from the disk, and the tail of a log."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import confluent_kafka
from confluent_kafka import Consumer, Producer, TopicPartition

from bench.peers import BenchPeer
from bench.replayer import ReplayedConnection, replay_targets
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    RATE,
    SMALLER,
    Figure,
    Load,
    Run,
    Scenario,
    SteadyWindows,
    WindowResult,
    steady,
)
from bench.scenarios import REPLAYER
from bench.wire import (
    Wire,
    batch_frame,
    batch_of,
    create_topic,
    fetch_frame,
    produce_frame,
    produce_one,
    wait_for_end,
)

TOPIC = "fetched"
BATCH_RECORDS = 1_000
VALUE_BYTES = 1_024
FETCH_BYTES = 1 << 20
WARM_BATCHES = 200
COLD_BATCHES = 1_000
FILL_S = 60.0
CONFLUENT = f"confluent-kafka {confluent_kafka.__version__}"
COLD_SHARE = 0.9  # the least share of fetched bytes that must come from the disk
PACED_PER_S = 1_000


def fill(peer: BenchPeer, batches: int) -> list[bytes]:
    """Produce this many batches of 1 MB, and return a Fetch of each."""
    create_topic(peer.port, TOPIC)
    produce_one(peer.port, TOPIC)
    frame = batch_frame(TOPIC, 0, batch_of(BATCH_RECORDS, VALUE_BYTES))
    replay_targets([ReplayedConnection(peer.port, [frame])], FILL_S, depth=2, most=batches)
    wait_for_end(peer.port, TOPIC, 0, 1 + batches * BATCH_RECORDS)
    # Each Fetch begins at a batch, and its limit is the size of one batch.
    starts = (1 + number * BATCH_RECORDS for number in range(batches))
    return [fetch_frame(TOPIC, 0, offset, FETCH_BYTES) for offset in starts]


def fetch_warm(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure fetches of data in the page cache, again and again."""
    return fetch_figures(steady(peer, warm_load(peer), window_s))


def warm_load(peer: BenchPeer) -> Load:
    """Return the load of `fetch_warm`."""
    target = ReplayedConnection(peer.port, fill(peer, WARM_BATCHES))

    def load(seconds: float) -> WindowResult:
        done = replay_targets([target], seconds)
        check_fetched(done.received_bytes, done.answers)
        return WindowResult(done.received_bytes, done.trips, done.seconds)

    return load


def fetch_cold(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure one pass over a gigabyte that was evicted from the page cache.

    The length of the window is ignored.
    """
    target = ReplayedConnection(peer.port, fill(peer, COLD_BATCHES))

    def load(_seconds: float) -> WindowResult:
        """Evict the topic from the page cache and read it.

        Raises RuntimeError if too little came from the disk.
        """
        evict(peer.folders)
        before = read_from_disk(peer.pids)
        done = replay_targets([target], FILL_S, most=COLD_BATCHES)
        check_fetched(done.received_bytes, done.answers)
        share = (read_from_disk(peer.pids) - before) / done.received_bytes
        if share < COLD_SHARE:
            raise RuntimeError(f"only {share:.0%} of what was fetched came from the disk")
        return WindowResult(done.received_bytes, done.trips, done.seconds)

    return fetch_figures(steady(peer, load, window_s))


def check_fetched(received_bytes: int, answers: int) -> None:
    """Raise RuntimeError if answers to `fill`'s requests have fewer bytes than their batches."""
    if received_bytes < answers * BATCH_RECORDS * VALUE_BYTES:
        raise RuntimeError("a fetch was answered with less than its batch")


def fetch_figures(measured: SteadyWindows) -> list[Figure]:
    """Return the figures of a load whose unit is a byte."""
    return [
        Figure(RATE, "MB/s", measured.rate / 1e6, LARGER),
        Figure(BROKER_CPU, "s/GB", measured.cpu_per_unit * 1e9, SMALLER),
        *measured.latencies("ms"),
        measured.client_load,
    ]


def evict(folders: Iterable[Path]) -> None:
    """Write dirty pages, and evict all data below these folders from the page cache."""
    if not folders:
        raise RuntimeError("the page cache of somebody else's broker is not ours to empty")
    for path in (path for folder in folders for path in folder.rglob("*.log")):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def read_from_disk(pids: Iterable[int]) -> int:
    """Return the bytes that these processes have read from the disk so far."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/io").read_text().splitlines():
            if line.startswith("read_bytes:"):
                total += int(line.split()[1])
    return total


def tail(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure the time from a record's send to its arrival by a waiting Fetch, one at a time."""
    create_topic(peer.port, TOPIC)
    produce_one(peer.port, TOPIC)
    producer, consumer = Wire(peer.port), Wire(peer.port)
    record = produce_frame(TOPIC, 0, 100)
    offset = 1

    def load(seconds: float) -> WindowResult:
        """Measure, for each record sent, the time until the waiting consumer has it."""
        nonlocal offset
        clock = time.perf_counter
        trips: list[float] = []
        end = clock() + seconds
        while clock() < end:
            consumer.socket.sendall(fetch_frame(TOPIC, 0, offset, FETCH_BYTES, wait_ms=30_000))
            began = clock()
            producer.socket.sendall(record)
            consumer.skip_response()
            trips.append(clock() - began)
            producer.skip_response()
            offset += 1
        wait_for_end(peer.port, TOPIC, 0, offset)
        return WindowResult(len(trips), trips)

    measured = steady(peer, load, window_s)
    producer.close()
    consumer.close()
    return _tail_figures(measured)


def _tail_figures(measured: SteadyWindows) -> list[Figure]:
    return [
        Figure(RATE, "rec/s", measured.rate, LARGER),
        Figure(BROKER_CPU, "µs/rec", measured.cpu_per_unit * 1e6, SMALLER),
        *measured.latencies("µs"),
        measured.client_load,
    ]


def tail_by_confluent(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure the time from `produce` to `consume` of a thousand records a second, linger.ms=0."""
    create_topic(peer.port, TOPIC)
    produce_one(peer.port, TOPIC)
    producer = Producer({"bootstrap.servers": peer.bootstrap, "linger.ms": 0, "acks": "1"})
    consumer = Consumer({"bootstrap.servers": peer.bootstrap, "group.id": "nobody"})
    consumer.assign([TopicPartition(TOPIC, 0, 1)])

    def load(seconds: float) -> WindowResult:
        """Measure the time from a record's sending to its consumption.

        Raises RuntimeError if a record does not arrive.
        """
        count = int(seconds * PACED_PER_S)
        sender = threading.Thread(target=_send_paced, args=(producer, count))
        sender.start()
        trips: list[float] = []
        deadline = time.monotonic() + seconds + FILL_S
        while len(trips) < count and time.monotonic() < deadline:
            # Not `consume`, which waits until it has the whole number of messages.
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                sent = int((message.value() or b"0")[:20])
                trips.append((time.perf_counter_ns() - sent) / 1e9)
        sender.join()
        if len(trips) < count:
            raise RuntimeError(f"{len(trips)} of {count} records arrived")
        return WindowResult(count, trips)

    try:
        return _tail_figures(steady(peer, load, window_s))
    finally:
        consumer.close()


def _send_paced(producer: Producer, count: int) -> None:
    """Send records at PACED_PER_S, each with the time of its sending; wait for their delivery."""
    began = time.perf_counter()
    filling = b"v" * 80
    for number in range(count):
        time.sleep(max(0.0, began + number / PACED_PER_S - time.perf_counter()))
        producer.produce(TOPIC, b"%020d" % time.perf_counter_ns() + filling)
        producer.poll(0)
    producer.flush(FILL_S)


def _scenario(
    name: str, title: str, client: str, connections: int, run: Run, goals: dict[str, float]
) -> Scenario:
    return Scenario(
        name, "fetch", title, client, connections, 1, run, goals=goals, usual=bool(goals)
    )


SCENARIOS = [
    _scenario(
        "fetch-warm",
        "fetch of 1 MiB from the page cache",
        REPLAYER,
        1,
        fetch_warm,
        {BROKER_CPU: 0.4},
    ),
    _scenario("fetch-cold", "fetch of 1 MiB from the disk", REPLAYER, 1, fetch_cold, {}),
    _scenario("tail", "end to end, one 100-byte record at a time", REPLAYER, 2, tail, {}),
    _scenario(
        "tail-confluent",
        f"end to end, {PACED_PER_S:,} 100-byte records a second",
        CONFLUENT,
        2,
        tail_by_confluent,
        {},
    ),
]
