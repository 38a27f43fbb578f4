"""`ottla cluster`: several nodes on this machine, each a process of its own, watched and stopped.

Owns the processes, from their start to the last one's end, the signals, and the terminal. The
configuration of the nodes is in their folder (`command.cluster_folder`); `command.cluster_display`
makes the text that is shown. A node is started again only if the user asks for it
(`command.nodes.running`). A node that died is shown as dead, with the command that starts it,
because users want to see what broke.

Other commands add nodes to the folder of a running cluster, and remove nodes from it
(`command.members`). A node that was added is started on request. A node that was removed has
stopped, and its configuration is gone.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from broker.config.file import load_config
from broker.config.start_error import StartError
from broker.network.outgoing.blocking_client import accepts
from broker.process.standard_streams import is_heard, say
from broker.security.client_guard import ClientGuard
from client.connection import command_guard
from client.status import status_of
from command.cluster_display import PREFIX, ClusterDisplay, NodeState, NodeView, colour_of
from command.cluster_folder import ClusterFolder, cluster_node, open_folder
from command.cluster_layout import HOST, ClusterLayout
from command.cluster_security import ADMIN_USER, CLIENT_USER
from command.members.free_ports import refuse_taken_ports
from command.nodes.running import (
    holder_of,
    is_asked_to_start,
    is_leaving,
    nodes_asked_to_start,
    take_leave_back,
    take_request,
)
from command.output import Styled, redraw
from command.terminal.live_screen import can_redraw
from ground.filesystem import LocalFilesystem
from ottla.launcher import READY, ottla_command
from storage.log.checkpoints import LOCK_FILE

STATUS_INTERVAL_S = 2.0
_POLL_S = 0.05
_STATUS_TIMEOUT_S = 1.0
_STOP_NOTICE_S = 10.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
"""The signals that are handled: by default, each would end this process and leave nodes running."""
_LAST_WORDS_BYTES = 4096
_REFUSED = 2
"""The exit code of a node that could not start. Only then its last line is the reason."""


def run_cluster(
    folder: str,
    brokers: int | None,
    first_port: int | None,
    command_config: str | None = None,
    *,
    secure: bool = False,
) -> int:
    """Run the nodes until a signal, or until all are dead. Return 0 if all stopped cleanly,
    otherwise 1.

    `command_config`: client properties for the requests that ask for their state; a folder that was
    made with `secure` has its own. Raises StartError, and OSError for a folder that cannot be used.
    """
    guard = command_guard(command_config)
    if (holder := holder_of(Path(folder))) is not None:
        raise StartError(f"a cluster runs in {folder} already (process {holder}): another --dir?")
    opened = open_folder(folder, brokers, first_port, refuse_taken_ports, secure=secure)
    if opened.is_secured and command_config is None:
        guard = _admin_guard(opened.client_file(ADMIN_USER))
    _say(introduction(opened))
    if opened.is_secured:
        _say(how_to_connect(opened))
    if opened.has_acls:
        _say(who_may_do_what(opened))
    lock = LocalFilesystem().lock(str(opened.path / LOCK_FILE))
    if lock is None:
        raise StartError(f"a cluster was started in {folder} just now: another --dir?")
    cluster = _Cluster(opened, guard)
    with _signals_into(cluster.on_signal):
        try:
            return cluster.run()
        finally:
            lock.release()


class _Cluster:
    """The processes of the nodes, and the loop that watches them."""

    def __init__(self, folder: ClusterFolder, guard: ClientGuard) -> None:
        self._folder = folder
        self._guard = guard
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._log_offsets: dict[int, int] = {}  # where the output of this start begins
        self._read_to: dict[int, int] = {}
        self._asked_to_stop = 0
        self._next_status = 0.0
        self._screen = _Screen()
        self._view = ClusterDisplay(folder.layout, {})

    def on_signal(self, *_: object) -> None:
        """Count a signal. After the first, `run` stops the nodes cleanly; at each further one, kill
        all nodes."""
        self._asked_to_stop += 1
        if self._asked_to_stop > 1:
            for process in self._processes.values():
                with contextlib.suppress(ProcessLookupError):
                    process.kill()

    def run(self) -> int:
        """Start all nodes, watch them until a signal or until all are dead, stop them. Return the
        exit code: 0 if all stopped cleanly, else 1."""
        try:
            for node in self._folder.layout.nodes:
                take_request(self._folder.path, node.node_id)
                take_leave_back(self._folder.path, node.node_id)
                if not self._asked_to_stop:
                    self._start(node.node_id)
            self._watch()
            self._stop_all()
        finally:  # no process may keep running without its parent
            for process in self._processes.values():
                if process.poll() is None:
                    process.kill()
                    process.wait()
        clean = all(process.returncode == 0 for process in self._processes.values())
        if clean:
            folder = shlex.quote(str(_shown(self._folder.path)))
            _say(f"all nodes stopped; ottla cluster --dir {folder} starts them again")
        return 0 if clean else 1

    def _start_if_asked(self, node_id: int) -> bool:
        """Start a node that has ended, if a file in its folder requests that: the user asked for it
        in another shell. Delete the file then.

        Return whether it was started.
        """
        if not is_asked_to_start(self._folder.path, node_id):
            return False
        if self._processes[node_id].poll() is None or self._runs_by_hand(node_id):
            return False
        take_request(self._folder.path, node_id)
        self._start(node_id)
        return True

    def _take_in(self, node_id: int) -> None:
        """Start a node that another command has added to the folder, if its configuration is
        complete."""
        take_request(self._folder.path, node_id)
        file = self._folder.properties_file(node_id)
        if not file.exists():
            return
        try:
            added = cluster_node(load_config(str(file), ()))
        except StartError as error:
            _say(f"node {node_id} is not started: {error}")
            return
        self._set_layout(self._folder.layout.with_nodes(added))
        self._start(node_id)

    def _forget_removed(self, node_id: int) -> bool:
        """Forget a node that has ended, and that another command has removed from the folder.
        Return whether it was forgotten."""
        is_there = self._folder.properties_file(node_id).exists()
        if is_there or self._processes[node_id].poll() is None:
            return False
        del self._processes[node_id]
        self._view.remove(node_id)
        self._set_layout(self._folder.layout.without(node_id))
        return True

    def _set_layout(self, layout: ClusterLayout) -> None:
        """Continue with other nodes."""
        self._folder = replace(self._folder, layout=layout)
        self._view.layout = layout

    def _runs_by_hand(self, node_id: int) -> bool:
        """Return whether a process holds the lock of the node's data folder, so that the user has
        started the node."""
        config = load_config(str(self._folder.properties_file(node_id)), ())
        return holder_of(Path(config.log_dirs[0])) is not None

    def _start(self, node_id: int) -> None:
        """Start a node's process, append its output to its log file, and begin its view."""
        file, log_file = self._folder.properties_file(node_id), self._folder.log_file(node_id)
        log_file.parent.mkdir(parents=True, exist_ok=True)
        self._log_offsets[node_id] = log_file.stat().st_size if log_file.exists() else 0
        self._read_to[node_id] = self._log_offsets[node_id]
        with log_file.open("ab") as log:
            self._processes[node_id] = subprocess.Popen(  # noqa: S603 - our own command
                ottla_command("serve", "--config", str(file)),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,  # a Ctrl-C reaches this process, which stops them in order
            )
        self._view.nodes[node_id] = NodeView(
            node=self._folder.layout.node(node_id),
            pid=self._processes[node_id].pid,
            start_command=_start_command(file),
            log_file=str(log_file),
        )

    def _watch(self) -> None:
        """Watch the processes and show their states, until asked to stop or all nodes are dead."""
        while not self._asked_to_stop:
            for node_id in nodes_asked_to_start(self._folder.path):
                if node_id not in self._processes:
                    self._take_in(node_id)
            for node_id in list(self._processes):
                if not self._forget_removed(node_id) and not self._start_if_asked(node_id):
                    self._update_state(node_id)
            states = [view.state for view in self._view.nodes.values()]
            if all(state in (NodeState.DEAD, NodeState.STOPPED) for state in states):
                self._show()
                _say("all nodes are dead")
                return
            if NodeState.STARTING not in states and time.monotonic() >= self._next_status:
                self._ask_status()
                self._next_status = time.monotonic() + STATUS_INTERVAL_S
            self._show()
            time.sleep(_POLL_S)

    def _update_state(self, node_id: int) -> None:
        """Set the state of a node's view by its process and its output, and for a dead node its
        last error."""
        view, code = self._view.nodes[node_id], self._processes[node_id].poll()
        if code is not None:
            view.exit_code = code
            if is_leaving(self._folder.path, node_id):
                view.state = NodeState.STOPPED
            if view.state in (NodeState.STARTING, NodeState.SERVING):
                view.state = NodeState.DEAD
                view.last_words = self._last_words(node_id) if code == _REFUSED else ""
            elif view.state is NodeState.STOPPING:
                view.state = NodeState.STOPPED
        elif view.state is NodeState.STARTING and self._is_ready(node_id):
            view.state = NodeState.SERVING

    def _is_ready(self, node_id: int) -> bool:
        """Return whether the node has printed since the last call that it is ready.

        The last read may have ended within that text, so the search begins before its end.
        """
        words, begin = READY.encode(), self._log_offsets[node_id]
        file = self._folder.log_file(node_id)
        if not file.exists():  # the node is being removed
            return False
        with file.open("rb") as log:
            log.seek(max(begin, self._read_to[node_id] - len(words)))
            output = log.read()
            self._read_to[node_id] = log.tell()
        return words in output

    def _last_words(self, node_id: int) -> str:
        """Return the last error in the output of a node that was refused its start, "" if there is
        none."""
        file = self._folder.log_file(node_id)
        if not file.exists():
            return ""
        with file.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_offsets[node_id], size - _LAST_WORDS_BYTES))
            lines = log.read().decode("utf-8", "replace").splitlines()
        messages = [line for line in lines if line.startswith(PREFIX) and "warning:" not in line]
        reasons = [line.removeprefix(PREFIX) for line in messages if READY not in line]
        return reasons[-1] if reasons else ""

    def _ask_status(self) -> None:
        """Set the view's status by the answer of any running node; None if none answers.

        Nodes that died are tried as well, because the user may have started them by hand: their
        state becomes ELSEWHERE.
        """
        for view in self._view.nodes.values():
            if view.state in (NodeState.DEAD, NodeState.ELSEWHERE):
                is_listening = accepts(HOST, view.node.port)
                view.state = NodeState.ELSEWHERE if is_listening else NodeState.DEAD
        up = (NodeState.SERVING, NodeState.ELSEWHERE)
        addresses = [
            (HOST, view.node.port) for view in self._view.nodes.values() if view.state in up
        ]
        try:
            self._view.status = status_of(addresses, _STATUS_TIMEOUT_S, self._guard)
        except StartError:  # a node may answer the next time
            self._view.status = None
        self._view.unanswered = self._view.status is None

    def _stop_all(self) -> None:
        """Send SIGTERM to the nodes in waves, and wait for the end of each wave. The active
        controller is last, because it moves others' leaders. Nodes that the user started by hand
        keep running."""
        waves = self._view.stop_order()
        self._view.status = None  # a cluster that stops is not degraded
        self._view.unanswered = False
        for wave in waves:
            for node_id in wave:
                view, process = self._view.nodes[node_id], self._processes.get(node_id)
                if process is not None and process.poll() is None:
                    view.state = NodeState.STOPPING
                    process.send_signal(signal.SIGTERM)
            self._wait_for(wave)
        started_by_hand = [
            view for view in self._view.nodes.values() if view.state is NodeState.ELSEWHERE
        ]
        self._show()
        for view in started_by_hand:
            _say(f"node {view.node.node_id} was started by hand and keeps running")

    def _wait_for(self, wave: Sequence[int]) -> None:
        """Wait without limit until the processes of a wave have ended; show their states. After
        _STOP_NOTICE_S, print that Ctrl-C kills them."""
        notice_at = time.monotonic() + _STOP_NOTICE_S
        while any(
            self._processes[node_id].poll() is None
            for node_id in wave
            if node_id in self._processes
        ):
            for node_id in self._processes:
                self._update_state(node_id)
            self._show()
            if time.monotonic() > notice_at:
                notice_at = float("inf")
                _say("this takes long; press Ctrl-C again to kill what is left")
            time.sleep(_POLL_S)
        for node_id in self._processes:
            self._update_state(node_id)
        self._show()

    def _show(self) -> None:
        """Print the current states to standard output."""
        self._screen.show(self._view)


class _Screen:
    """Standard output: on a terminal a table that is redrawn, else a line for each change."""

    def __init__(self) -> None:
        self._is_terminal = can_redraw(sys.stdout)
        self._paints = not os.environ.get("NO_COLOR")
        self._drawn: list[str] = []

    def show(self, view: ClusterDisplay) -> None:
        """Print the whole state in place of the last, if it has changed; without a terminal, print
        a line for each change."""
        if not self._is_terminal:
            for line in view.changes():
                say(line)
            return
        table = view.table()
        if table == self._drawn:
            return
        width = shutil.get_terminal_size().columns
        height = sum(1 + (len(line) - 1) // max(width, 1) for line in self._drawn if line)
        redraw([self._painted(line) for line in table], height)
        self._drawn = table

    def _painted(self, line: str) -> str | Styled:
        """Return a table's line in its colour, or as it is with NO_COLOR."""
        colour = colour_of(line) if self._paints else None
        return line if colour is None else Styled(line, colour, bold=False)


def _admin_guard(file: Path) -> ClientGuard:
    """Return the guard for requests to the nodes of a secured folder, from the admin's file.

    Raises StartError if the file is missing.
    """
    if not file.exists():
        raise StartError(
            f"{file} is missing: nodes are asked for their state with it; name another file of "
            "client properties with --command-config"
        )
    return command_guard(str(file))


def _say(text: str) -> None:
    """Print a line to standard output, after `ottla: `."""
    say(f"{PREFIX}{text}")


def introduction(folder: ClusterFolder) -> str:
    """Return the first line of a start: the cluster's id, its folder and its controllers."""
    ids = folder.layout.controllers
    number = len(folder.layout.nodes)
    kind_of_start = "a new cluster" if folder.is_new else "cluster"
    if len(ids) == number:
        roles = "each is broker and controller" if number > 1 else "it is broker and controller"
    else:
        roles = f"controllers are {', '.join(map(str, ids))}"
    nodes = f"{number} node{'' if number == 1 else 's'}"
    return f"{kind_of_start} {folder.cluster_id} in {_shown(folder.path)}, {nodes}, {roles}"


def how_to_connect(folder: ClusterFolder) -> str:
    """Return the line of a secured cluster that says how a client connects, as a command."""
    file = shlex.quote(str(_shown(folder.client_file(CLIENT_USER))))
    return (
        f"clients need TLS and a password, which {file} has; try it: ottla status "
        f"--bootstrap-server {HOST}:{folder.layout.nodes[0].port} --command-config {file}"
    )


def who_may_do_what(folder: ClusterFolder) -> str:
    """Return the line of a cluster with ACLs: the users' rights, and how to add users."""
    admin = shlex.quote(str(_shown(folder.client_file(ADMIN_USER))))
    return (
        f"user {CLIENT_USER} may write, read and create topics, {ADMIN_USER} may do everything; "
        "others begin with nothing: ottla user add NAME, then ottla acl add, both with "
        f"--bootstrap-server {HOST}:{folder.layout.nodes[0].port} --command-config {admin}"
    )


def _shown(path: Path) -> Path | str:
    """Return the path as a user can type it: relative paths begin with `./`."""
    return path if path.is_absolute() else f"./{path}"


def _start_command(file: Path) -> str:
    """Return the command that starts a node, quoted for a shell."""
    program = sys.argv[0]
    if shutil.which("ottla") is not None:
        command = "ottla"
    elif os.path.basename(program) == "ottla":
        command = shlex.quote(program)
    else:
        command = f"{shlex.quote(sys.executable)} -m ottla"
    return f"{command} serve --config {shlex.quote(str(file))}"


@contextlib.contextmanager
def _signals_into(handler: Callable[..., None]) -> Iterator[None]:
    """Have signals call `handler` in the block; restore the handlers after it."""
    handled = [number for number in _SIGNALS if is_heard(number)]
    before = {number: signal.signal(number, handler) for number in handled}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
