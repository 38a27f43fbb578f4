"""The host's loop, with a command in place of a broker. Real forks: tests/compat/testing."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.testing.frames import HELLO, Json, JsonFrameReader, JsonMessage, encode
from testbed.host import Host


class Tests:
    """The process of tests at the other end."""

    __test__ = False

    def __init__(self) -> None:
        self.end, theirs = socket.socketpair()
        self.host = Host(theirs, "host_main.py", can_fork=False)
        self.end.sendall(encode(HELLO))
        self._reader = JsonFrameReader()

    def send(self, op: str, **args: Json) -> None:
        self.end.sendall(encode({"id": 1, "op": op, "args": args}))

    def answer(self) -> JsonMessage:
        found: list[JsonMessage] = []
        while not found:
            assert self.host.turn()
            self.end.setblocking(False)
            try:
                found += self._reader.feed(self.end.recv(10000))
            except BlockingIOError:
                continue
        return found[0]


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tests]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    one = Tests()
    with one.host.watching():
        yield one
    one.end.close()


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


def test_another_version_ends_it(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(encode({"version": 99}) + encode({"id": 1, "op": "folder", "args": {}}))
    with ours:
        Host(theirs, "host_main.py", can_fork=False).run()
        assert list(JsonFrameReader().feed(ours.recv(10000))) == [HELLO], "it does nothing"
