"""What README.md and docs/operations.md show works, word for word, but for ports and folders."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click import Context

from client.cluster_status import (
    BrokerState,
    ClusterStatus,
    QuorumState,
    VoterState,
)
from client.status_report import report
from command.cli import ottla
from command.cluster_command import introduction
from command.cluster_display import ClusterDisplay, NodeState, NodeView
from command.cluster_folder import ClusterFolder
from command.cluster_layout import new_layout
from ottla.launcher import READY
from ottla.testing import Broker
from ottla.testing.broker_process import BrokerProcess
from tests.tools.java_tools import java_home_bin, spark_jars

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
CONSOLES = re.findall(
    r"```console\n(.*?)```", README + (ROOT / "docs" / "operations.md").read_text(), re.DOTALL
)
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def snippet(word: str) -> str:
    """The one example that contains a word."""
    (found,) = (text for text in SNIPPETS if word in text)
    return str(found)


def run(script: str, folder: Path, timeout: float = 110) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def readme_broker() -> Iterator[BrokerProcess]:
    with BrokerProcess() as process:
        yield process


@pytest.fixture(scope="module")
def greeted(
    readme_broker: BrokerProcess, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The address to put into a snippet, and a folder to run it in; the topic has a record."""
    address = f'"{readme_broker.bootstrap_servers}"'
    folder = tmp_path_factory.mktemp("readme")
    out = run(snippet("import KafkaConsumer").replace('"localhost:9092"', address), folder)
    assert "b'en' b'hello'" in out
    return address, folder


def test_the_two_clients(greeted: tuple[str, Path]) -> None:
    address, folder = greeted
    out = run(snippet("confluent_kafka").replace('"localhost:9092"', address), folder)
    assert out.startswith("0 b'en' b'hello")


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_spark(greeted: tuple[str, Path]) -> None:
    address, folder = greeted
    script = snippet("SparkSession").replace('"localhost:9092"', address)
    packages = re.compile(r'\.config\(\s*"spark\.jars\.packages", "[^"]*"\s*\)')
    assert packages.search(script)
    jars = ",".join(spark_jars())
    local = (
        f'.master("local[1]").config("spark.ui.enabled", "false").config("spark.jars", "{jars}")'
    )
    java = java_home_bin()
    assert java is not None
    out = run(
        packages.sub(local, script) + "\nprint('batches', len(query.recentProgress))\n",
        folder,
        timeout=280,
    )
    assert "batches" in out
    check = (
        "from kafka import KafkaConsumer\n"
        f"c = KafkaConsumer('shouts', bootstrap_servers={address}, auto_offset_reset='earliest',"
        " consumer_timeout_ms=60000)\nprint(next(c).value)\nc.close()\n"
    )
    assert "b'HELLO" in run(check, folder)


def test_the_pytest_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_orders.py").write_text(snippet("def test_orders_are_sent"))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers --strict-config\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "ottla.testing.pytest_plugin"),
            str(tmp_path),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr


def test_what_serve_says(readme_broker: BrokerProcess) -> None:
    """The two lines of the first minute, but for the folder and the port."""
    shown = re.search(r"\$ make run\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    said = readme_broker.output().splitlines()
    for wanted, line in zip(shown[1].splitlines(), said, strict=False):
        stem = re.split(r"data in|localhost", wanted)[0]
        assert line.startswith(stem), said
    assert READY in shown[1]


def test_every_command_and_option_exists() -> None:
    named = re.findall(r"^\| `ottla ([a-z-]+)(?: (--[a-z-]+))?", README, re.MULTILINE)
    assert len(named) >= 5
    for name, option in named:
        command = ottla.get_command(Context(ottla), name)
        assert command is not None
        options = [text for one in command.params for text in one.opts]
        assert not option or option in options


def test_the_fixture_has_what_the_table_says() -> None:
    (row,) = (line for line in README.splitlines() if "`.bootstrap_servers`" in line)
    table = README[README.index(row) : README.index("## The command")]
    names = re.findall(r"`\.([a-z_]+)", table)
    with contextlib.closing(Broker()) as broker:
        known = {*dir(Broker), *vars(broker)}
    assert len(names) == 8 and set(names) <= known


def console(word: str) -> list[str]:
    """The lines of the one console example that contains a word."""
    found = [text for text in CONSOLES if word in text]
    assert len(found) == 1, found
    return str(found[0]).splitlines()


def test_what_cluster_and_status_say() -> None:
    """Every line shown is one that the code writes, for the cluster that is shown."""
    layout = new_layout(3)
    nodes = {
        node.node_id: NodeView(
            node,
            4710 + node.node_id,
            f"ottla serve --config cluster/broker-{node.node_id}.properties",
            f"cluster/broker-{node.node_id}/ottla.log",
            NodeState.SERVING,
        )
        for node in layout.nodes
    }
    voters = [VoterState(one, 0, 0) for one in (1, 2, 3)]
    shown = ClusterStatus(
        cluster_id="jk6M3w4xSRu0i0cJm8WJpw",
        brokers=[BrokerState(one, "localhost", 9091 + one, None, False) for one in (1, 2, 3)],
        quorum=QuorumState(1, 1, 0, voters, []),
        topics=2,
        partitions=51,
        under_replicated=[],
        under_min_isr=[],
        offline=[],
        internal_topics=1,
    )
    view = ClusterDisplay(layout, nodes, shown)
    first = console("ottla cluster --brokers 3")
    new = ClusterFolder(Path("cluster"), layout, shown.cluster_id, is_new=True)
    assert first[1:] == [f"ottla: {introduction(new)}", *view.table()]
    assert console("ottla status --bootstrap-server")[1:] == report(shown)
    nodes[2].state, nodes[2].exit_code = NodeState.DEAD, -9
    fenced = [replace(one, fenced=one.node_id == 2) for one in shown.brokers]
    behind = [replace(voter, behind_ms=-1 if voter.node_id == 2 else 0) for voter in voters]
    quorum = replace(shown.quorum, voters=behind) if shown.quorum else None
    view.status = replace(shown, brokers=fenced, quorum=quorum)  # without topics
    assert {*console("kill -9 4712")[1:]} <= {*view.table()}


def test_the_nodes_of_conf_start_as_the_readme_says() -> None:
    lines = console("ottla format --config conf/broker-1.properties")
    (said,) = (line for line in lines if line.startswith("ottla: "))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "command", *lines[0].split()[2:]],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OTTLA_CLUSTER_ID": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.rpartition(" ")[0] == said.rpartition(" ")[0]
    serve = lines[-1].split()[2:]
    assert serve[0] == "serve" and serve[1::2] == ["--config", "--cluster-id"]
    assert (ROOT / serve[2]).exists()
