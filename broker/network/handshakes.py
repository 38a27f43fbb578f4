"""Admits TLS handshakes, so that thousands at once do not hold the loop.

A handshake takes a third of a millisecond of the loop's time, nearly all of it when the client's
first message is there. So a few begin in each turn of the loop, and the others wait their turn. So
many are under way at most (`ottla.tls.handshakes.max`): who begins one and does not go on holds a
place until its deadline, and costs nothing else.

Owns who waits. Never: a socket, or the deadline.
"""

from __future__ import annotations

import asyncio
from collections import deque

PER_TURN = 4
"""Handshakes that begin in one turn of the loop: one to two milliseconds."""


class Handshakes:
    """Of one listener."""

    def __init__(self, loop: asyncio.AbstractEventLoop, under_way_max: int) -> None:
        self._loop = loop
        self._under_way_max = under_way_max
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._scheduled = False
        self.under_way = 0

    async def begin(self) -> None:
        """Wait until a handshake may begin; `ended` is owed for it. One that is cancelled has not
        begun."""
        place: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(place)
        self._schedule()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # it had its place
                self.ended()
            raise

    def ended(self) -> None:
        """One has ended, whichever way."""
        self.under_way -= 1
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled and self._waiting and self.under_way < self._under_way_max:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        begun = 0
        while self._waiting and begun < PER_TURN and self.under_way < self._under_way_max:
            place = self._waiting.popleft()
            if not place.done():
                self.under_way += 1
                begun += 1
                place.set_result(None)
        self._schedule()
