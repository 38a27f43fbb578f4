"""The measured brokers: processes that the bench starts on new data, and removes.

A peer has addresses, CPU time and memory, read from /proc (Linux only), and shows whether it still
lives. `start_peer` makes a peer from its name: `ottla`, `ottla@CHECKOUT` (another checkout of this
project, for A/B), `kafka`, or `NAME=HOST:PORT/PID` for a broker that the bench does not start.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.secured import Secured
from bench.wire import Wire, create_topic, produce_one
from broker.config.single_node_profile import SINGLE_NODE_PROFILE
from protocol.messages.metadata import MetadataRequest
from tests.tools.apache_kafka import JVM_OPTIONS, ApacheKafka, answers_api_versions
from tests.tools.cluster_processes import KAFKA, OTTLA, ClusterProcesses, Program
from tests.tools.ports import Ports

ROOT = Path(__file__).resolve().parent.parent
HEAP = "1G"
NODES = 3
START_TIMEOUT_S = 180.0
LOG_LINES = 3

# Deleted data is removed at once, not after a minute: scenarios share one disk.
# No pause before a group's first rebalance: it would hide the coordinator's own time.
# The least intervals allow groups with short ones.
PROPERTIES = {
    "log.segment.delete.delay.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "1",
    "group.consumer.min.session.timeout.ms": "1",
}
CLUSTER_PROPERTIES = {
    **PROPERTIES,
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
}
# The keys that `ottla cluster` sets to other values than Kafka's defaults, as `ottla serve` does
# for a single node. Kafka's own server.properties repeats the defaults.
OTTLA_CLUSTER_PROPERTIES = {
    key: SINGLE_NODE_PROFILE[key]
    for key in ("socket.send.buffer.bytes", "socket.receive.buffer.bytes")
}

_CPUCLOCK_SCHED = 2


def nothing() -> None:
    """Prepare nothing, which most machines need before a window of load."""


class BenchPeer:
    """A running broker, or a cluster of three. CPU and memory are sums over its processes.

    `ports`    ports of 127.0.0.1, one for each node
    `folders`  the data folders, for the scenarios that evict pages
    `pids`     process ids; empty if they are not known
    `logs`     log files, one for each node; kept if a load on the peer failed
    `start_s`  time from the command to the first acknowledged record (cluster: to all nodes seen)
    `idle_mib` memory after the start
    `flags`    command and options of the start, for the report
    `unsteady` the number of loads on it that did not become steady
    `is_jvm`   whether it compiles while it runs, so that many requests must warm it up
    `prepare`  prepares the machine for a window of load
    `secured`  its listeners with TLS and SASL, if it was started with them
    `metrics_port`  the port of its metrics, if it was started with one
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.ports: list[int] = []
        self.pids: list[int] = []
        self.folders: list[Path] = []
        self.logs: list[Path] = []
        self.start_s = float("nan")
        self.idle_mib = float("nan")
        self.flags = ""
        self.is_jvm = False
        self.unsteady = 0
        self.prepare: Callable[[], object] = nothing
        self.secured: Secured | None = None
        self.metrics_port: int | None = None
        self._held = Ports()

    @property
    def nodes(self) -> int:
        return len(self.ports)

    @property
    def port(self) -> int:
        """The port of the first node."""
        return self.ports[0]

    @property
    def pid(self) -> int:
        """The process id of the first node."""
        return self.pids[0]

    @property
    def bootstrap(self) -> str:
        """The `host:port` of all nodes."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def cpu_seconds(self) -> float:
        """Return the user and system time so far; NaN if no process is known."""
        return sum(map(cpu_seconds, self.pids)) if self.pids else float("nan")

    def resident_mib(self) -> float:
        """Return the resident memory in MiB; NaN if no process is known."""
        return sum(map(resident_mib, self.pids)) if self.pids else float("nan")

    def death(self) -> str | None:
        """Return None while the peer lives, else how it ended, with its log's end, on one line."""
        return None

    def stop(self) -> None:
        """End its processes, remove its data and give its ports back."""
        self._held.close()
        if self.secured is not None:
            self.secured.close()


class OttlaPeer(BenchPeer):
    """A peer that runs `ottla serve` of one checkout, on an empty folder."""

    def __init__(
        self, name: str, checkout: Path, secured: Secured | None = None, metrics: bool = False
    ) -> None:
        super().__init__(name)
        port, controller_port = self._held.take(), self._held.take()
        self._folder = Path(tempfile.mkdtemp(prefix="ottla-bench-"))
        self._log = self._folder / "broker.log"
        properties = {
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            "log.dirs": str(self._folder / "data"),
            **PROPERTIES,
        }
        if secured is not None:
            properties.update(secured.properties(properties["listeners"]))
        if metrics:
            self.metrics_port = self._held.take()
            properties["ottla.metrics.port"] = str(self.metrics_port)
        overrides = [word for key, value in properties.items() for word in _override(key, value)]
        self.flags = "ottla serve"
        began = time.monotonic()
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(checkout / "ottla" / "__main__.py"), "serve", *overrides],
                cwd=checkout,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.ports, self.pids = [port], [self._process.pid]
        self.folders, self.logs = [self._folder / "data"], [self._log]
        try:
            self._wait_until_serving(began)
            first_record(port)
        except BaseException:
            self.stop()
            raise
        self.start_s = time.monotonic() - began

    def _wait_until_serving(self, began: float) -> None:
        """Wait until the broker answers.

        Raises RuntimeError if it dies or takes longer than START_TIMEOUT_S from `began`.
        """
        while not answers_api_versions(self.port):
            if (death := self.death()) is not None:
                raise RuntimeError(f"{self.name} {death}")
            if time.monotonic() > began + START_TIMEOUT_S:
                raise RuntimeError(f"{self.name} does not answer: {last_lines(self._log)}")
            time.sleep(0.005)

    def death(self) -> str | None:
        code = self._process.poll()
        return None if code is None else f"ended with code {code}: {last_lines(self._log)}"

    def stop(self) -> None:
        self._process.kill()  # no clean stop, because its data is removed
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        super().stop()


class KafkaPeer(BenchPeer):
    """A peer that runs Apache Kafka with the JVM options and heap of its own start script."""

    def __init__(self, name: str, secured: Secured | None = None) -> None:
        super().__init__(name)
        port, controller_port = self._held.take(), self._held.take()
        properties = dict(PROPERTIES)
        if secured is not None:
            listeners = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}"
            properties |= secured.properties(listeners)
            properties["advertised.listeners"] = properties["listeners"]
        self._kafka = ApacheKafka(
            port=port,
            controller_port=controller_port,
            properties=properties,
            heap=HEAP,
            jvm_options=JVM_OPTIONS,
            start_timeout_s=START_TIMEOUT_S,
        )
        self.flags, self.is_jvm = _jvm_flags(), True
        try:
            self._kafka.format()  # the tool is another JVM, which does not count for the start
            began = time.monotonic()
            self._kafka.start()
            self.ports, self.pids = [self._kafka.port], [self._kafka.pid]
            first_record(self.port)
            self.start_s = time.monotonic() - began
        except BaseException:
            self.stop()
            raise
        self.folders, self.logs = [self._kafka.data_dir], [self._kafka.log_file]

    def death(self) -> str | None:
        if is_alive(self.pid):
            return None
        return f"ended: {last_lines(self._kafka.log_file)}"

    def stop(self) -> None:
        self._kafka.kill()
        self._kafka.close()
        super().stop()


class ClusterPeer(BenchPeer):
    """A cluster of three nodes of one kind with both roles each: RF 3, min.insync.replicas 2."""

    def __init__(self, name: str, kind: str, checkout: Path) -> None:
        super().__init__(name)
        properties = CLUSTER_PROPERTIES
        if kind == OTTLA:
            properties = {**properties, **OTTLA_CLUSTER_PROPERTIES}
        self._cluster = ClusterProcesses(
            NODES,
            program=Program(kind, checkout),
            properties=properties,
            heap=HEAP,
            jvm_options=JVM_OPTIONS,
            start_timeout_s=START_TIMEOUT_S,
        )
        self.is_jvm = kind == KAFKA
        self.flags = _jvm_flags() if self.is_jvm else "ottla serve"
        try:
            if self.is_jvm:
                self._cluster.format()
            began = time.monotonic()
            self._cluster.start()
            nodes = self._cluster.brokers
            self.ports = [node.client_port for node in nodes]
            for port in self.ports:
                wait_for_brokers(port, NODES)
            self.start_s = time.monotonic() - began
        except BaseException:
            self.stop()
            raise
        self.pids = [node.process.pid for node in nodes if node.process is not None]
        self.folders = [node.data_dir for node in nodes]
        self.logs = [node.log_file for node in nodes]

    def death(self) -> str | None:
        for node in self._cluster.brokers:
            if node.process is not None and (code := node.process.poll()) is not None:
                return f"node {node.node_id} ended with code {code}: {last_lines(node.log_file)}"
        return None

    def stop(self) -> None:
        self._cluster.close()


class ForeignPeer(BenchPeer):
    """A broker that the bench does not start: `HOST:PORT`, or `HOST:PORT/PID` to read its CPU."""

    def __init__(self, name: str, address: str) -> None:
        super().__init__(name)
        host_port, _, pid = address.partition("/")
        host, _, port = host_port.rpartition(":")
        if host not in ("127.0.0.1", "localhost"):
            raise ValueError(f"{name}: only brokers of this machine are compared, not {host}")
        self.ports, self.pids = [int(port)], [int(pid)] if pid else []
        self.flags = f"run by somebody else at {host_port}"

    def death(self) -> str | None:
        return None if answers_api_versions(self.port, 5.0) else "does not answer"


def start_peer(
    name: str, nodes: int = 1, secured: bool = False, metrics: bool = False
) -> BenchPeer:
    """Start the peer `name` on one node or three. Raises RuntimeError with its log if it fails.

    `secured`: one node with listeners for TLS and SASL as well. `metrics`: one node of Ottla that
    serves its metrics.
    """
    if secured:
        return _started_secured(name)
    peer = _start(name, nodes, metrics)
    peer.idle_mib = peer.resident_mib()
    return peer


def _started_secured(name: str) -> BenchPeer:
    """Start a peer with secured listeners; its `stop` removes the certificates."""
    kind, _, path = name.partition("@")
    secured = Secured()
    try:
        if kind == OTTLA:
            peer: BenchPeer = OttlaPeer(name, Path(path).resolve() if path else ROOT, secured)
        else:
            peer = KafkaPeer(name, secured)
    except BaseException:
        secured.close()
        raise
    peer.secured = secured
    try:
        secured.add_user(peer.port)
    except BaseException:
        peer.stop()
        raise
    peer.idle_mib = peer.resident_mib()
    return peer


def _start(name: str, nodes: int, metrics: bool) -> BenchPeer:
    """Start the peer of this name; a cluster if `nodes` is NODES. A foreign peer runs already."""
    kind, _, path = name.partition("@")
    checkout = Path(path).resolve() if path else ROOT
    if "=" in name:
        return ForeignPeer(name, name.partition("=")[2])
    if nodes == NODES:
        return ClusterPeer(name, kind, checkout)
    if kind == OTTLA:
        return OttlaPeer(name, checkout, metrics=metrics)
    return KafkaPeer(name)


def can_start(name: str, nodes: int, secured: bool = False) -> bool:
    """Return whether a peer can have `nodes` nodes, and be secured.

    Raises ValueError if there is no such peer.
    """
    kind, _, path = name.partition("@")
    if "=" in name:
        return nodes == 1 and not secured
    if kind not in (OTTLA, KAFKA) or (path and kind == KAFKA):
        raise ValueError(f"there is no peer {name}")
    if path and not (Path(path) / "broker").is_dir():
        raise ValueError(f"{path} is no checkout of this project")
    return nodes in (1, NODES)


def first_record(port: int) -> None:
    """Create a topic and write one record that is acknowledged."""
    create_topic(port, "first")
    produce_one(port, "first")


def wait_for_brokers(port: int, count: int) -> None:
    """Wait until this node's metadata lists `count` brokers.

    Raises RuntimeError if it never does.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        wire = Wire(port)
        response = wire.ask(MetadataRequest([]), 8)
        wire.close()
        if len(response.brokers) == count:
            return
        time.sleep(0.01)
    raise RuntimeError(f"the node on port {port} does not see {count} brokers")


def last_lines(log: Path) -> str:
    """Return the end of a log on one line."""
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return "it left no log"
    return " | ".join(line.strip() for line in lines[-LOG_LINES:]) or "its log is empty"


def is_alive(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def cpu_seconds(pid: int) -> float:
    """Return the user and system time of a process with all its threads, ended ones too.

    The clock of clock_getcpuclockid(3) counts nanoseconds, /proc only 10 ms.
    """
    return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} tells no VmRSS")


def _override(key: str, value: str) -> tuple[str, str]:
    return "--override", f"{key}={value}"


def _jvm_flags() -> str:
    return " ".join([*JVM_OPTIONS, f"-Xms{HEAP}", f"-Xmx{HEAP}"])
