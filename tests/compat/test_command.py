"""The command as a process: what it says, how it stops, and that what is wrong is one line."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.launcher import READY
from ottla.testing.broker_process import HOST, BrokerProcess
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.clients.wire_client import WireClient
from tests.tools.ports import free_port
from tests.tools.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


def ottla(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "command", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=90,
    )


@pytest.fixture
def broker() -> Iterator[BrokerProcess]:
    with BrokerProcess() as process:
        yield process


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a command that refused to start."""
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr and done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if "single-node profile" not in line]
    assert len(lines) == 1 and lines[0].startswith("ottla: "), done.stderr
    return lines[0]


def exit_code(broker: BrokerProcess) -> int:
    """That of one that ends by itself."""
    wait_until(lambda: not broker.running, "its end")
    return broker.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly_and_is_told(broker: BrokerProcess, number: int) -> None:
    said = broker.output()
    os.kill(broker.pid, number)
    assert exit_code(broker) == 0
    told = broker.output().removeprefix(said).strip().splitlines()
    stopped = f"ottla: node 1 stopped; its data stays in {broker.data_dir}"
    assert told == ["ottla: node 1 is stopping", stopped]
    assert (broker.data_dir / ".kafka_cleanshutdown").exists()


def test_a_signal_under_load_stops_it_cleanly(broker: BrokerProcess) -> None:
    """Fifty connections: silent ones, ones in the midst of a frame, ones that wait, repeated."""
    with WireClient(broker.port) as client:
        client.call(CreateTopicsRequest([CreatableTopic("t", 1, 1)], timeout_ms=60_000), 7)
    with contextlib.ExitStack() as stack:
        for number in range(45):
            peer = stack.enter_context(socket.create_connection((HOST, broker.port)))
            if number % 3 == 1:
                peer.sendall(b"\0\0\1")
        for _ in range(5):
            client = stack.enter_context(WireClient(broker.port))
            topic = FetchTopic("t", partitions=[FetchPartition(0, partition_max_bytes=100)])
            client.send(FetchRequest(max_wait_ms=600_000, min_bytes=1, topics=[topic]), 11)
        for _ in range(3):
            os.kill(broker.pid, signal.SIGINT)
        assert exit_code(broker) == 0
    assert "Traceback" not in broker.output()
    assert (broker.data_dir / ".kafka_cleanshutdown").exists()


def test_it_says_two_lines_and_no_more(broker: BrokerProcess) -> None:
    profile, ready = broker.output().splitlines()
    assert "using the single-node profile" in profile
    assert ready == f"ottla: node 1 {READY} {HOST}:{broker.port} (press Ctrl-C to stop)"


def test_a_port_that_is_taken(broker: BrokerProcess, tmp_path: Path) -> None:
    listeners = f"listeners=PLAINTEXT://{HOST}:{broker.port}"
    line = refusal(ottla("serve", "--override", listeners, folder=tmp_path))
    assert str(broker.port) in line and "in use" in line.lower()
    line = refusal(
        ottla("serve", "--override", listeners, "--cluster-id", "A" * 21 + "Q", folder=tmp_path)
    )
    assert "in use" in line.lower()
    assert list(tmp_path.iterdir()) == [], "the next start may be in another folder"


def test_a_folder_that_is_taken(broker: BrokerProcess, tmp_path: Path) -> None:
    keys = [f"log.dirs={broker.data_dir}", f"listeners=PLAINTEXT://{HOST}:{free_port()}"]
    line = refusal(
        ottla("serve", *(word for key in keys for word in ("--override", key)), folder=tmp_path)
    )
    assert str(broker.data_dir) in line


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    line = refusal(ottla("serve", "--override", f"log.dirs={file}/data", folder=tmp_path))
    assert str(file) in line


def test_a_folder_of_another_node(broker: BrokerProcess, tmp_path: Path) -> None:
    broker.stop()
    keys = [f"log.dirs={broker.data_dir}", "node.id=7", "listeners=PLAINTEXT://localhost:0"]
    line = refusal(
        ottla("serve", *(word for key in keys for word in ("--override", key)), folder=tmp_path)
    )
    assert "7" in line and str(broker.data_dir) in line


def test_format_then_serve_with_a_cluster_id_of_ones_own(tmp_path: Path) -> None:
    cluster_id = "MkU3OEVBNTcwNTJENDM2Qg"
    folder = tmp_path / "data"
    arguments = ("--override", f"log.dirs={folder}")
    done = ottla("format", "--cluster-id", cluster_id, *arguments, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(folder) in done.stdout
    shown = ottla("dump-log", str(folder / "meta.properties"), folder=tmp_path)
    assert f"cluster.id={cluster_id}" in shown.stdout.splitlines()
    with BrokerProcess(data_dir=folder) as process:
        assert process.running


def test_metrics_are_served_when_asked_for() -> None:
    port = free_port()
    address = f"http://{HOST}:{port}/metrics"
    settings = {"ottla.metrics.port": str(port), "ottla.metrics.host": HOST}
    with BrokerProcess(settings), urllib.request.urlopen(address, timeout=60) as answer:
        text = answer.read().decode()
    for name in (
        "kafka_server_brokertopicmetrics_messagesin_total",
        "kafka_server_replicamanager_partitioncount",
        "kafka_controller_kafkacontroller_activecontrollercount",
    ):
        assert f"\n{name}" in text, text
