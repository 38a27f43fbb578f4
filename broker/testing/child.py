"""The process of one broker under test: an event loop, a control channel, a server.

It begins in a process that was forked from `broker.testing.host`, or started for it. When the other
end of its channel is closed, whoever wanted the broker is gone, and it ends at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import logging
import os
import signal
import socket
from typing import cast

from broker.process.server import loop_factory, raise_descriptor_limit
from broker.testing.control import answer
from broker.testing.operations import clock, disk, faults, lifecycle, of_clients
from broker.testing.served import Served
from ottla.testing.frames import HELLO, BrokenFrame, FrameReader, Message, check_hello, encode

_log = logging.getLogger(f"ottla.{__name__}")

REGISTERED = (clock, disk, faults, lifecycle, of_clients)
"""The files of operations: that they are imported is what counts."""


def serve(channel: socket.socket) -> int:
    """Serve one broker until it is stopped; the exit code of the process."""
    faulthandler.enable()
    raise_descriptor_limit()
    gc.freeze()
    gc.enable()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_serve(channel))


async def _serve(channel: socket.socket) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    broker = Served(loop, end)
    loop.add_signal_handler(signal.SIGTERM, lambda: loop.create_task(_stop(broker)))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is the tests'
    transport, _ = await loop.create_unix_connection(
        lambda: ControlProtocol(loop, broker), sock=channel
    )
    code = await ended
    transport.close()
    with contextlib.suppress(OSError):
        await asyncio.sleep(0)
    return code


async def _stop(broker: Served) -> None:
    await broker.stop()
    broker.end(0)


class ControlProtocol(asyncio.Protocol):
    """The server's half of the channel. Calls run side by side, each answered when it is done."""

    def __init__(self, loop: asyncio.AbstractEventLoop, broker: Served) -> None:
        self._loop = loop
        self._broker = broker
        self._reader = FrameReader()
        self._greeted = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say which version this end speaks."""
        self._transport = cast(asyncio.WriteTransport, transport)
        self._transport.write(encode(HELLO))

    def data_received(self, data: bytes) -> None:
        """Begin the calls that are whole now."""
        try:
            for message in self._reader.feed(data):
                self._take(message)
        except BrokenFrame as error:
            _log.error("the control channel: %s", error)
            os._exit(1)

    def connection_lost(self, _error: Exception | None) -> None:
        """Nobody leads this broker any more."""
        os._exit(0)

    def _take(self, message: Message) -> None:
        if not self._greeted:
            check_hello(message)
            self._greeted = True
            return
        task = self._loop.create_task(self._answer(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, message: Message) -> None:
        done = await answer(self._broker, message)
        assert self._transport is not None
        self._transport.write(encode(done))
