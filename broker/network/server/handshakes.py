"""Admits TLS handshakes, so that thousands at once do not hold the loop.

A handshake takes a third of a millisecond of the loop's time, nearly all of it when the client's
first message is there. So a few begin in each turn of the loop, and the others wait their turn. So
many are under way at most (`ottla.tls.handshakes.max`). Who begins one and does not go on makes way
after two seconds, if somebody waits for its place; so silent peers hold nobody else up for long.

Owns who waits, and whose handshake is under way since when. Never: a socket, or the deadline.
"""

from __future__ import annotations

import asyncio
from collections import deque

PER_TURN = 4
"""Handshakes that begin in one turn of the loop: one to two milliseconds."""
PATIENCE_S = 2.0
"""How long a handshake keeps its place while others wait for one: many round trips."""


class Handshakes:
    """Of one listener."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        under_way_max: int,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._loop = loop
        self._under_way_max = under_way_max
        self._patience_s = patience_s
        self._waiting: deque[tuple[asyncio.Future[None], asyncio.Task[None]]] = deque()
        self._since_s: dict[asyncio.Task[None], float] = {}
        self._makes_way: set[asyncio.Task[None]] = set()
        self._scheduled = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def under_way(self) -> int:
        """How many have a place."""
        return len(self._since_s)

    async def begin(self) -> None:
        """Wait until the task's handshake may begin; `ended` is owed for it. One that is cancelled
        has not begun."""
        place: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((place, _task()))
        self._schedule()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # it had its place
                self.ended()
            raise

    def ended(self) -> None:
        """The task's handshake has ended, whichever way."""
        task = _task()
        self._since_s.pop(task, None)
        self._makes_way.discard(task)
        self._schedule()

    def makes_way(self) -> bool:
        """Whether the task was cancelled because others waited, and by nobody else."""
        task = _task()
        return task in self._makes_way and not task.uncancel()

    def _schedule(self) -> None:
        if not self._waiting:
            return
        if self.under_way >= self._under_way_max:
            self._have_oldest_make_way()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._scheduled = False
        begun = 0
        while self._waiting and begun < PER_TURN and self.under_way < self._under_way_max:
            place, task = self._waiting.popleft()
            if not place.done():
                self._since_s[task] = self._loop.time()
                begun += 1
                place.set_result(None)
        self._schedule()

    def _have_oldest_make_way(self) -> None:
        oldest, since_s = next(iter(self._since_s.items()))
        left_s = since_s + self._patience_s - self._loop.time()
        if left_s <= 0:
            del self._since_s[oldest]
            self._makes_way.add(oldest)
            oldest.cancel()
            self._schedule()
        elif self._timer is None:
            self._timer = self._loop.call_later(left_s, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer = None
        self._schedule()


def _task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    assert task is not None, "a handshake is a task's"
    return task
