"""What Linux does with sockets and threads, and what takes its place elsewhere."""

from __future__ import annotations

import importlib.util
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from broker.network import socket_calls


def loaded_anew() -> ModuleType:
    """The module as a system that is seen now has it."""
    spec = importlib.util.spec_from_file_location("socket_calls_anew", socket_calls.__file__)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """On a system with none of the calls."""
    monkeypatch.delattr(os, "sendfile", raising=False)
    monkeypatch.delattr(time, "pthread_getcpuclockid", raising=False)
    for name in ("MSG_MORE", "TCP_CONGESTION"):
        monkeypatch.delattr(socket, name, raising=False)
    return loaded_anew()


@pytest.fixture(params=["here", "elsewhere"])
def calls(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("bare") if request.param == "elsewhere" else socket_calls


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_bytes(bytes(range(256)) * 4096)
    fd = os.open(tmp_path / "file", os.O_RDONLY)
    yield fd
    os.close(fd)


def test_a_piece_of_a_file_is_sent(
    calls: Any, pair: tuple[socket.socket, socket.socket], fd: int
) -> None:
    ours, theirs = pair
    assert ours.send(b"head", calls.MORE) == 4
    assert calls.send_file(ours.fileno(), fd, 250, 10) == 10
    assert theirs.recv(100) == b"head" + bytes([*range(250, 256), *range(4)])
    assert calls.send_file(ours.fileno(), fd, 256 * 4096, 10) == 0
    assert os.lseek(fd, 0, os.SEEK_CUR) == 0


def test_a_full_socket_takes_a_part_and_then_nothing(
    calls: Any, pair: tuple[socket.socket, socket.socket], fd: int
) -> None:
    ours, theirs = pair
    sent = 0
    with pytest.raises(BlockingIOError):
        while True:
            sent += calls.send_file(ours.fileno(), fd, sent, 256 * 4096)
    assert 0 < sent < 256 * 4096
    received = b""
    while len(received) < sent:
        received += theirs.recv(1 << 20)
    assert received == (bytes(range(256)) * 4096)[:sent]


def test_a_system_without_them(bare: Any) -> None:
    assert bare.MORE == 0 and bare.TCP_CONGESTION is None


def test_a_threads_cpu_time_is_told(calls: Any) -> None:
    clock = calls.thread_cpu_clock()
    before = clock()
    until = time.thread_time() + 0.002
    while time.thread_time() < until:
        pass
    after = clock()
    assert after - before >= 0.002
    told: list[float] = []
    other = threading.Thread(target=lambda: told.append(clock()))
    other.start()
    other.join()
    assert after <= told[0] <= clock()
