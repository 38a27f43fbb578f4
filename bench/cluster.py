"""Three nodes on one machine: what replication costs, beside three nodes of Apache Kafka.

A cluster peer is three processes with both roles each, started together on formatted, empty folders
(replication factor 3, min.insync.replicas 2, otherwise the defaults of each). Kafka has the JVM
options of its own start script with a heap of 1 GB a node. CPU and memory are sums over the nodes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Producer

from bench.peers import cpu_seconds, resident_mib
from bench.scenarios import LARGER, QUEUED_MAX, SMALLER, Figure, warm_up
from bench.wire import Wire, create_topic, end_offset, leader_ports, produce_frame, replay
from protocol.messages.metadata import MetadataRequest
from tests.apache_kafka import JVM_OPTIONS
from tests.cluster_processes import KAFKA, OTTLA, ClusterProcesses

NODES = 3
IDLE_PARTITIONS = 1_000
IDLE_SETTLE_S = 20.0

_PROPERTIES = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
}


class ClusterPeer:
    """Three nodes of one kind, serving."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._cluster = ClusterProcesses(
            NODES, peer=name, properties=_PROPERTIES, heap="1G", jvm_options=JVM_OPTIONS
        )
        if name == KAFKA:
            self._cluster.format()  # its tool is a JVM of its own; `ottla` formats in 0.2 s
        began = time.monotonic()
        self._cluster.start()
        for port in self.ports:
            _wait_until_whole(port)
        self.start_s = time.monotonic() - began

    @property
    def ports(self) -> list[int]:
        """Of each node, for clients."""
        return [node.client_port for node in self._cluster.brokers]

    @property
    def bootstrap(self) -> str:
        """All nodes."""
        return self._cluster.bootstrap

    @property
    def pids(self) -> list[int]:
        """Of each node."""
        return [node.process.pid for node in self._cluster.brokers if node.process is not None]

    def cpu_seconds(self) -> float:
        """Of all nodes."""
        return sum(map(cpu_seconds, self.pids))

    def resident_mib(self) -> float:
        """Of all nodes."""
        return sum(map(resident_mib, self.pids))

    def stop(self) -> None:
        """Stop all nodes and remove their data."""
        self._cluster.close()


def _wait_until_whole(port: int) -> None:
    """Until this node names all three as serving."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        wire = Wire(port)
        response = wire.ask(MetadataRequest([]), 8)
        wire.close()
        if len(response.brokers) == NODES:
            return
        time.sleep(0.01)
    raise RuntimeError(f"the node on port {port} does not see {NODES} brokers")


def replicated_batches(peer: ClusterPeer, window_s: float) -> list[Figure]:
    """librdkafka, 1 KiB values in batches, acks=all, one partition led by each node."""
    topic = "replicated"
    create_topic(peer.ports[0], topic, NODES, NODES)
    failed: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "acks": "all",
            "linger.ms": 5,
            "batch.size": 1_000_000,
            "batch.num.messages": 100_000,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 262_144,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _: failed.append(error) if error else None,
        }
    )
    many = [[{"value": b"v" * 1024, "partition": index}] * 300 for index in range(NODES)]

    def load(seconds: float) -> float:
        end = time.monotonic() + seconds
        sent = 0
        while time.monotonic() < end:
            if len(producer) > QUEUED_MAX:
                producer.poll(0.001)
                continue
            for messages in many:
                sent += producer.produce_batch(topic, messages)
            producer.poll(0)
        producer.flush()
        return sent

    def written() -> int:
        ports = leader_ports(peer.ports[0], topic)
        return sum(end_offset(port, topic, index) for index, port in enumerate(ports))

    warm_up(load, window_s)
    cpu, before = peer.cpu_seconds(), written()
    began = time.perf_counter()
    load(window_s)
    spent = time.perf_counter() - began
    cpu, messages = peer.cpu_seconds() - cpu, written() - before
    if failed:
        raise RuntimeError(f"{len(failed)} deliveries failed: {failed[0]}")
    megabytes = messages * 1024 / 1e6
    label = "RF 3, batched 1 KiB, acks=all"
    return [
        Figure(f"{label}: rate", "MB/s", megabytes / spent, LARGER),
        Figure(f"{label}: CPU of all", "s/GB", cpu / megabytes * 1000, SMALLER),
    ]


def replicated_round_trip(peer: ClusterPeer, window_s: float) -> list[Figure]:
    """Produce requests of one 1 KiB record, acks=all, one under way."""
    topic = "trips"
    create_topic(peer.ports[0], topic, 1, NODES)
    (port,) = leader_ports(peer.ports[0], topic)
    frame = produce_frame(topic, 0, 1024, acks=-1)
    trips: list[float] = []

    def load(seconds: float) -> float:
        nonlocal trips
        answers, trips = replay(port, [frame], seconds)
        return answers

    before = end_offset(port, topic, 0)
    sent = 0.0

    def counted(seconds: float) -> float:
        nonlocal sent
        answers = load(seconds)
        sent += answers
        return answers

    warm_up(counted, window_s)
    counted(window_s)
    if end_offset(port, topic, 0) - before < sent:
        raise RuntimeError("some of the measured requests were refused")
    trips.sort()
    label = "RF 3, one record, acks=all"
    return [
        Figure(f"{label}: p50", "ms", trips[len(trips) // 2] * 1e3, SMALLER),
        Figure(f"{label}: p99", "ms", trips[len(trips) * 99 // 100] * 1e3, SMALLER),
    ]


def idle_partitions(peer: ClusterPeer, window_s: float) -> list[Figure]:
    """Nobody asks for anything: what a thousand partitions of three replicas cost by themselves."""
    create_topic(peer.ports[0], "idle", IDLE_PARTITIONS, NODES)
    time.sleep(IDLE_SETTLE_S)
    cpu = peer.cpu_seconds()
    time.sleep(2 * window_s)
    spent = (peer.cpu_seconds() - cpu) / (2 * window_s) / NODES * 100
    return [Figure(f"{IDLE_PARTITIONS} partitions, idle: CPU a node", "% core", spent, SMALLER)]


CLUSTER_SCENARIOS: dict[str, Callable[[ClusterPeer, float], list[Figure]]] = {
    "rf3-batched": replicated_batches,
    "rf3-trips": replicated_round_trip,
    "rf3-idle": idle_partitions,
}
CLUSTER_PEERS: dict[str, Callable[[], ClusterPeer]] = {
    OTTLA: lambda: ClusterPeer(OTTLA),
    KAFKA: lambda: ClusterPeer(KAFKA),
}
