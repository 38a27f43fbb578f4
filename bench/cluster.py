"""The cost of replication: three nodes on one machine, beside three nodes of Apache Kafka.

Replication factor 3, min.insync.replicas 2, otherwise the defaults of each broker. Kafka has the
JVM options of its own start script with a heap of 1 GB a node. CPU and memory are sums over nodes.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from bench.batches import CLIENT as LIBRDKAFKA
from bench.batches import BatchProducer
from bench.librdkafka import Lot
from bench.peers import NODES, BenchPeer
from bench.replayer import ReplayedConnection, replay_targets
from bench.scenario import (
    BROKER_CPU,
    LARGER,
    RATE,
    SMALLER,
    Figure,
    Scenario,
    SteadyWindows,
    WindowResult,
    steady,
)
from bench.scenarios import BATCH_BYTES, DEPTH, REPLAYER
from bench.wire import (
    Wire,
    batch_frame,
    batch_of,
    create_topic,
    end_offset,
    leader_ports,
    produce_frame,
    produce_one,
    replay,
)

IDLE_PARTITIONS = 1_000
IDLE_SETTLE_S = 20.0
VALUE_BYTES = 1024
BATCH_RECORDS = BATCH_BYTES // (VALUE_BYTES + 12)
LOT = 300
PACED_PER_S = 34  # for each node: 100 MB/s in all, a third of the published machine's maximum
PACED_WINDOWS = 6  # long enough that the kernel begins to write back by itself


def replicated_batches(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure librdkafka with batches of 1 KiB values, acks=all, one partition led by each node."""
    topic = "replicated"
    create_topic(peer.port, topic, NODES, NODES)
    lots = [Lot([b"v" * VALUE_BYTES] * LOT, index) for index in range(NODES)]

    def load(seconds: float) -> WindowResult:
        before = _records_written(peer, topic)
        producer.load(topic, lots, seconds)
        return WindowResult(_records_written(peer, topic) - before)

    with BatchProducer(peer.bootstrap, acks="all") as producer:
        return _batch_figures(steady(peer, load, window_s))


def replayed_batches(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure encoded requests of one batch of up to 1 MB of 1 KiB values, acks=all.

    Each node leads a partition, which has one connection.
    """
    topic = "replayed"
    targets = _encoded(peer, topic)

    def load(seconds: float) -> WindowResult:
        before = _records_written(peer, topic)
        done = replay_targets(targets, seconds, depth=DEPTH)
        return WindowResult(
            _all_written(peer, topic, before, done.answers), done.trips, done.seconds
        )

    measured = steady(peer, load, window_s)
    return [*_batch_figures(measured), *measured.latencies("ms")]


def paced_batches(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure the latency of the same batches at a moderate pace, one connection each.

    A latency begins when the batch is due, so that batches delayed by a slow one count fully.
    """
    topic = "paced"
    targets = _encoded(peer, topic)

    def produce(index: int, until: float) -> list[float]:
        """Send batches at a fixed rate until `until`, and return the trips in seconds.

        A trip begins when the batch was due.
        """
        wire = Wire(targets[index].port)
        (frame,) = targets[index].frames
        trips: list[float] = []
        due = time.perf_counter() + index / NODES / PACED_PER_S
        while due < until:
            time.sleep(max(0.0, due - time.perf_counter()))
            wire.socket.sendall(frame)
            wire.skip_response()
            trips.append(time.perf_counter() - due)
            due += 1 / PACED_PER_S
        wire.close()
        return trips

    def load(seconds: float) -> WindowResult:
        """Produce to all nodes at once. Raises RuntimeError unless all records were written."""
        before = _records_written(peer, topic)
        until = time.perf_counter() + seconds
        with ThreadPoolExecutor(NODES) as threads:
            by_node = threads.map(produce, range(NODES), [until] * NODES)
            trips = [trip for node_trips in by_node for trip in node_trips]
        return WindowResult(_all_written(peer, topic, before, len(trips)), trips)

    measured = steady(peer, load, PACED_WINDOWS * window_s)
    return [*_batch_figures(measured), *measured.latencies("ms")]


def _encoded(peer: BenchPeer, topic: str) -> list[ReplayedConnection]:
    """Make a topic. Return a request of one batch for the partition that each node leads."""
    create_topic(peer.port, topic, NODES, NODES)
    produce_one(peer.port, topic, NODES)
    batch = batch_of(BATCH_RECORDS, VALUE_BYTES)
    return [
        ReplayedConnection(port, [batch_frame(topic, index, batch, acks=-1)])
        for index, port in enumerate(leader_ports(peer.port, topic))
    ]


def _all_written(peer: BenchPeer, topic: str, before: int, batches: int) -> int:
    """Return the number of records. Raises RuntimeError if some are not in the logs."""
    records = batches * BATCH_RECORDS
    if _records_written(peer, topic) - before != records:
        raise RuntimeError("some of the measured requests were refused")
    return records


def _records_written(peer: BenchPeer, topic: str) -> int:
    """Return the end offsets of all partitions, added up."""
    ports = leader_ports(peer.port, topic)
    return sum(end_offset(port, topic, index) for index, port in enumerate(ports))


def _batch_figures(measured: SteadyWindows) -> list[Figure]:
    gigabytes = measured.units * VALUE_BYTES / 1e9
    return [
        Figure(RATE, "MB/s", gigabytes * 1e3 / measured.seconds, LARGER),
        Figure(BROKER_CPU, "s/GB", measured.cpu_s / gigabytes, SMALLER),
        measured.client_load,
    ]


def replicated_round_trip(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure Produce requests of one 1 KiB record, acks=all, one in flight."""
    topic = "trips"
    create_topic(peer.port, topic, 1, NODES)
    produce_one(peer.port, topic)
    (port,) = leader_ports(peer.port, topic)
    frame = produce_frame(topic, 0, VALUE_BYTES, acks=-1)

    def load(seconds: float) -> WindowResult:
        """Replay the request. Raises RuntimeError if fewer records were written than answered."""
        before = end_offset(port, topic, 0)
        answers, trips = replay(port, [frame], seconds)
        if end_offset(port, topic, 0) - before < answers:
            raise RuntimeError("some of the measured requests were refused")
        return WindowResult(answers, trips)

    measured = steady(peer, load, window_s)
    return [
        Figure(RATE, "req/s", measured.rate, LARGER),
        Figure(BROKER_CPU, "µs/req", measured.cpu_per_unit * 1e6, SMALLER),
        *measured.latencies("ms"),
        measured.client_load,
    ]


def idle_partitions(peer: BenchPeer, window_s: float) -> list[Figure]:
    """Measure the CPU of a thousand partitions of three replicas without any requests."""
    create_topic(peer.port, "idle", IDLE_PARTITIONS, NODES)
    time.sleep(IDLE_SETTLE_S)
    cpu = peer.cpu_seconds()
    time.sleep(2 * window_s)
    spent = (peer.cpu_seconds() - cpu) / (2 * window_s) / NODES * 100
    return [Figure("CPU of a node", "% core", spent, SMALLER)]


SCENARIOS = [
    Scenario(
        "rf3-batched",
        "rf3",
        "RF 3, batched produce, 1 KiB, acks=all",
        LIBRDKAFKA,
        NODES,
        NODES,
        replicated_batches,
        nodes=NODES,
        goals={RATE: 2.0},
    ),
    Scenario(
        "rf3-replayed",
        "rf3",
        "RF 3, batched produce, 1 KiB, acks=all",
        REPLAYER,
        NODES,
        NODES,
        replayed_batches,
        nodes=NODES,
        goals={RATE: 2.0},
    ),
    Scenario(
        "rf3-paced",
        "rf3",
        "RF 3, 100 MB/s of batches, 1 KiB, acks=all",
        "Python",
        NODES,
        NODES,
        paced_batches,
        nodes=NODES,
    ),
    Scenario(
        "rf3-trips",
        "rf3",
        "RF 3, one 1 KiB record a request, acks=all",
        REPLAYER,
        1,
        1,
        replicated_round_trip,
        nodes=NODES,
        goals={"p50": 0.7},
    ),
    Scenario(
        "rf3-idle",
        "rf3",
        f"RF 3, {IDLE_PARTITIONS} partitions that nobody asks for",
        "none",
        0,
        IDLE_PARTITIONS,
        idle_partitions,
        nodes=NODES,
    ),
]
