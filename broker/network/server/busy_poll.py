"""Instead of sleeping, looks for the next request of a client that always asks again at once.

Owns: when that is worth its CPU, and the look itself. Never: what a request means, or the state of
a connection (`connection`).

A client that waits for each answer before it asks again (a producer with one request in flight) has
the loop sleep and be woken for every request. On a machine whose idle cores halt, as virtual ones
do, that takes longer than all else in a round trip, and what is woken works with cold caches: so
looking for some microseconds costs no more CPU than sleeping would have, and the request is found
twice as soon (`bench/LESSONS.md` has the figures).

The client's core halts, too, some four microseconds after its send. An answer that leaves before
that needs to wake nobody, and the trip takes half the time. So the connection prepares for the
request before the look (`RequestHandler.expect`), and settles what follows when it has answered.

It looks only for a client that is the only one to ask, and whose last request came soon after the
answer before. A look that finds nothing has the next ones left out, twice as many each time. So a
client that pauses, and a core that client and broker share, cost next to nothing. The loop has its
turn before each look, so that others wait for `LOOK_S` at most. Linux's haltpoll governor has the
same rule; its SO_BUSY_POLL is for network cards, not for loopback.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Protocol

from broker.requests.context import Expected

LOOK_S = 50e-6
"""How long it looks: some two and a half times what a sleep costs where it costs most."""
SOON_S = 100e-6
"""A request whose answer came so soon after the one before may come sooner, without a sleep."""
ALONE_AFTER = 8
"""Requests in a row, of one connection, until it counts as the only one that asks."""
REQUEST_BYTES = 16 * 1024
"""After a larger one nobody looks: the next is under way, or takes longer to send than a sleep."""
LEFT_OUT_FIRST = 4
LEFT_OUT_MOST = 1024


class Asker(Protocol):
    """A connection, as it is looked at here."""

    socket: socket.socket | None
    asked_bytes: int
    """Of its last request, size included; 0: nothing can be prepared for the next one."""

    @property
    def can_receive(self) -> bool:
        """Whether its next bytes may be taken now, past the transport."""

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where its next bytes are to be put."""

    def buffer_updated(self, nbytes: int) -> None:
        """So many are there: handle them."""

    def expect(self, message: memoryview) -> Expected | None:
        """Prepare for a request like the last one, which will lie in `message`."""

    def answer_expected(self, expected: Expected) -> bool:
        """Answer it, now that it is there. False: it goes the usual way."""


class BusyPoll:
    """One loop's: see the module."""

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._call_soon = call_soon
        self._clock = clock
        self._asker: Asker | None = None
        self._in_a_row = 0
        self._answered_s = 0.0
        self._scheduled = False
        self._left_out = 0  # after a look that found nothing
        self._to_leave_out = 0  # of these, still to come
        self.looks = 0
        self.found = 0

    def answered(self, asker: Asker, now_s: float) -> None:
        """The answer to this one's request has left, and it may ask again."""
        if asker is not self._asker:
            self._asker = asker
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
            self._call_soon(self._look)

    def forget(self, asker: Asker) -> None:
        """It is gone."""
        if asker is self._asker:
            self._asker = None

    def _look(self) -> None:
        self._scheduled = False
        asker = self._asker
        if asker is None or not asker.can_receive:
            return
        self.looks += 1
        if self._receive(asker, self._clock() + LOOK_S):
            self.found += 1
            self._left_out //= 2
        else:
            self._left_out = min(max(LEFT_OUT_FIRST, 2 * self._left_out), LEFT_OUT_MOST)
            self._to_leave_out = self._left_out

    def _receive(self, asker: Asker, end_s: float) -> bool:
        """Take and have handled what it sends until then, or see that the connection has ended, of
        which the loop tells. False: neither."""
        assert asker.socket is not None
        recv_into, buffer, clock = asker.socket.recv_into, asker.get_buffer(-1), self._clock
        asked_bytes = asker.asked_bytes
        expected = asker.expect(buffer[:asked_bytes]) if asked_bytes else None
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
            if not asker.answer_expected(expected):
                asker.buffer_updated(nbytes)
        elif nbytes:
            asker.buffer_updated(nbytes)
        return True
