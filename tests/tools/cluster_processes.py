"""A cluster of nodes as processes on free ports of 127.0.0.1: Ottla, Apache Kafka, or both.

`ClusterProcesses(3)` writes a configuration file for each node into its folder, starts the nodes,
and can kill, stop, pause and restart each. With `proxied=True` clients, brokers and controllers
reach each other through `tests/tools/link_proxy.py`, which cuts and delays links. It owns
processes, logs and the folder, and does not depend on pytest. Used by `tests/chaos/`,
`tests/compat/` and `bench/`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tests.tools.apache_kafka import HOST, answers_api_versions, fresh_id, listens
from tests.tools.cluster_security import CLIENTS, ClusterLogin, ClusterSecurity
from tests.tools.java_tools import FAST_START, JAVA_DIR, java_home_bin, kafka_classpath, run_tool
from tests.tools.kafka_release import RELEASE
from tests.tools.link_proxy import LinkProxy
from tests.tools.ports import Ports

OTTLA = "ottla"
KAFKA = "kafka"
ROOT = Path(__file__).resolve().parents[2]
COMBINED = "broker,controller"


class Program(NamedTuple):
    """The program of a node: the Ottla of a checkout, or a release of Apache Kafka."""

    peer: str = OTTLA
    checkout: Path = ROOT
    release: str = RELEASE

    @classmethod
    def named(cls, name: str) -> Program:
        """Return the program of `ottla`, `ottla@CHECKOUT`, `kafka` or `kafka@RELEASE`.

        Raises ValueError for any other name.
        """
        peer, _, which = name.partition("@")
        if peer == KAFKA:
            return cls(peer, release=which or RELEASE)
        if peer != OTTLA:
            raise ValueError(f"no program is called {name}")
        return cls(peer, Path(which or ROOT).resolve())


def named_nodes(text: str) -> dict[int, str]:
    """Return the programs that `text` gives to nodes, such as `2=kafka,3=kafka@RELEASE`.

    Raises ValueError for any other form.
    """
    programs = {}
    for entry in filter(None, text.split(",")):
        node_id, _, name = entry.partition("=")
        Program.named(name)
        programs[int(node_id)] = name
    return programs


@dataclass
class NodeProcess:
    """A node: its identity, ports, files and process.

    A door is a port of the proxy for one of its ports.
    """

    node_id: int
    program: Program
    roles: str
    folder: Path
    client_port: int
    internal_port: int
    controller_port: int
    client_door: int
    internal_door: int
    controller_door: int
    process: subprocess.Popen[bytes] | None = None
    paused: bool = False
    deaths: list[str] = field(default_factory=list)
    """Descriptions of the ends of the process that the test did not cause, or that failed."""
    properties: dict[str, str] = field(default_factory=dict)
    """Server keys of this node alone, from its next start on, which override all others."""

    @property
    def peer(self) -> str:
        """OTTLA or KAFKA."""
        return self.program.peer

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def directory_id(self) -> str:
        """The id of the formatted data directory, as Kafka writes it."""
        text = (self.data_dir / "meta.properties").read_text()
        return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)["directory.id"]

    @property
    def config_file(self) -> Path:
        return self.folder / "server.properties"

    @property
    def log_file(self) -> Path:
        return self.folder / "node.log"

    @property
    def is_broker(self) -> bool:
        return "broker" in self.roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.roles

    @property
    def running(self) -> bool:
        """Whether the process lives, paused or not."""
        return self.process is not None and self.process.poll() is None

    @property
    def address(self) -> str:
        """The `host:port` for clients: that of the proxy if there is one."""
        return f"{HOST}:{self.client_door}"

    def log_text(self) -> str:
        """Return the output and the log of the node, over all its starts."""
        with contextlib.suppress(FileNotFoundError):
            return self.log_file.read_text("utf-8", "replace")
        return ""


class ClusterProcesses:
    """A cluster of processes: `with ClusterProcesses(3) as cluster: … cluster.bootstrap …`.

    `peer`        "ottla" or "kafka"; `others` has the nodes, by id, that run the other program
    `program`     in place of `peer`: what the nodes run, with its checkout or release
    `features`    feature levels to format with, in place of the program's own
    `nodes`       how many; `roles` has the roles of the first nodes, the others are combined
    `voters`      the nodes that are the first voters of a dynamic quorum (kraft.version 1); other
                  controllers start as observers. None: a static quorum of all controllers
    `properties`  server keys for all nodes, which override those of this class
    `secured`     SASL_SSL for clients and between brokers, TLS with certificates for controllers;
                  an authorizer, and ACLs for the clients
    `proxied`     put `links` between clients and nodes and among nodes
    `heap`        -Xms and -Xmx of an Apache Kafka node
    `folder`      the folder of all files; None: a temporary folder, which `close()` removes

    A node that is stopped may start as another program: `nodes[1].program = …`.
    """

    def __init__(
        self,
        nodes: int = 3,
        *,
        peer: str = OTTLA,
        others: Mapping[int, str] | None = None,
        features: Mapping[str, int] | None = None,
        roles: Sequence[str] = (),
        voters: Sequence[int] | None = None,
        properties: Mapping[str, str] | None = None,
        secured: bool = False,
        proxied: bool = False,
        heap: str = "320m",
        jvm_options: Sequence[str] = FAST_START,
        folder: Path | None = None,
        program: Program | None = None,
        start_timeout_s: float = 120,
    ) -> None:
        self.program = program or Program(peer)
        self._others = dict(others or {})
        self._features = dict(features or {})
        self._properties = dict(properties or {})
        self._clients = "PLAINTEXT"
        self._jvm = [*(o for o in jvm_options if not o.startswith("-Xm"))]
        self._jvm += [f"-Xms{heap}", f"-Xmx{heap}"]
        self._keeps_folder = folder is not None
        self._folder = folder or Path(tempfile.mkdtemp(prefix=f"{self.program.peer}-cluster-"))
        self._start_timeout_s = start_timeout_s
        self._ports = Ports()
        self._security: ClusterSecurity | None = None
        self.login: ClusterLogin | None = None
        """The login of clients; None if the cluster is not secured."""
        if secured:
            security = self._security = ClusterSecurity(self._folder)
            self.login, self._clients = security.login, CLIENTS
            self._properties = {**security.properties(), **self._properties}
        self.cluster_id = fresh_id()
        self.links = LinkProxy(self._pid_of, opaque=secured) if proxied else None
        self.nodes: dict[int, NodeProcess] = {}
        padded = [*roles, *[COMBINED] * (nodes - len(roles))]
        for node_id in range(1, nodes + 1):
            self._add(node_id, padded[node_id - 1])
        self._voters = ",".join(
            f"{node.node_id}@{HOST}:{node.controller_door}"
            for node in self.nodes.values()
            if node.is_controller
        )
        self.is_dynamic = voters is not None
        """Whether nodes have `controller.quorum.bootstrap.servers` from their next start on. A test
        that upgrades a static quorum sets it."""
        self._first_voters = {node_id: fresh_id() for node_id in voters or ()}
        self._initial_controllers = ",".join(
            f"{node_id}@{HOST}:{self.nodes[node_id].controller_door}:{directory_id}"
            for node_id, directory_id in self._first_voters.items()
        )
        self._template: Path | None = None

    @property
    def brokers(self) -> list[NodeProcess]:
        return [node for node in self.nodes.values() if node.is_broker]

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, for clients."""
        return ",".join(node.address for node in self.brokers)

    @property
    def bootstrap_controllers(self) -> str:
        """The addresses of all controllers, for tools with --bootstrap-controller."""
        controllers = [node for node in self.nodes.values() if node.is_controller]
        return ",".join(f"{HOST}:{node.controller_door}" for node in controllers)

    # --- life ------------------------------------------------------------------------------------

    def start(self, node_ids: Sequence[int] | None = None) -> ClusterProcesses:
        """Start these nodes, by default all, and wait until each serves.

        Raises RuntimeError, with the node's log, if a node does not serve.
        """
        started = list(self.nodes) if node_ids is None else node_ids
        try:
            for node_id in started:
                self._launch(self.nodes[node_id])
            for node_id in started:
                self.wait_until_serving(node_id)
            if self._security is not None:
                self._security.let_clients_in([node.client_port for node in self.brokers])
        except BaseException:
            self.close()
            raise
        return self

    def add_broker(self) -> NodeProcess:
        """Add a node that is only a broker, without starting it."""
        return self._add(max(self.nodes) + 1, "broker")

    def add_controller(self) -> NodeProcess:
        """Add a controller that joins a dynamic quorum, without starting it."""
        return self._add(max(self.nodes) + 1, "controller")

    def replace_disk(self, node_id: int) -> None:
        """Remove the data of a stopped node. At its next start it has another directory id, and is
        no voter of a dynamic quorum."""
        shutil.rmtree(self.nodes[node_id].data_dir)
        self._first_voters.pop(node_id, None)

    def start_node(self, node_id: int, *, wait: bool = True) -> None:
        """Start a stopped node with the data that it has."""
        self._launch(self.nodes[node_id])
        if wait:
            self.wait_until_serving(node_id)

    def wait_until_serving(self, node_id: int) -> None:
        """Wait until the node answers on its own port, which is not the proxy's.

        Raises RuntimeError, with the node's log, if it does not answer.
        """
        node = self.nodes[node_id]
        port = node.client_port if node.is_broker else node.controller_port
        deadline = time.monotonic() + self._start_timeout_s
        tls = None if self.login is None else self.login.tls
        protocols = self._properties.get("listener.security.protocol.map", "")
        # A test may secure the controllers by its own properties: then it has no login for them.
        can_log_in = node.is_broker or tls is not None or "CONTROLLER:S" not in protocols
        while not (answers_api_versions(port, tls=tls) if can_log_in else listens(port)):
            if not node.running:
                raise RuntimeError(f"node {node_id} ended at start:\n{node.log_text()[-4000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"node {node_id} does not answer:\n{node.log_text()[-4000:]}")
            time.sleep(0.05)

    def kill(self, node_id: int) -> None:
        """Send SIGKILL, and refuse connections to the node."""
        node = self.nodes[node_id]
        if node.process is not None:
            self._notice_death(node)
            node.process.kill()
            node.process.wait()
            node.process = None
            node.paused = False
        if self.links is not None:
            self.links.refuse(node_id)

    def terminate(self, node_id: int, timeout_s: float = 90) -> int | None:
        """Shut down by SIGTERM, wait, and return the exit code, None if the node did not run.

        A node that does not end in time is killed, and `deaths` gets an entry.
        """
        node = self.nodes[node_id]
        if node.process is None:
            return None
        if node.paused:
            self.resume(node_id)
        self._notice_death(node)
        with contextlib.suppress(ProcessLookupError):
            node.process.send_signal(signal.SIGTERM)
        return self._await_end(node, timeout_s)

    def _await_end(self, node: NodeProcess, timeout_s: float) -> int:
        assert node.process is not None
        try:
            code = node.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            node.deaths.append(f"did not stop within {timeout_s} s of SIGTERM{_end_of_log(node)}")
            node.process.kill()
            code = node.process.wait()
        else:
            # A JVM exits with 143, for the signal, after its shutdown hooks.
            if code not in (0, 143, -signal.SIGTERM) or (node.peer == OTTLA and code != 0):
                node.deaths.append(f"exit code {code} after SIGTERM{_end_of_log(node)}")
        node.process = None
        if self.links is not None:
            self.links.refuse(node.node_id)
        return code

    def pause(self, node_id: int) -> None:
        """Stop the process by SIGSTOP until `resume`."""
        node = self.nodes[node_id]
        if node.process is not None and node.running:
            os.kill(node.process.pid, signal.SIGSTOP)
            node.paused = True

    def resume(self, node_id: int) -> None:
        """Continue the process by SIGCONT."""
        node = self.nodes[node_id]
        if node.process is not None and node.running:
            os.kill(node.process.pid, signal.SIGCONT)
        node.paused = False

    def restart(self, node_id: int) -> None:
        """Stop the node by a controlled shutdown and start it."""
        self.terminate(node_id)
        self.start_node(node_id)

    def stop(self) -> None:
        """Stop all nodes at the same time by a controlled shutdown."""
        for node in self.nodes.values():
            if node.paused:
                self.resume(node.node_id)
        live = [node for node in self.nodes.values() if node.process is not None]
        for node in live:
            self._notice_death(node)
            assert node.process is not None
            with contextlib.suppress(ProcessLookupError):
                node.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + 90
        for node in live:
            self._await_end(node, max(1.0, deadline - time.monotonic()))

    def close(self) -> None:
        """Kill the running nodes and remove the temporary folder."""
        for node in self.nodes.values():
            if node.process is not None:
                node.process.kill()
                node.process.wait()
                node.process = None
        if self.links is not None:
            self.links.close()
            self.links = None
        self._ports.close()
        if not self._keeps_folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> ClusterProcesses:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- files and commands of a node ------------------------------------------------------------

    def _add(self, node_id: int, roles: str) -> NodeProcess:
        folder = self._folder / f"node-{node_id}"
        folder.mkdir(parents=True, exist_ok=True)
        ports = [self._ports.take() for _ in range(3)]
        doors = ports
        if self.links is not None:
            doors = [self.links.door(node_id, ports[0], for_clients=True)]
            doors += [self.links.door(node_id, port) for port in ports[1:]]
        other = self._others.get(node_id)
        program = self.program if other is None else Program.named(other)
        node = NodeProcess(node_id, program, roles, folder, *ports, *doors)
        self.nodes[node_id] = node
        return node

    def server_properties(self, node: NodeProcess) -> dict[str, str]:
        """Return the node's whole configuration."""
        listeners, advertised = [], []
        if node.is_broker:
            listeners += [
                f"{self._clients}://{HOST}:{node.client_port}",
                f"INTERNAL://{HOST}:{node.internal_port}",
            ]
            advertised += [
                f"{self._clients}://{HOST}:{node.client_door}",
                f"INTERNAL://{HOST}:{node.internal_door}",
            ]
        if node.is_controller:
            listeners.append(f"CONTROLLER://{HOST}:{node.controller_port}")
            advertised.append(f"CONTROLLER://{HOST}:{node.controller_door}")
        keys = {
            "process.roles": node.roles,
            "node.id": str(node.node_id),
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(listeners),
            "advertised.listeners": ",".join(advertised),
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
            ),
            "log.dirs": str(node.data_dir),
        }
        if self.is_dynamic:
            keys["controller.quorum.bootstrap.servers"] = self.bootstrap_controllers
        else:
            keys["controller.quorum.voters"] = self._voters
        if node.is_broker:
            keys["inter.broker.listener.name"] = "INTERNAL"
        return {**keys, **self._properties, **node.properties}

    def format(self) -> None:
        """Format every node that is not formatted, as `start` would do."""
        for node in self.nodes.values():
            self._prepare(node)

    def _prepare(self, node: NodeProcess) -> None:
        keys = self.server_properties(node)
        node.config_file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
        if not (node.data_dir / "meta.properties").exists():
            self._format(node)

    def _launch(self, node: NodeProcess) -> None:
        assert not node.running, f"node {node.node_id} runs already"
        self._prepare(node)
        if self.links is not None:
            self.links.open(node.node_id)
        command = self._kafka(node) if node.peer == KAFKA else self._ottla(node)
        with open(node.log_file, "ab") as log:
            node.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=node.program.checkout,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        node.paused = False

    def _ottla(self, node: NodeProcess) -> list[str]:
        return [sys.executable, str(_launcher(node)), "serve", "--config", str(node.config_file)]

    def _kafka(self, node: NodeProcess) -> list[str]:
        return [
            java_home_bin() or "java",
            *self._jvm,
            f"-Dlog4j2.configurationFile={JAVA_DIR / 'log4j2-broker.properties'}",
            *("-cp", kafka_classpath(node.program.release), "kafka.Kafka", str(node.config_file)),
        ]

    def _format(self, node: NodeProcess) -> None:
        """Format a node.

        The program's own tool formats each node of a dynamic quorum. If a static one has nodes of
        Kafka, Kafka's tool formats for the first of them; with chosen features, Ottla's own formats
        for a node of a cluster without Kafka. Other nodes get a copy of these files with another
        directory id.
        """
        node.data_dir.mkdir(parents=True, exist_ok=True)
        if self.is_dynamic:
            self._run_format(node, node.config_file)
            return
        first = next((other for other in self.nodes.values() if other.peer == KAFKA), None)
        if first is not None or self._features:
            if self._template is None:
                self._template = self._formatted(first or node)
            shutil.copytree(self._template, node.data_dir, dirs_exist_ok=True)
        directory_id = fresh_id()
        (node.data_dir / "meta.properties").write_text(
            f"version=1\ncluster.id={self.cluster_id}\n"
            f"node.id={node.node_id}\ndirectory.id={directory_id}\n"
        )

    def _formatted(self, node: NodeProcess) -> Path:
        """Format a folder with the program of a node, and return it. Raises RuntimeError."""
        keys = {**self.server_properties(node), "log.dirs": str(node.folder / "formatted")}
        path = node.folder / "format.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
        self._run_format(node, path)
        return node.folder / "formatted"

    def _run_format(self, node: NodeProcess, config: Path) -> None:
        """Format a node by its program's own tool. Raises RuntimeError, with its output."""
        options = ["--cluster-id", self.cluster_id, "--config", str(config)]
        for feature, level in self._features.items():
            options += ["--feature", f"{feature}={level}"]
        if self.is_dynamic and node.is_controller:
            if node.node_id in self._first_voters:
                options += ["--initial-controllers", self._initial_controllers]
            else:
                options.append("--no-initial-controllers")
        if node.peer == KAFKA:
            path = kafka_classpath(node.program.release)
            limit_s = self._start_timeout_s
            done = run_tool("kafka-storage", "format", *options, classpath=path, timeout=limit_s)
        else:
            done = subprocess.run(
                [sys.executable, str(_launcher(node)), "format", *options],
                capture_output=True,
                text=True,
                timeout=60,
            )
        if done.returncode != 0:
            raise RuntimeError(f"no format of the folder:\n{done.stdout}{done.stderr}")

    def _notice_death(self, node: NodeProcess) -> None:
        """Add an entry to `deaths` if the process has ended before the test stops it."""
        if node.process is not None and node.process.poll() is not None:
            node.deaths.append(f"ended by itself with exit code {node.process.returncode}")

    def unexpected_deaths(self) -> list[str]:
        """Return a line for each node that ended, or did not end, against the test's will."""
        deaths = []
        for node in self.nodes.values():
            if node.process is not None and node.process.poll() is not None:
                deaths.append(f"node {node.node_id}: exit code {node.process.returncode}")
            deaths += [f"node {node.node_id}: {death}" for death in node.deaths]
        return deaths

    def _pid_of(self, node_id: int) -> int | None:
        node = self.nodes[node_id]
        return node.process.pid if node.process is not None else None


def _launcher(node: NodeProcess) -> Path:
    return node.program.checkout / "ottla" / "__main__.py"  # the same path in all checkouts


def _end_of_log(node: NodeProcess) -> str:
    """Return the last lines of the node's log, as the reason of its death."""
    lines = node.log_text().splitlines()[-20:]
    return "; its last lines:\n" + "\n".join(lines)
