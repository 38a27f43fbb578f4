"""The process of one broker under test: an event loop, a control channel, a server.

It begins in a process that `testbed.host` has forked, or that was started for it. When the other
end of its channel is closed, the tests have ended, and the process exits at once.
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

from broker.process.descriptor_limit import raise_descriptor_limit
from broker.process.server import loop_factory
from ottla.testing.frames import (
    HELLO,
    BrokenFrame,
    JsonFrameReader,
    JsonMessage,
    check_hello,
    encode,
)
from testbed.broker_under_test import BrokerUnderTest
from testbed.control import answer
from testbed.operations import clock, faults, lifecycle, of_clients

_log = logging.getLogger(f"ottla.{__name__}")

_FLUSH_S = 1.0

REGISTERED = (clock, faults, lifecycle, of_clients)
"""The modules of operations: importing them registers the operations."""


def serve(channel: socket.socket) -> int:
    """Serve the control channel and its broker in a new event loop until the broker is stopped, and
    return the exit code of the process. If the other end closes the channel, the process exits at
    once."""
    faulthandler.enable()
    raise_descriptor_limit()
    gc.freeze()
    gc.enable()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_serve_until_end(channel))


async def _serve_until_end(channel: socket.socket) -> int:
    """Serve the control channel and the broker, and return the exit code once the broker has ended.
    The channel is closed then.

    SIGTERM stops the broker in order; SIGINT is ignored.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        """Let `_serve_until_end` return this exit code; only the first call counts."""
        if not ended.done():
            ended.set_result(code)

    broker = BrokerUnderTest(loop, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    _, control = await loop.create_unix_connection(
        lambda: ControlProtocol(loop, broker), sock=channel
    )
    stopping: list[asyncio.Task[None]] = []
    loop.add_signal_handler(
        signal.SIGTERM, lambda: stopping.append(loop.create_task(_stop(broker, control)))
    )
    code = await ended
    await control.close()
    return code


async def _stop(broker: BrokerUnderTest, control: ControlProtocol) -> None:
    """Cancel the calls in progress, stop the broker, also in the middle of a start, and end the
    process with code 0. If the stop fails, log the error and end with code 1."""
    try:
        await control.cancel_calls()
        await broker.stop()
    except Exception:  # noqa: BLE001 - it is logged, and the process exits all the same
        _log.exception("the broker did not stop in order")
        broker.end(1)
    broker.end(0)


class ControlProtocol(asyncio.Protocol):
    """The server's half of the control channel. Calls run concurrently; each is answered when it is
    done."""

    def __init__(self, loop: asyncio.AbstractEventLoop, broker: BrokerUnderTest) -> None:
        self._loop = loop
        self._broker = broker
        self._reader = JsonFrameReader()
        self._greeted = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._transport: asyncio.WriteTransport | None = None
        self._closing = False
        self._lost = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport, and send the version that this end speaks."""
        self._transport = cast(asyncio.WriteTransport, transport)
        self._transport.write(encode(HELLO))

    def data_received(self, data: bytes) -> None:
        """Begin the calls whose frames are complete now. At a broken frame, log an error and exit
        the process with code 1."""
        try:
            for message in self._reader.feed(data):
                self._receive(message)
        except BrokenFrame as error:
            _log.error("the control channel: %s", error)
            os._exit(1)

    def connection_lost(self, _error: Exception | None) -> None:
        """Exit the process with code 0, unless this end has closed the channel: the tests have
        ended."""
        self._lost.set()
        if not self._closing:
            os._exit(0)

    async def cancel_calls(self) -> None:
        """Cancel the calls in progress, and wait until they have ended; they get no answer."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Send the answers that are already written, and close the channel. Waits at most a
        second."""
        assert self._transport is not None
        self._closing = True
        self._transport.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_S):
                await self._lost.wait()

    def _receive(self, message: JsonMessage) -> None:
        """Check the greeting; run each later message as a task of its own. Raises BrokenFrame if
        the greeting has another version."""
        if not self._greeted:
            check_hello(message)
            self._greeted = True
            return
        task = self._loop.create_task(self._run_operation(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_operation(self, message: JsonMessage) -> None:
        """Run a message's operation, and write its answer to the channel. A broken invariant
        (AssertionError) is logged, and ends the process with code 1."""
        assert self._transport is not None
        try:
            done = encode(await answer(self._broker, message))
        except AssertionError:  # a broken invariant ends any broker
            _log.critical("the broker stops: %s", message.get("op"), exc_info=True)
            logging.shutdown()
            os._exit(1)
        self._transport.write(done)
