"""The output of `ottla cluster`: the state of each node, or what has changed in it.

`ClusterDisplay` holds the state of each process and the cluster's status. `changes()` returns a
line for each change, for a file or a pipe; `table()` returns the whole state, for a terminal. Pure
text.
Never watches a process, and never decides to start or stop one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from client.cluster_status import ClusterStatus
from client.status_report import verdict
from command.cluster_layout import ClusterLayout, ClusterNode

PREFIX = "ottla: "
_LACKING = re.compile(r"node \d+ .*  (dead, .*|fenced)$")


class NodeState(Enum):
    """The state of one node's process.

    STARTING until its output says that it accepts connections, then SERVING. STOPPING after it got
    the signal to stop, STOPPED after it ended because of that. DEAD if it ended otherwise;
    ELSEWHERE if it died and the user started it again by hand.
    """

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DEAD = "dead"
    ELSEWHERE = "started again by hand"


@dataclass
class NodeView:
    """The state of one node, and how to start it."""

    node: ClusterNode
    pid: int
    start_command: str
    """The shell command that starts the node by hand."""
    log_file: str
    state: NodeState = NodeState.STARTING
    exit_code: int | None = None
    """The exit code, negative for the number of a signal; None while the process runs."""
    last_words: str = ""
    """The last error that the node printed, "" if it printed none."""


@dataclass
class ClusterDisplay:
    """The nodes by id, and the last status that one of them reported."""

    layout: ClusterLayout
    nodes: dict[int, NodeView]
    status: ClusterStatus | None = None
    removed: list[int] = field(default_factory=list)
    """The ids of the nodes that have left the cluster."""
    unanswered: bool = False
    """Whether no node answered the last request for the status."""
    _last_lines: dict[str, str] = field(default_factory=dict)

    @property
    def all_serve(self) -> bool:
        """Whether every node accepts connections."""
        return all(view.state is NodeState.SERVING for view in self.nodes.values())

    def remove(self, node_id: int) -> None:
        """Remove a node that has left the cluster."""
        del self.nodes[node_id]
        self.removed.append(node_id)

    def stop_order(self) -> list[list[int]]:
        """Return waves of node ids: brokers, then controllers one by one, the active one last.

        A node that stops asks the active controller to move its leaders away. For that, the
        controller needs a majority of the quorum as long as possible.
        """
        active = self.status.quorum.leader_id if self.status and self.status.quorum else None
        controllers = sorted(self.layout.controllers, key=lambda node_id: node_id == active)
        brokers = [node_id for node_id in self.nodes if node_id not in controllers]
        return [brokers, *([node_id] for node_id in controllers if node_id in self.nodes)]

    def changes(self) -> list[str]:
        """Return a line for each state that has changed since the last call."""
        now = {
            f"node {node_id}": f"node {node_id} has left the cluster" for node_id in self.removed
        }
        self.removed.clear()  # the id may be used again
        now |= {
            f"node {view.node.node_id}": _state_sentence(view)
            for view in self.nodes.values()
            if view.state is not NodeState.STARTING
        }
        if self.all_serve:
            now["servers"] = (
                f"the cluster is ready: bootstrap servers {self.layout.bootstrap_servers}"
            )
        if self.status is not None:
            now["controller"] = _controller(self.status)
        if self._health:
            now["status"] = self._health
        lines = [
            f"{PREFIX}{text}" for name, text in now.items() if self._last_lines.get(name) != text
        ]
        self._last_lines.update(now)
        return lines

    @property
    def _health(self) -> str:
        """The line about the cluster's health, "" while it is not known."""
        if self.status is not None:
            return f"the cluster is {verdict(self.status)}"
        return "the cluster is degraded: no node answers" if self.unanswered else ""

    def table(self) -> list[str]:
        """Return a line for each node, then how to start those that died, then the health."""
        rows = [_node_row(view, self.status) for view in self.nodes.values()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        for view in self.nodes.values():
            if view.state is NodeState.DEAD:
                reason = view.last_words or f"its log is {view.log_file}"
                lines += [f"node {view.node.node_id}: {reason}; start it again with"]
                lines += [f"    {view.start_command}"]
        if self._health:
            lines.append(self._health)
        lines.append(
            f"bootstrap servers {self.layout.bootstrap_servers} (press Ctrl-C to stop them all)"
        )
        return lines


def colour_of(line: str) -> str | None:
    """Return the colour of a table's line: green if healthy, red if degraded, None for others."""
    if line.startswith("the cluster is "):
        return "green" if line.endswith(" healthy") else "red"
    return "red" if _LACKING.match(line) else None


def exit_reason(code: int | None) -> str:
    """Return text such as `exit code 1` or `killed by SIGKILL`."""
    if code is not None and code < 0:
        names = {9: "SIGKILL", 15: "SIGTERM", 11: "SIGSEGV", 6: "SIGABRT", 2: "SIGINT"}
        return f"killed by {names.get(-code, f'signal {-code}')}"
    return f"exit code {code}"


def _state_sentence(view: NodeView) -> str:
    """Return a sentence about the state of a node, for a dead node with the reason and the command
    that starts it."""
    name = f"node {view.node.node_id}"
    if view.state is NodeState.SERVING:
        return f"{name} serves on port {view.node.port} (process {view.pid})"
    if view.state is NodeState.STOPPED:
        clean = "" if view.exit_code == 0 else f", {exit_reason(view.exit_code)}"
        return f"{name} stopped{clean}"
    if view.state is NodeState.DEAD:
        why = f": {view.last_words}" if view.last_words else f", see {view.log_file}"
        return (
            f"{name} is dead ({exit_reason(view.exit_code)}{why}); start it again with: "
            f"{view.start_command}"
        )
    if view.state is NodeState.ELSEWHERE:
        return f"{name} was started again by hand: it is not stopped with the others"
    return f"{name} is {view.state.value}"


def _controller(status: ClusterStatus) -> str:
    """Return a sentence that names the active controller and its epoch."""
    if status.quorum is None:
        return "no active controller answers"
    return f"node {status.quorum.leader_id} is the active controller, epoch {status.quorum.epoch}"


def _node_row(view: NodeView, status: ClusterStatus | None) -> Sequence[str]:
    """Return the table's row of a node; with a status, it says if the node is fenced or active."""
    state = view.state.value
    if view.state is NodeState.DEAD:
        state = f"dead, {exit_reason(view.exit_code)}"
    elif view.state is NodeState.SERVING and status is not None:
        state = "fenced" if view.node.node_id in status.fenced else state
    role = "broker" if view.node.controller_port is None else "broker, controller"
    if status is not None and status.quorum is not None:
        role += " (active)" if status.quorum.leader_id == view.node.node_id else ""
    alive = view.exit_code is None
    return (
        f"node {view.node.node_id}",
        f"port {view.node.port}",
        f"process {view.pid}" if alive else "",
        role,
        state,
    )
