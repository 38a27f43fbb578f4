"""What a node's socket says, and each way in which it says nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.process.trace_socket import SOCKET_NAME
from console.flow import trace_reader
from console.flow.trace_reader import GONE, HOW_TO, NoTraces, ask

NODE = b'{"kind":"node","node_id":3,"cluster_id":"c","revision":9,"now_s":1.5}\n'


@contextmanager
def node(folder: Path, says: bytes) -> Iterator[list[bytes]]:
    """Answers one reader."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / SOCKET_NAME))
        listening.listen()

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                heard.append(connection.makefile("rb").readline())
                connection.sendall(says)

        thread = threading.Thread(target=answer)
        thread.start()
        yield heard
        thread.join()


def test_traces_and_copies_are_told_apart(tmp_path: Path) -> None:
    says = NODE + b'{"kind":"request","number":1}\n{"kind":"copy"}\n{"kind":"of later"}\n'
    with node(tmp_path, says) as heard:
        told = ask(str(tmp_path), 7)
    assert heard == [b'{"since": 7}\n']
    assert (told.node_id, told.revision) == (3, 9)
    assert (len(told.traces), len(told.copies)) == (1, 1)


@pytest.mark.parametrize("says", [b"", b"hello\n", b"[]\n", b'{"kind":"node"}\n', NODE + b"{}\n"])
def test_what_no_broker_says(tmp_path: Path, says: bytes) -> None:
    with node(tmp_path, says), pytest.raises(NoTraces, match="an invalid answer"):
        ask(str(tmp_path))


def test_an_answer_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_reader, "ANSWER_MAX_BYTES", 10)
    with node(tmp_path, NODE), pytest.raises(NoTraces, match="too large"):
        ask(str(tmp_path))


def test_no_socket_and_one_that_nobody_has(tmp_path: Path) -> None:
    with pytest.raises(NoTraces) as missing:
        ask(str(tmp_path))
    assert str(missing.value) == HOW_TO
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / SOCKET_NAME))
    with pytest.raises(NoTraces) as gone:
        ask(str(tmp_path))
    assert str(gone.value) == GONE
