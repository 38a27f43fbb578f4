"""The commands of docs/migration.md, run against a cluster of processes.

`Page` reads the blocks of a section and follows them for a node. The three commands that stop and
start a node act on `ClusterProcesses`, which owns the processes; the shell runs all others. The
page's addresses and files become those of the cluster.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

from ottla.launcher import ottla_command
from tests.chaos.replicas import logged_faults
from tests.tools.cluster_processes import OTTLA, ROOT, ClusterProcesses, NodeProcess, Program
from tests.tools.java_tools import kafka_classpath, run_tool

PAGE = ROOT / "docs" / "migration.md"
BEFORE, FORTH, BACK = "Before", "One node at a time", "The way back"
CONFIG, ADDRESS, CLIENT = "/etc/kafka/server.properties", "kafka-1:9092", "admin.properties"
HEALTHY, COMPARE, CHECK = "until ottla status ", "diff ", "ottla migrate check"
STOP_OTTLA = f'pkill -f "ottla serve --config {CONFIG}"'
COMMAND_S = 600
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


def commands(section: str) -> list[str]:
    """Return the commands of a section's blocks, in their order. Raises KeyError without any."""
    text = PAGE.read_text()
    sections = {
        part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)
    }
    lines = [line for block in _BLOCK.findall(sections[section]) for line in block.splitlines()]
    found = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    if not found:
        raise KeyError(section)
    return found


class Page:
    """The page in the hands of an administrator of `cluster`; `kafka` is the program before.

    `folder` has the file `admin.properties`, and gets what the commands write.
    """

    def __init__(self, cluster: ClusterProcesses, kafka: Program, folder: Path) -> None:
        self._cluster = cluster
        self._kafka = kafka
        self._folder = folder
        self.faults: list[str] = []
        """What Ottla's nodes logged as errors."""
        self._log_starts: dict[int, int] = {}
        tools = folder / "bin"
        tools.mkdir()
        words = " ".join(map(shlex.quote, ottla_command()))
        (tools / "ottla").write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (tools / "ottla").chmod(0o755)
        self._environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}

    def prepare(self) -> str:
        """Follow the section before the migration, and return what the check printed last."""
        said = {command: self._shell(command) for command in commands(BEFORE)}
        (checked,) = (text for command, text in said.items() if CHECK in command)
        return checked.splitlines()[-1]

    def replace(self, node_id: int) -> None:
        """Replace a node of Kafka by Ottla, and wait until the cluster is healthy."""
        for command in commands(FORTH):
            if COMPARE not in command:
                self._follow(command, self._cluster.nodes[node_id])

    def compare(self) -> None:
        """Compare ACLs, quotas and users with those before."""
        for command in commands(FORTH):
            if COMPARE in command:
                self._shell(command)

    def return_to_kafka(self, node_id: int) -> None:
        """Replace a node of Ottla by Kafka, and wait until the cluster is healthy."""
        node = self._cluster.nodes[node_id]
        healthy = [command for command in commands(FORTH) if command.startswith(HEALTHY)]
        for command in [*commands(BACK), *healthy]:
            self._follow(command, node)

    def _follow(self, command: str, node: NodeProcess) -> None:
        starts = {
            f"ottla serve --config {CONFIG}": Program(OTTLA),
            f"kafka-server-start -daemon {CONFIG}": self._kafka,
        }
        if command in starts:
            node.program = starts[command]
            self._log_starts[node.node_id] = len(node.log_text())
            self._cluster.start_node(node.node_id)
        elif command in ("kafka-server-stop", STOP_OTTLA):
            self._stop(node)
        else:
            self._shell(command)

    def _stop(self, node: NodeProcess) -> None:
        self._cluster.terminate(node.node_id)
        if node.peer == OTTLA:
            log = node.log_text()[self._log_starts.get(node.node_id, 0) :]
            self.faults += [f"node {node.node_id}: {fault}" for fault in logged_faults(log)]

    def _shell(self, command: str) -> str:
        """Run a command, and return what it printed. Raises AssertionError if it fails."""
        command = command.replace(ADDRESS, self._cluster.bootstrap)
        if command.startswith("kafka-features "):
            words = command.replace(CLIENT, str(self._folder / CLIENT)).split()
            path = kafka_classpath(self._kafka.release)
            tool = run_tool(*words, classpath=path, timeout=COMMAND_S)
            assert tool.returncode == 0, f"{command}: {tool.stdout}{tool.stderr}"
            return tool.stdout
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-ec", command],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
        )
        said = done.stdout[-3000:] + done.stderr[-1000:]
        assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{said}"
        return done.stdout
