"""What `ottla cluster` shows: the state of each node, and what changed since it was last shown.

`ClusterView` holds what is known (each process, and what the cluster says of itself); `changes()`
gives one line for each thing that is new, for a file or a pipe, `table()` the whole, for a
terminal. Pure text. Never: watches a process, or decides to start or stop one.
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
    """The life of one node's process.

    STARTING until it says that it accepts connections; SERVING then; STOPPING once it was told to
    stop; STOPPED when it ended because of that; DEAD when it ended without; ELSEWHERE when it died
    and somebody started it again by hand.
    """

    STARTING = "starting"
    SERVING = "serving"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DEAD = "dead"
    ELSEWHERE = "started again by hand"


@dataclass
class NodeView:
    """What is known of one node."""

    node: ClusterNode
    pid: int
    start_command: str
    """What starts it again by hand."""
    log_file: str
    state: NodeState = NodeState.STARTING
    exit_code: int | None = None
    """As subprocess gives it: negative for the number of a signal."""
    last_words: str = ""
    """Why it refused to start, if it said so."""


@dataclass
class ClusterView:
    """The nodes by id, and the last status that one of them gave."""

    layout: ClusterLayout
    nodes: dict[int, NodeView]
    status: ClusterStatus | None = None
    unanswered: bool = False
    """Whether no node answered when it was asked last."""
    _said: dict[str, str] = field(default_factory=dict)

    @property
    def all_serve(self) -> bool:
        """Whether every node accepts connections."""
        return all(one.state is NodeState.SERVING for one in self.nodes.values())

    def stop_order(self) -> list[list[int]]:
        """Waves of node ids: brokers, then controllers one by one, the active one last.

        A node that stops asks the active controller to move its leaders away, and that one needs a
        majority of the quorum for it as long as it can be had.
        """
        active = self.status.quorum.leader_id if self.status and self.status.quorum else None
        controllers = sorted(self.layout.controllers, key=lambda one: one == active)
        brokers = [one for one in self.nodes if one not in controllers]
        return [brokers, *([one] for one in controllers if one in self.nodes)]

    def changes(self) -> list[str]:
        """Lines for what is not as it was at the last call."""
        now = {
            f"node {one.node.node_id}": _sentence(one)
            for one in self.nodes.values()
            if one.state is not NodeState.STARTING
        }
        if self.all_serve:
            now["servers"] = (
                f"the cluster is ready: bootstrap servers {self.layout.bootstrap_servers}"
            )
        if self.status is not None:
            now["controller"] = _controller(self.status)
        if self._health:
            now["status"] = self._health
        lines = [f"{PREFIX}{text}" for name, text in now.items() if self._said.get(name) != text]
        self._said.update(now)
        return lines

    @property
    def _health(self) -> str:
        """Nothing where it is not known."""
        if self.status is not None:
            return f"the cluster is {verdict(self.status)}"
        return "the cluster is degraded: no node answers" if self.unanswered else ""

    def table(self) -> list[str]:
        """All nodes, one a line, then what to do about those that died, then the cluster."""
        rows = [_row(one, self.status) for one in self.nodes.values()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        for one in self.nodes.values():
            if one.state is NodeState.DEAD:
                said = one.last_words or f"its log is {one.log_file}"
                lines += [f"node {one.node.node_id}: {said}; start it again with"]
                lines += [f"    {one.start_command}"]
        if self._health:
            lines.append(self._health)
        lines.append(
            f"bootstrap servers {self.layout.bootstrap_servers} (press Ctrl-C to stop them all)"
        )
        return lines


def colour_of(line: str) -> str | None:
    """How a terminal shows a line of the table: what is well in green, what lacks in red."""
    if line.startswith("the cluster is "):
        return "green" if line.endswith(" healthy") else "red"
    return "red" if _LACKING.match(line) else None


def exit_reason(code: int | None) -> str:
    """`exit code 1`, or which signal ended it."""
    if code is not None and code < 0:
        names = {9: "SIGKILL", 15: "SIGTERM", 11: "SIGSEGV", 6: "SIGABRT", 2: "SIGINT"}
        return f"killed by {names.get(-code, f'signal {-code}')}"
    return f"exit code {code}"


def _sentence(one: NodeView) -> str:
    who = f"node {one.node.node_id}"
    if one.state is NodeState.SERVING:
        return f"{who} serves on port {one.node.port} (process {one.pid})"
    if one.state is NodeState.STOPPED:
        clean = "" if one.exit_code == 0 else f", {exit_reason(one.exit_code)}"
        return f"{who} stopped{clean}"
    if one.state is NodeState.DEAD:
        why = f": {one.last_words}" if one.last_words else f", see {one.log_file}"
        return (
            f"{who} is dead ({exit_reason(one.exit_code)}{why}); start it again with: "
            f"{one.start_command}"
        )
    if one.state is NodeState.ELSEWHERE:
        return f"{who} was started again by hand: it is not stopped with the others"
    return f"{who} is {one.state.value}"


def _controller(status: ClusterStatus) -> str:
    if status.quorum is None:
        return "no active controller answers"
    return f"node {status.quorum.leader_id} is the active controller, epoch {status.quorum.epoch}"


def _row(one: NodeView, status: ClusterStatus | None) -> Sequence[str]:
    state = one.state.value
    if one.state is NodeState.DEAD:
        state = f"dead, {exit_reason(one.exit_code)}"
    elif one.state is NodeState.SERVING and status is not None:
        state = "fenced" if one.node.node_id in status.fenced else state
    role = "broker" if one.node.controller_port is None else "broker, controller"
    if status is not None and status.quorum is not None:
        role += " (active)" if status.quorum.leader_id == one.node.node_id else ""
    alive = one.exit_code is None
    return (
        f"node {one.node.node_id}",
        f"port {one.node.port}",
        f"process {one.pid}" if alive else "",
        role,
        state,
    )
