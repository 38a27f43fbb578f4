"""The time of a broker under test: the machine's, and ahead of it by what a test has asked for.

`advance` moves both clocks and fires what is due, in the order in which it is due, each at its own
time. A long way is gone in at most STEPS_MAX steps: a timer that is set during a step fires at the
end of that step at the soonest. So what repeats itself every few seconds does not do so for each of
them in a week, and still comes before what it keeps alive. Between two timers the loop has its
turns and blocking work is done, so that one's consequences are there when the next one fires.

Meanwhile no client is heard: what waits for their sign of life runs out, as on a machine that was
asleep. Sockets have the machine's own time: connections do not become idle by it.

Follows `broker.loop.scheduler.LoopScheduler` in all else.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Awaitable, Callable
from math import ceil

from broker.loop.scheduler import LoopScheduler

STEPS_MAX = 1000
STEP_MS_MIN = 10.0
_EARLY_S = 0.001


class MovedTimer:
    """A call that is due some time, or was."""

    __slots__ = ("callback", "due_ms")

    def __init__(self, due_ms: float, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Forget the call. Legal, and without effect, once it has run."""
        self.callback = None

    def fire(self) -> None:
        """Make the call, unless it was made or is forgotten."""
        callback, self.callback = self.callback, None
        if callback is not None:
            callback()


class PeersScheduler(LoopScheduler):
    """The time in which nodes wait for each other: it passes as the machine's, while a test moves
    the other clocks. So nobody misses a heartbeat, and nobody is elected, because of that. The time
    that stands in records is the moved one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, moved: MovableScheduler) -> None:
        super().__init__(loop)
        self._moved = moved

    def wall_ms(self) -> int:
        """Milliseconds since the epoch."""
        return self._moved.wall_ms()


class MovableScheduler:
    """`ground.ports.Scheduler`: see the module. To be used on the loop's thread only."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        monotonic_s: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._loop = loop
        self._monotonic_s = monotonic_s
        self._wall_ns = wall_ns
        self._ahead_ms = 0.0
        self._heap: list[tuple[float, int, MovedTimer]] = []
        self._made = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ms = 0.0
        self._advancing = False

    @property
    def ahead_ms(self) -> float:
        """How far ahead of the machine's clocks this is."""
        return self._ahead_ms

    def begin_ahead(self, ms: float) -> None:
        """Be so far ahead from the start: the broker was so before it was started again."""
        assert not self._heap, "timers are set already"
        self._ahead_ms = ms

    def wall_ms(self) -> int:
        """Milliseconds since the epoch."""
        return self._wall_ns() // 1_000_000 + int(self._ahead_ms)

    def monotonic_ms(self) -> float:
        """Milliseconds on a clock that never goes back."""
        return self._monotonic_s() * 1000.0 + self._ahead_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> MovedTimer:
        """Run `callback` once, not before `delay_ms` from now."""
        timer = MovedTimer(self.monotonic_ms() + max(delay_ms, 0.0), callback)
        self._made += 1
        heapq.heappush(self._heap, (timer.due_ms, self._made, timer))
        self._arm()
        return timer

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` once, after what runs now."""
        self._loop.call_soon(callback)

    async def advance(self, ms: float, settle: Callable[[], Awaitable[None]]) -> int:
        """Move both clocks by so much; how many timers fired. `settle` returns when what has been
        begun is done."""
        assert not self._advancing, "one way at a time"
        self._advancing = True
        fired = 0
        try:
            end = self.monotonic_ms() + ms
            step_ms = max(ms / STEPS_MAX, STEP_MS_MIN)
            await settle()
            while self._next_due_ms() <= end:
                now = self.monotonic_ms()
                steps = max(ceil((self._next_due_ms() - now) / step_ms), 1)
                fired += await self._step(min(now + steps * step_ms, end), settle)
            self._move_to(end)
        finally:
            self._advancing = False
            self._arm()
        return fired

    async def _step(self, end_ms: float, settle: Callable[[], Awaitable[None]]) -> int:
        """Fire what is due until then, but for what is set meanwhile."""
        due: list[tuple[float, int, MovedTimer]] = []
        while self._heap and self._heap[0][0] <= end_ms:
            due.append(heapq.heappop(self._heap))
        fired = 0
        for due_ms, _, timer in due:
            if timer.callback is not None:
                self._move_to(due_ms)
                self._fire(timer)
                fired += 1
                await settle()
        self._move_to(end_ms)
        return fired

    def _fire(self, timer: MovedTimer) -> None:
        """What goes wrong is the loop's to tell, as with any timer; the others fire as well."""
        try:
            timer.fire()
        except Exception as error:  # noqa: BLE001  told to the loop
            self._loop.call_exception_handler({"message": "a timer failed", "exception": error})

    def _move_to(self, monotonic_ms: float) -> None:
        """Be there, unless that is over."""
        self._ahead_ms += max(monotonic_ms - self.monotonic_ms(), 0.0)

    def _next_due_ms(self) -> float:
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else float("inf")

    def _arm(self) -> None:
        """Have the loop call when the next timer is due."""
        due_ms = self._next_due_ms()
        if self._alarm is not None:
            if self._alarm_ms == due_ms and not self._advancing:
                return
            self._alarm.cancel()
            self._alarm = None
        if self._advancing or due_ms == float("inf"):
            return
        # The loop's timers may come early by that much: then it is asked again.
        ahead_s = (due_ms - self.monotonic_ms()) / 1000.0
        delay_s = max(ahead_s, _EARLY_S) if ahead_s > 0 else 0.0
        self._alarm_ms = due_ms
        self._alarm = self._loop.call_later(delay_s, self._ring)

    def _ring(self) -> None:
        """Fire what is due now."""
        self._alarm = None
        now = self.monotonic_ms()
        try:
            while not self._advancing and self._next_due_ms() <= now:
                heapq.heappop(self._heap)[2].fire()
        finally:
            if self._alarm is None:
                self._arm()
