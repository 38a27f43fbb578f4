"""What README.md says works, word for word; only ports and folders are replaced."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.broker_process import READY, BrokerProcess
from broker.cli import ottla
from tests.java_tools import java_home_bin, spark_jars

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def snippet(word: str) -> str:
    """The one example that contains a word."""
    (found,) = (text for text in SNIPPETS if word in text)
    return str(found)


def run(script: str, folder: Path, timeout: float = 60) -> str:
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
    packages = re.compile(r'\.config\("spark\.jars\.packages", "[^"]*"\)')
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
        " consumer_timeout_ms=20000)\nprint(next(c).value)\nc.close()\n"
    )
    assert "b'HELLO" in run(check, folder)


def test_the_pytest_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_orders.py").write_text(snippet("def test_orders_are_sent"))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers --strict-config\n")
    done = subprocess.run(
        [*(sys.executable, "-m", "pytest", "-q", "-p", "broker.pytest_plugin"), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout + done.stderr


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
        command = ottla.commands[name]
        options = [text for one in command.params for text in one.opts]
        assert not option or option in options


def test_the_fixture_has_what_the_table_says() -> None:
    (row,) = (line for line in README.splitlines() if "`.bootstrap_servers`" in line)
    table = README[README.index(row) : README.index("`ottla_broker_scope`")]
    names = re.findall(r"`\.([a-z_]+)", table)
    process = BrokerProcess()
    assert [
        name for name in names if not hasattr(type(process), name) and name not in vars(process)
    ] == []
    process.close()
