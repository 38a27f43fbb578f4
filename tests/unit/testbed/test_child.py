"""The server's half of the channel. With an honest other half: `tests/compat/testing`."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import cast

import pytest

from ottla.testing.frames import encode
from testbed.broker_under_test import BrokerUnderTest
from testbed.child import ControlProtocol


@pytest.mark.parametrize("data", [encode({"version": 2}), b"\xff\xff\xff\xff"])
async def test_another_half_that_speaks_otherwise_ends_it(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    codes: list[int] = []

    def end(code: int) -> None:
        codes.append(code)
        ended.set()

    monkeypatch.setattr(os, "_exit", end)
    ours, theirs = socket.socketpair()
    with ours:
        await loop.create_unix_connection(
            lambda: ControlProtocol(loop, cast(BrokerUnderTest, object())), sock=theirs
        )
        ours.sendall(data)
        await ended.wait()
        assert codes == [1]
    while len(codes) < 2:  # the end of the channel is one, too
        await asyncio.sleep(0)
