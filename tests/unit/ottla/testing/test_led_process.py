"""A process that is led, with a script in the place of its program; and one of a kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ottla.testing import led_process
from ottla.testing.errors import OttlaError
from ottla.testing.led_process import LedProcess, OnePerProcess

# Answers with its role and the number of descriptors; ends at the end of its channel, or does not.
STAND_IN = """
import os, signal, socket, sys
sys.path.insert(0, {root!r})
from ottla.testing.frames import HELLO, JsonFrameReader, encode
pair = socket.socket(fileno=int(sys.argv[2]))
pair.sendall(encode(HELLO))
reader = JsonFrameReader()
while True:
    data, fds, _, _ = socket.recv_fds(pair, 10000, 4)
    if not data:
        break
    for message in reader.feed(data):
        if message.get("op") == "die":
            sys.exit("it came to harm")
        if "id" in message:
            pair.sendall(encode({{"id": message["id"], "result": [sys.argv[1], len(fds)]}}))
if sys.argv[1] == "stubborn":
    signal.pause()
"""


@pytest.fixture(autouse=True)
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "main.py"
    script.write_text(STAND_IN.format(root=str(Path(__file__).parents[4])))
    monkeypatch.setattr(led_process, "_MAIN", script)


def test_it_is_called_and_ends() -> None:
    one = LedProcess("role", "it")
    assert one.call("op", {}, fds=(0, 1)) == ["role", 2]
    assert one.running and one.owner_pid == os.getpid()
    assert os.getpgid(one.pid) == one.pid, "a terminal's Ctrl-C does not reach it"
    one.close(20)
    assert not one.running and not Path(f"/proc/{one.pid}").exists()


def test_one_that_does_not_end_is_killed() -> None:
    one = LedProcess("stubborn", "it")
    one.call("op", {})
    one.close(0.01)
    assert not Path(f"/proc/{one.pid}").exists()


def test_its_end_is_told_with_what_it_said() -> None:
    one = LedProcess("role", "it")
    with pytest.raises(OttlaError, match="it has ended(.|\n)*it came to harm"):
        one.call("die", {})
    assert not one.running
    one.close(20)


class Kind:
    def __init__(self) -> None:
        self.running = True
        self.owner_pid = os.getpid()
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_one_of_a_kind() -> None:
    kind = OnePerProcess(Kind)
    first = kind.get()
    assert kind.get() is first
    first.running = False
    second = kind.get()
    assert second is not first
    second.owner_pid = 1  # as if this process had been forked from that one
    kind._close_own()
    assert (first.closed, second.closed) == (1, 0)
