"""The host's loop, with a command in place of a broker. Real forks: tests/compat/testing."""

from __future__ import annotations

import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.testing.host import Host
from ottla.testing.frames import HELLO, FrameReader, Json, Message, encode


class Tests:
    """The process of tests at the other end."""

    __test__ = False

    def __init__(self) -> None:
        self.end, theirs = socket.socketpair()
        self.host = Host(theirs, "host_main.py", can_fork=False)
        self.end.sendall(encode(HELLO))
        self._reader = FrameReader()

    def send(self, op: str, **args: Json) -> None:
        self.end.sendall(encode({"id": 1, "op": op, "args": args}))

    def answer(self) -> Message:
        found: list[Message] = []
        while not found:
            assert self.host.turn()
            self.end.setblocking(False)
            try:
                found += self._reader.feed(self.end.recv(10000))
            except BlockingIOError:
                continue
        return found[0]

    def ask(self, op: str, **args: Json) -> Json:
        self.send(op, **args)
        return self.answer()["result"]


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tests]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one = Tests()
    with one.host.watching():
        yield one
    one.end.close()


def sleeping(tests: Tests, log: Path) -> int:
    command = [sys.executable, "-c", "import signal; print('there', flush=True); signal.pause()"]
    return int(tests.ask("run", command=command, log=str(log), environment={}))


def test_a_command_and_its_end(tests: Tests, tmp_path: Path) -> None:
    pid = sleeping(tests, tmp_path / "log")
    assert tests.ask("signal", pid=pid, signal=0) is True
    tests.send("wait", pid=pid)
    tests.host.turn()
    assert tests.ask("signal", pid=pid, signal=int(signal.SIGKILL)) in (True, -signal.SIGKILL)
    tests.answer()
    assert tests.ask("signal", pid=pid, signal=0) is False


def test_folders(tests: Tests) -> None:
    folder = Path(tests.ask("folder", name="one", keep=False))
    assert folder.is_dir()
    tests.ask("drop", folder=str(folder))
    assert not folder.exists()


@pytest.mark.parametrize(
    ("op", "args", "why"),
    [
        ("signal", {"pid": 1, "signal": 9}, "no process 1 was started here"),
        ("run", {"command": ["/nothing"], "log": "/dev/null", "environment": {}}, "No such file"),
    ],
)
def test_what_cannot_be_done_is_told(
    tests: Tests, op: str, args: dict[str, Json], why: str
) -> None:
    tests.send(op, **args)
    assert why in tests.answer()["error"]["text"]


def test_the_end_of_the_tests_ends_it_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one = Tests()
    with one.host.watching():
        folder = Path(one.ask("folder", name="one"))
        pid = sleeping(one, folder / "log")
        one.end.close()
        assert not one.host.turn()
    assert not folder.parent.exists()
    assert not Path(f"/proc/{pid}").exists()


def test_another_version_ends_it(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(encode({"version": 99}) + encode({"id": 1, "op": "folder", "args": {}}))
    with ours:
        Host(theirs, "host_main.py", can_fork=False).run()
        assert list(FrameReader().feed(ours.recv(10000))) == [HELLO], "it does nothing"
