"""The host as the tests' process sees it; a script stands in for the program of the host."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing import host, led_process
from ottla.testing.errors import OttlaError
from ottla.testing.host import HostProcess, can_fork, the_host
from ottla.testing.led_process import OnePerProcess

# Answers each call with what it was asked, but for some.
STAND_IN = """
import os, socket, sys
sys.path.insert(0, {root!r})
from ottla.testing.frames import HELLO, FrameReader, encode
pair = socket.socket(fileno=int(sys.argv[2]))
pair.sendall(encode(HELLO))
reader = FrameReader()
while True:
    data, fds, _, _ = socket.recv_fds(pair, 10000, 4)
    if not data:
        break
    for message in reader.feed(data):
        if message.get("op") == "drop":
            sys.exit("the host came to harm")
        if message.get("op") == "folder":
            pair.sendall(encode({{"id": message["id"], "result": sys.argv[1]}}))
        elif "id" in message:
            pair.sendall(encode({{"id": message["id"], "result": 41 + len(fds)}}))
"""


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "host_main.py"
    script.write_text(STAND_IN.format(root=str(Path(__file__).parents[4])))
    monkeypatch.setattr(led_process, "_MAIN", script)
    monkeypatch.setattr(host, "_one", OnePerProcess(HostProcess))


@pytest.fixture
def process() -> Iterator[HostProcess]:
    one = HostProcess()
    yield one
    one.close()


def test_calls(process: HostProcess, tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert process.start(theirs, tmp_path) == 42
    process.load()
    assert process.run(["true"], tmp_path, {}) == 41
    assert process.signal(1, signal.SIGTERM) is True
    assert process.wait(1, 5) == 41
    assert process.running and os.getpgid(process.pid) == process.pid


def test_whether_it_forks_is_told_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, role in (("1", "host"), ("0", "spawning-host")):
        monkeypatch.setenv("OTTLA_TESTING_FORK", value)
        monkeypatch.setattr("sys.platform", "linux")
        assert can_fork() is (role == "host")
        one = HostProcess()
        assert one.folder("x") == Path(role)
        one.close()
    monkeypatch.setenv("OTTLA_TESTING_FORK", "1")
    monkeypatch.setattr("sys.platform", "darwin")
    assert not can_fork()


def test_one_for_the_process_until_it_ends() -> None:
    first = the_host()
    assert the_host() is first
    first.close()
    assert not first.running
    second = the_host()
    assert second is not first and second.running
    second.close()


def test_its_end_is_told_with_what_it_said(process: HostProcess) -> None:
    with pytest.raises(OttlaError, match="has ended(.|\n)*the host came to harm"):
        process.drop(Path("x"))
    assert not process.running


def test_another_process_does_not_use_it(
    process: HostProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as forked:
        forked.setattr(os, "getpid", lambda: 1)
        assert not process.running
    assert process.running
