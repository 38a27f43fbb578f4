"""A sender of answers with the peer's end, and what it sends of files."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from broker.network.file_send import ResponseSender
from ground import platform_calls
from tests.tools.waiting import LIMIT_S

NO_WAIT = 8
"""The flag with which the page cache is asked, here also on a system that cannot be asked."""


def look_by(monkeypatch: pytest.MonkeyPatch, read_into: Callable[..., int]) -> None:
    """Have files read by a function that knows what is in the page cache."""
    monkeypatch.setattr(platform_calls, "NO_WAIT", NO_WAIT)
    monkeypatch.setattr(platform_calls, "read_into", read_into)


def look_and_find_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the page cache tell that it holds every file, on a system where it tells nothing too."""
    real = platform_calls.read_into

    def read_into(fd: int, buffers: Any, position: int, _flags: int) -> int:
        return real(fd, buffers, position, 0)

    look_by(monkeypatch, read_into)


class Slice:
    """What `storage.log.file_records.FileRecords` is to the network."""

    def __init__(self, fd: int, position: int, size: int) -> None:
        self._fd = fd
        self.position = position
        self.size = size

    def fileno(self) -> int:
        if self._fd < 0:
            raise ValueError("closed file")
        return self._fd

    def close(self) -> None:
        self._fd = -1


@dataclass
class HeldBlocking:
    """A pool whose jobs run when the test says so."""

    jobs: list[tuple[Callable[[], Any], Callable[[Any, Exception | None], None]]] = field(
        default_factory=list
    )

    def submit(self, job: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
        self.jobs.append((job, done))

    def run_one(self, error: Exception | None = None) -> None:
        job, done = self.jobs.pop(0)
        if error is None:
            job()
        done(None, error)


class Pipe:
    """A sender, and the peer's end of its socket."""

    def __init__(self, small_buffers: bool = False) -> None:
        self.loop = asyncio.get_running_loop()
        self.ours, self.theirs = socket.socketpair()
        for end in (self.ours, self.theirs):
            end.setblocking(False)
        if small_buffers:
            self.ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        self.blocking = HeldBlocking()
        self.drained = asyncio.Event()
        self.failed: list[Exception] = []
        self.sender = ResponseSender(
            self.loop,
            self.ours,
            None,  # type: ignore[arg-type]  the plain path never uses the transport
            self.blocking,
            self.drained.set,
            self.failed.append,
        )

    async def receive(self, size: int) -> bytes:
        data = bytearray()
        async with asyncio.timeout(LIMIT_S):
            while len(data) < size:
                piece = await self.loop.sock_recv(self.theirs, 1 << 20)
                assert piece
                data += piece
        return bytes(data)

    def close(self) -> None:
        self.sender.close()
        self.ours.close()
        self.theirs.close()
