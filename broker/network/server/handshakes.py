"""A limit on TLS handshakes, so that thousands at once do not hold the loop.

A handshake takes a third of a millisecond of the loop's time, nearly all of it when the client's
first message has arrived. So a few begin in each turn of the loop, and the others wait. At most
`ottla.tls.handshakes.max` are in progress. A handshake that is not done after two seconds is
cancelled if another waits for its slot; so silent peers hold up others only briefly.

Owns: the waiting handshakes, and the start times of those in progress. Never: a socket, or the
deadline.
"""

from __future__ import annotations

import asyncio
from collections import deque

PER_TURN = 4
"""The handshakes that begin in one turn of the loop: one to two milliseconds."""
PATIENCE_S = 2.0
"""The time for which a handshake keeps its slot while others wait for one: many round trips."""


class Handshakes:
    """The TLS handshakes of one listener."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        under_way_max: int,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Allow `under_way_max` handshakes at once. While others wait, a handshake keeps its slot
        for `patience_s`, in seconds."""
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
        """The number of handshakes that have a slot."""
        return len(self._since_s)

    async def begin(self) -> None:
        """Wait until the current task's handshake may begin. The task must call `ended` afterwards,
        unless it is cancelled during the wait."""
        slot: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((slot, _task()))
        self._schedule()
        try:
            await slot
        except asyncio.CancelledError:
            if not slot.cancelled():  # the slot was granted already
                self.ended()
            raise

    def ended(self) -> None:
        """Free the slot of the current task, whose handshake succeeded or failed."""
        task = _task()
        self._since_s.pop(task, None)
        self._makes_way.discard(task)
        self._schedule()

    def makes_way(self) -> bool:
        """Return whether the current task was cancelled for the sake of waiting handshakes, and
        for no other reason."""
        task = _task()
        return task in self._makes_way and not task.uncancel()

    def _schedule(self) -> None:
        """Let waiting handshakes begin in the next turn, or cancel the oldest if all places are
        taken.
        """
        if not self._waiting:
            return
        if self.under_way >= self._under_way_max:
            self._cancel_oldest()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._begin_some)

    def _begin_some(self) -> None:
        """Let up to PER_TURN waiting handshakes begin."""
        self._scheduled = False
        begun = 0
        while self._waiting and begun < PER_TURN and self.under_way < self._under_way_max:
            slot, task = self._waiting.popleft()
            if not slot.done():
                self._since_s[task] = self._loop.time()
                begun += 1
                slot.set_result(None)
        self._schedule()

    def _cancel_oldest(self) -> None:
        """Cancel the oldest handshake if its patience is over; else wait until then."""
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
        """Cancel the oldest handshake, whose patience is over, if another still waits for
        a slot."""
        self._timer = None
        self._schedule()


def _task() -> asyncio.Task[None]:
    """Return the current task."""
    task = asyncio.current_task()
    assert task is not None, "a handshake is a task's"
    return task
