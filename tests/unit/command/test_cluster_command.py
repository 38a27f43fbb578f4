"""How a cluster's processes are watched and stopped, with small processes in place of nodes.

A stand-in says the line of a node that serves and ends at SIGTERM, or does what a test asks of it.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import IO, cast

import pytest

from broker.config.start_error import StartError
from command import cluster_command
from command.cluster_command import run_cluster
from command.cluster_folder import (
    format_all,
    layout_of,
    nodes_of,
    open_folder,
    properties_file,
    write_node,
)
from command.members.plans import nodes_to_add
from command.nodes.running import ask_to_start, is_asked_to_start
from ottla.launcher import READY
from tests.tools.ports import free_base
from tests.tools.waiting import wait_until

SERVES = (
    "import os, signal; signal.signal(15, lambda *_: os._exit(0)); "
    f"print('ottla: ./data has 1 topic, 70 B'); print('{READY}'); signal.pause()"
)
REFUSES = "print('ottla: log.dirs is on fire'); raise SystemExit(2)"
STUBBORN = (
    f"import signal; signal.signal(15, lambda *_: 0); print('{READY}')\nwhile 1: signal.pause()"
)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the nodes be these programs, by number; those not named serve."""

    def install(**programs: str) -> None:
        def command(*words: str) -> list[str]:
            found = re.search(r"broker-(\d)\.properties", words[2])
            assert found is not None
            return [sys.executable, "-S", "-c", programs.get(f"node{found[1]}", SERVES)]

        monkeypatch.setattr(cluster_command, "ottla_command", command)

    monkeypatch.setattr(cluster_command, "STATUS_INTERVAL_S", 0.1)
    install()
    return install


class Said:
    """The lines that came so far, read from another thread than the one that prints them."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def wait_for(self, words: str) -> None:
        try:
            wait_until(lambda: words in self.text, repr(words), pause_s=0.01)
        except AssertionError as never:
            never.add_note(f"it said:\n{self.text}")
            raise


@pytest.fixture
def said() -> Said:
    return Said()


def run_while(
    said: Said, story: Callable[[], None], folder: Path, brokers: int, *, secure: bool = False
) -> int:
    """Run a cluster here, where signals arrive, and a story about it beside it."""
    failures: list[BaseException] = []

    def told() -> None:
        try:
            story()
        except BaseException as failure:  # noqa: BLE001 - raised again in the test's own thread
            failures.append(failure)
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)

    teller = threading.Thread(target=told)
    teller.start()
    with redirect_stdout(cast(IO[str], said)):
        code = run_cluster(str(folder), brokers, free_base(), secure=secure)
    teller.join()
    if failures:
        raise failures[0]
    return code


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def pid_of(node_id: int, said: Said) -> int:
    found = re.search(rf"node {node_id} serves on port \d+ \(process (\d+)\)", said.text)
    assert found is not None
    return int(found[1])


def test_it_says_when_all_serve_and_stops_them_in_order(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    def story() -> None:
        said.wait_for("the cluster is ready: bootstrap servers localhost:")
        interrupt()

    assert run_while(said, story, tmp_path / "c", 3) == 0
    lines = said.text.splitlines()
    assert re.fullmatch(
        r"ottla: a new cluster \S{22} in \S+, 3 nodes, each is broker and controller", lines[0]
    )
    stopped = [line for line in lines if line.endswith("stopped")]
    assert stopped == [f"ottla: node {one} stopped" for one in (1, 2, 3)]
    again = f"ottla: all nodes stopped; ottla cluster --dir {tmp_path}/c starts them again"
    assert lines[-1] == again
    assert READY in (tmp_path / "c" / "broker-2" / "ottla.log").read_text()


def test_a_secured_cluster_says_how_clients_connect_and_no_password(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    def story() -> None:
        said.wait_for("the cluster is ready")
        interrupt()

    folder = tmp_path / "c"
    assert run_while(said, story, folder, 1, secure=True) == 0
    file, line = folder / "client.properties", said.text.splitlines()[1]
    assert re.fullmatch(
        rf"ottla: clients need TLS and a password, which {file} has; try it: "
        rf"ottla status --bootstrap-server localhost:\d+ --command-config {file}",
        line,
    )
    admin = folder / "admin.properties"
    assert re.fullmatch(
        r"ottla: user client may write, read and create topics, admin may do everything; .*"
        rf"ottla user add NAME, then ottla acl add, .* --command-config {admin}",
        said.text.splitlines()[2],
    )
    for one in (file, admin, folder / "broker-1.properties"):
        (password,) = re.findall(r'password="([^"]+)"', one.read_text())
        assert password not in said.text


def test_a_secured_cluster_without_the_file_of_its_administrator(tmp_path: Path) -> None:
    open_folder(str(tmp_path / "c"), 1, free_base(), secure=True)
    (tmp_path / "c" / "admin.properties").unlink()
    with pytest.raises(StartError, match=r"admin\.properties is missing: .*--command-config"):
        run_cluster(str(tmp_path / "c"), None, None)


def test_a_node_that_dies_is_shown_and_not_started_again(
    nodes: Callable[..., None], said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c" / "broker-2.properties"
    looked_at: list[int] = []

    def look(folder: Path, node_id: int) -> bool:
        looked_at.append(node_id)
        return is_asked_to_start(folder, node_id)

    monkeypatch.setattr(cluster_command, "is_asked_to_start", look)

    def story() -> None:
        said.wait_for("the cluster is ready")
        os.kill(pid_of(2, said), signal.SIGKILL)
        said.wait_for("node 2 is dead (killed by SIGKILL, see ")
        said.wait_for(f"serve --config {file}")
        looked_at.clear()
        wait_until(lambda: looked_at.count(2) >= 5, "looks at the node that died")
        interrupt()

    assert run_while(said, story, tmp_path / "c", 3) == 1
    assert said.text.count("node 2 serves") == 1
    assert "node 1 stopped" in said.text and "node 3 stopped" in said.text


def test_a_node_is_started_again_where_somebody_asks_for_it(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    def story() -> None:
        said.wait_for("the cluster is ready")
        first = pid_of(2, said)
        with pytest.raises(
            StartError, match=f"a cluster runs in .* already .process {os.getpid()}."
        ):
            run_cluster(str(tmp_path / "c"), None, free_base())
        os.kill(first, signal.SIGKILL)
        said.wait_for("node 2 is dead")
        said.text = ""
        ask_to_start(tmp_path / "c", 2)
        said.wait_for("node 2 serves on port")
        assert pid_of(2, said) != first and not is_asked_to_start(tmp_path / "c", 2)
        interrupt()

    assert run_while(said, story, tmp_path / "c", 2) == 0


def test_nodes_join_and_leave_while_it_runs(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    folder = tmp_path / "c"

    def story() -> None:
        said.wait_for("the cluster is ready")
        layout = layout_of(nodes_of(folder))
        (node,) = nodes_to_add(layout, 1)
        after = layout.with_nodes(node)
        write_node(folder, node, after, None, None)
        format_all(folder, after, None)
        ask_to_start(folder, node.node_id)
        said.wait_for("node 3 serves on port")
        said.wait_for(f"the cluster is ready: bootstrap servers {after.bootstrap_servers}")

        (folder / "broker-1" / "leaving").touch()
        os.kill(pid_of(1, said), signal.SIGTERM)
        said.wait_for("node 1 stopped")
        properties_file(folder, 1).unlink()
        said.wait_for("node 1 has left the cluster")
        said.wait_for(f"bootstrap servers {after.without(1).bootstrap_servers}\n")
        assert "dead" not in said.text
        interrupt()

    assert run_while(said, story, folder, 2) == 0
    assert "node 3 stopped" in said.text


def test_a_node_that_joins_with_a_wrong_file_is_told(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    def story() -> None:
        said.wait_for("the cluster is ready")
        ask_to_start(tmp_path / "c", 7)
        properties_file(tmp_path / "c", 8).write_text("node.id=eight\n")
        ask_to_start(tmp_path / "c", 8)
        said.wait_for("node 8 is not started: ")
        assert not is_asked_to_start(tmp_path / "c", 7)
        interrupt()

    assert run_while(said, story, tmp_path / "c", 2) == 0


def test_a_node_that_refuses_to_start_says_why(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    nodes(node1=REFUSES)

    def story() -> None:
        said.wait_for("node 1 is dead (exit code 2: log.dirs is on fire); start it again with: ")
        interrupt()

    assert run_while(said, story, tmp_path / "c", 2) == 1
    assert "the cluster is ready" not in said.text


def test_a_node_may_say_much_before_it_serves_or_refuses(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    """As one that recovers many logs does."""
    much = "[print('ottla: warning: recovered t-%d' % one) for one in range(2000)]; "
    nodes(node1=much + SERVES, node2=much + REFUSES)

    def story() -> None:
        said.wait_for("node 1 serves on port")
        said.wait_for("node 2 is dead (exit code 2: log.dirs is on fire)")
        interrupt()

    assert run_while(said, story, tmp_path / "c", 2) == 1


def test_it_ends_when_all_are_dead(nodes: Callable[..., None], said: Said, tmp_path: Path) -> None:
    nodes(node1=REFUSES, node2=REFUSES)
    assert run_while(said, lambda: None, tmp_path / "c", 2) == 1
    assert said.text.endswith("ottla: all nodes are dead\n")


def test_a_second_signal_kills(nodes: Callable[..., None], said: Said, tmp_path: Path) -> None:
    nodes(node1=STUBBORN)

    def story() -> None:
        said.wait_for("the cluster is ready")
        interrupt()
        said.wait_for("node 1 is stopping")
        interrupt()

    assert run_while(said, story, tmp_path / "c", 2) == 1
    assert "node 1 stopped, killed by SIGKILL" in said.text


def test_a_node_that_was_started_again_by_hand_is_seen_and_left_alone(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    def story() -> None:
        said.wait_for("the cluster is ready")
        os.kill(pid_of(2, said), signal.SIGKILL)
        said.wait_for("node 2 is dead")
        found = re.search(r"node 2 serves on port (\d+)", said.text)
        assert found is not None
        with socket.create_server(("127.0.0.1", int(found[1]))):
            said.wait_for("node 2 was started again by hand")
            interrupt()
            said.wait_for("node 2 was started by hand and keeps running")

    run_while(said, story, tmp_path / "c", 2)


def test_a_taken_port_is_one_line_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = free_base()
    with (
        socket.create_server(("127.0.0.1", base + 1)),
        pytest.raises(StartError, match=rf"^port {base + 1} for node 2 is taken: .* --port \d+$"),
    ):
        run_cluster(str(tmp_path / "c"), 3, base)
    assert capsys.readouterr().out == ""


def test_signals_mean_again_what_they_meant(
    nodes: Callable[..., None], said: Said, tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    nodes(node1=REFUSES)
    assert run_while(said, lambda: None, tmp_path / "c", 1) == 1
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_terminal_is_drawn_over(
    nodes: Callable[..., None], said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(said, "isatty", lambda: True)

    def story() -> None:
        said.wait_for("serving")
        interrupt()

    assert run_while(said, story, tmp_path / "c", 1) == 0
    assert "\x1b[2F\x1b[J" in said.text, "two lines: the node, and the bootstrap servers"
    assert "node 1  port " in said.text and "stopped" in said.text
