"""Busy polling for the next request of a client that sends one as soon as it has an answer.

Owns: the decision when busy polling is worth its CPU, and the poll itself. Never: what a request
means, or the state of a connection (`connection`).

A client that waits for each answer before its next request (a producer with one request in flight)
makes the loop sleep and wake for every request. On machines whose idle cores halt, as virtual ones
do, that takes longer than the rest of a round trip, and the loop wakes with cold caches. So polling
for some microseconds costs no more CPU than sleeping, and the request is received twice as soon
(`bench/LESSONS.md` has the figures).

The client's core halts, too, some four microseconds after its send. An answer sent before that
needs no wake-up, and the round trip takes half the time. So the connection prepares for the request
before the poll (`RequestHandler.expect`), and completes it after the answer.

It polls only if one client alone sends requests, and its last request came soon after the answer
before. After a poll without a request some polls are skipped, twice as many each time. So a client
that pauses, and a core that client and broker share, cost next to nothing. The loop has a turn
before each poll, so other connections wait for `LOOK_S` at most. Linux's haltpoll governor has the
same rule; its SO_BUSY_POLL is for network cards, not for loopback.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Protocol

from broker.requests.context import ExpectedRequest

LOOK_S = 50e-6
"""The length of a poll: some two and a half times the cost of the most expensive sleep."""
SOON_S = 100e-6
"""The longest time between two answers at which a poll may be quicker than a sleep."""
ALONE_AFTER = 8
"""The requests in a row after which a connection counts as the only one that sends any."""
REQUEST_BYTES = 16 * 1024
"""The largest request after which there is a poll: the next one after a larger request takes longer
to send than a sleep."""
LEFT_OUT_FIRST = 4
LEFT_OUT_MOST = 1024


class PolledConnection(Protocol):
    """A connection, as busy polling sees it."""

    socket: socket.socket | None
    asked_bytes: int
    """The size of the last request, prefix included; 0 if the next one cannot be prepared."""

    @property
    def can_receive(self) -> bool:
        """Whether the peer's next bytes may be received now, without the transport."""

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the peer's next bytes."""

    def buffer_updated(self, nbytes: int) -> None:
        """Handle `nbytes` that were received."""

    def expect(self, message: memoryview) -> ExpectedRequest | None:
        """Prepare for a request like the last one, which will be received into `message`.

        Return None if that is not possible.
        """

    def answer_expected(self, expected: ExpectedRequest) -> bool:
        """Answer the prepared request, which has arrived. Return False if it must be handled the
        usual way."""


class BusyPoll:
    """The busy polling of one event loop."""

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._call_soon = call_soon
        self._clock = clock
        self._connection: PolledConnection | None = None
        self._in_a_row = 0
        self._answered_s = 0.0
        self._scheduled = False
        self._left_out = 0  # polls to leave out after the last poll without a request
        self._to_leave_out = 0  # those of them that are still to come
        self.polls = 0
        self.hits = 0

    def answered(self, connection: PolledConnection, now_s: float) -> None:
        """Count an answer that was sent to this connection at `now_s`. Schedule a poll if it alone
        sends requests, and soon after each answer."""
        if connection is not self._connection:
            self._connection = connection
            self._in_a_row = 0
            return
        self._in_a_row += 1
        if self._in_a_row < ALONE_AFTER:
            return
        before_s, self._answered_s = self._answered_s, now_s
        if now_s - before_s > SOON_S:
            return
        if self._to_leave_out:
            self._to_leave_out -= 1
        elif not self._scheduled:
            self._scheduled = True
            self._call_soon(self._poll_once)

    def forget(self, connection: PolledConnection) -> None:
        """Drop a closed connection, so that it is not polled."""
        if connection is self._connection:
            self._connection = None

    def _poll_once(self) -> None:
        """Poll the last connection for bytes, up to LOOK_S, and handle the request that arrives.

        After a poll without a request, more polls are left out before the next one.
        """
        self._scheduled = False
        connection = self._connection
        if connection is None or not connection.can_receive:
            return
        self.polls += 1
        if self._receive(connection, self._clock() + LOOK_S):
            self.hits += 1
            self._left_out //= 2
        else:
            self._left_out = min(max(LEFT_OUT_FIRST, 2 * self._left_out), LEFT_OUT_MOST)
            self._to_leave_out = self._left_out

    def _receive(self, connection: PolledConnection, end_s: float) -> bool:
        """Receive and handle a request until `end_s`. Return False if none came. If the connection
        has ended, return True: the loop reports the end."""
        assert connection.socket is not None
        recv_into, buffer, clock = (
            connection.socket.recv_into,
            connection.get_buffer(-1),
            self._clock,
        )
        asked_bytes = connection.asked_bytes
        expected = connection.expect(buffer[:asked_bytes]) if asked_bytes else None
        while True:
            try:
                nbytes = recv_into(buffer)
                break
            except (BlockingIOError, InterruptedError):
                if clock() >= end_s:
                    return False
            except OSError:
                return True
        if nbytes == asked_bytes and expected is not None:
            if not connection.answer_expected(expected):
                connection.buffer_updated(nbytes)
        elif nbytes:
            connection.buffer_updated(nbytes)
        return True
