"""The trials of an installed distribution: a served broker, its console, a login, the fixtures."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from ottla.launcher import READY
from tests.release.environments import FreshEnvironment
from tests.tools.ports import free_base

TIMEOUT_S = 120
FIXTURES = """
def test_the_helpers(ottla):
    orders = ottla.topic("orders", partitions=2)
    orders.seed([("k", {"id": 1}), b"raw"])
    assert len(orders.consume(2)) == 2
    ottla.assert_produced(orders, key=b"k")


def test_a_broker_is_killed_and_restarted(ottla_broker):
    ottla_broker.topic("orders").seed([b"kept"])
    ottla_broker.kill()
    ottla_broker.restart()
    assert [record.value for record in ottla_broker.topic("orders").consume(1)] == [b"kept"]
"""


def try_it(environment: FreshEnvironment, version: str) -> None:
    """Run each trial. Raises AssertionError with the output of the one that failed."""
    shown = environment.run("ottla", "--version")
    assert shown == f"ottla {version}\n", shown
    _serve(environment)
    _log_in(environment)
    tests = environment.folder / "tests"
    tests.mkdir()
    (tests / "test_fixtures.py").write_text(FIXTURES)
    said = environment.run("python", "-m", "pytest", "-q", tests)
    assert "2 passed" in said, said


@contextmanager
def _running(environment: FreshEnvironment, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command `ottla` in a `with` block, at most TIMEOUT_S long, and kill it at the end."""
    process = subprocess.Popen(
        [environment.bin / "ottla", *words],
        cwd=environment.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watchdog = threading.Timer(TIMEOUT_S, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def _serve(environment: FreshEnvironment) -> None:
    """Serve a broker with its console, write and read a record, and stop cleanly."""
    data = str(environment.folder / "data")
    ports = ("--port", "0", "--console", "0")
    with _running(environment, "serve", *ports, "--data", data) as process:
        servers, link = _addresses(process)
        _write_and_read(environment, servers)
        _look_at_console(link)
        process.terminate()
        assert process.wait() == 0, f"ottla serve ended with {process.returncode}"


def _log_in(environment: FreshEnvironment) -> None:
    """Log in through TLS by SCRAM to a secured cluster of one node, and stop it cleanly."""
    folder, port = environment.folder / "cluster", free_base()
    options = ("--secure", "--brokers", "1", "--dir", str(folder), "--port", str(port))
    with _running(environment, "cluster", *options) as process:
        _wait_until_healthy(process)
        login = ("--command-config", folder / "client.properties")
        said = environment.run("ottla", "status", "-b", f"localhost:{port}", *login)
        assert "healthy" in said, said
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0, f"ottla cluster ended with {process.returncode}"


def _wait_until_healthy(process: subprocess.Popen[str]) -> None:
    """Read the output of `ottla cluster` until it says so. AssertionError if it ends before."""
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        if "the cluster is healthy" in line:
            return
    raise AssertionError(f"ottla cluster ended early:\n{said}")


def _addresses(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Return the broker's address and the console's link, from the output of `ottla serve`."""
    said = ""
    assert process.stdout is not None
    for line in process.stdout:
        said += line
        servers = re.search(rf"{READY} (\S+)", said)
        link = re.search(r"the console is at (http\S+)", said)
        if servers and link:
            return servers[1], link[1]
    raise AssertionError(f"ottla serve ended before it was ready:\n{said}")


def _write_and_read(environment: FreshEnvironment, servers: str) -> None:
    file = environment.folder / "record.txt"
    file.write_text("hello\n")
    place = ("--bootstrap-server", servers)
    environment.run("ottla", "topic", "create", "greetings", *place)
    environment.run("ottla", "produce", "greetings", file, *place)
    said = environment.run("ottla", "consume", "greetings", *place)
    assert "hello" in said, said


def _look_at_console(link: str) -> None:
    """Read the page and one answer of the console, with the token of its link."""
    parts = urlsplit(link)
    token = parts.query.partition("=")[2]
    cookie = {"cookie": f"ottla_console_{parts.port}={token}"}
    for path in ("/", "/api/about"):
        address = f"http://{parts.netloc}{path}"
        with urllib.request.urlopen(urllib.request.Request(address, headers=cookie)) as answer:
            assert answer.status == 200 and answer.read(), path


def distribution_version(distribution: Path) -> str:
    """Return the version in the name of a wheel or a source distribution."""
    return distribution.name.removesuffix(".tar.gz").split("-")[1]
