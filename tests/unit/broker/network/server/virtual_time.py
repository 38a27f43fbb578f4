"""Time of a listener that passes only when a test says so, over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from broker.network.server import connection, processor, socket_server
from broker.network.server.socket_server import SocketServer
from ground.sim_scheduler import SimScheduler, SimTimer


class VirtualTime(SimScheduler):
    """The clock of a server, its acceptors, processors and connections, with all that they put off:
    deadlines, delays and pauses. The time-outs of TLS are the loop's, and go on."""

    def __init__(self, server: SocketServer, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.now_ms = 1_000_000.0
        clock = SimpleNamespace(monotonic=self.seconds, time_ns=lambda: self.wall_ms() * 1_000_000)
        monkeypatch.setattr(connection, "monotonic", self.seconds)
        monkeypatch.setattr(processor, "time", clock)
        monkeypatch.setattr(socket_server, "time", clock)
        for one in server.processors:
            one.loop = _Loop(one.loop, self)  # type: ignore[assignment]
        for acceptor in server.acceptors:
            acceptor._loop = _Loop(acceptor._loop, self)  # type: ignore[assignment]

    def seconds(self) -> float:
        """Return what `time.monotonic` says here."""
        return self.now_ms / 1000


class _Loop:
    """A loop whose clock and timers are of virtual time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, time: VirtualTime) -> None:
        self._loop = loop
        self._time = time

    def __getattr__(self, name: str) -> object:
        return getattr(self._loop, name)

    def time(self) -> float:
        return self._time.seconds()

    def call_later(self, delay_s: float, callback: Callable[..., None], *args: object) -> SimTimer:
        return self._time.call_later(delay_s * 1000, partial(callback, *args))
