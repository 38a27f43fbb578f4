"""DelayedCloses: sockets are closed when their time has come, and not before."""

from __future__ import annotations

import asyncio
import socket

from broker.network.server.delayed_closes import DelayedCloses
from tests.unit.broker.network.conftest import until


def _pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    return ours, theirs


async def test_they_stay_open_for_their_time():
    closes = DelayedCloses(asyncio.get_running_loop(), 10)
    (soon, one), (later, two) = _pair(), _pair()
    with one, two:
        closes.close_after(soon, 1.0)
        closes.close_after(later, 60_000.0)
        assert len(closes) == 2
        await until(lambda: soon.fileno() < 0)
        assert later.fileno() >= 0
        closes.close_all()
        assert later.fileno() < 0
        assert len(closes) == 0


async def test_more_than_may_wait_are_closed_at_once():
    closes = DelayedCloses(asyncio.get_running_loop(), 1)
    (first, one), (second, two) = _pair(), _pair()
    with one, two:
        closes.close_after(first, 60_000.0)
        closes.close_after(second, 60_000.0)
        assert first.fileno() >= 0
        assert second.fileno() < 0
        closes.close_all()
