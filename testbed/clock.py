"""The clocks of a broker under test: the machine's, plus the time by which a test advanced them.

`advance` moves both clocks and fires due timers in their order, each at its own time. A long
advance takes at most STEPS_MAX steps: a timer that is set during a step fires at the end of that
step at the earliest. So a timer that repeats every few seconds does not fire for each of them in a
week, and still fires before the time-outs that it is meant to prevent. Between two timers the event
loop runs and blocking work is finished, so that the effects of one timer are complete when the next
one fires.

Meanwhile no client's request is handled: sessions and the like expire, as on a machine that was
asleep. Sockets use the machine's own time, so connections do not become idle by an advance.

In all else this is `broker.loop.scheduler.LoopScheduler`.
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
    """A call that is due at some time of a moved clock, as long as it is not cancelled."""

    __slots__ = ("callback", "due_ms")

    def __init__(self, due_ms: float, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Drop the call. After the timer has fired, this is allowed and does nothing."""
        self.callback = None

    def fire(self) -> None:
        """Make the call, unless it was made before or is cancelled. An exception of the call is
        raised."""
        callback, self.callback = self.callback, None
        if callback is not None:
            callback()


class PeersScheduler(LoopScheduler):
    """The clock by which nodes wait for each other: it advances as the machine's does, while a test
    moves the other clocks. So no heartbeat is missed and no election begins because of an advance.
    Wall time, which is written into records, is the moved one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, moved: MovableScheduler) -> None:
        super().__init__(loop)
        self._moved = moved

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch, by the moved clock."""
        return self._moved.wall_ms()


class MovableScheduler:
    """A scheduler (`ground.ports.Scheduler`) whose clocks a test can move. For the loop's thread
    only."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        monotonic_s: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Begin with clocks that are not ahead of the machine's: `monotonic_s` returns seconds,
        `wall_ns` nanoseconds since the epoch. `loop` runs the timers."""
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
        """The milliseconds by which this clock is ahead of the machine's clocks."""
        return self._ahead_ms

    def begin_ahead(self, ms: float) -> None:
        """Set by how many milliseconds the clocks are ahead at the start: as far as before the
        broker's restart. No timer may be set yet."""
        assert not self._heap, "timers are set already"
        self._ahead_ms = ms

    def wall_ms(self) -> int:
        """Return milliseconds since the epoch, by the moved clock."""
        return (self._wall_ns() + round(self._ahead_ms * 1e6)) // 1_000_000

    def monotonic_ms(self) -> float:
        """Return milliseconds on a clock that never goes back, and that `advance` moves too."""
        return self._monotonic_s() * 1000.0 + self._ahead_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> MovedTimer:
        """Call `callback` once, at the earliest `delay_ms` from now by the moved clock. Return the
        timer, which can be cancelled."""
        timer = MovedTimer(self.monotonic_ms() + max(delay_ms, 0.0), callback)
        self._made += 1
        heapq.heappush(self._heap, (timer.due_ms, self._made, timer))
        self._arm()
        return timer

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, after the current turn of the loop."""
        self._loop.call_soon(callback)

    async def advance(self, ms: float, settle: Callable[[], Awaitable[None]]) -> int:
        """Move both clocks by `ms`, fire the timers that become due in their order, and return how
        many fired. `settle` is awaited after each timer; it returns when all work that has begun is
        done."""
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
        """Fire the timers that are due until `end_ms` and were set before this step, each at its
        time. Move the clocks to `end_ms`, and return how many timers fired."""
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
        """Fire a timer. An exception is passed to the loop's exception handler, so that later
        timers still fire."""
        try:
            timer.fire()
        except Exception as error:  # noqa: BLE001  the loop's handler logs it
            self._loop.call_exception_handler({"message": "a timer failed", "exception": error})

    def _move_to(self, monotonic_ms: float) -> None:
        """Move the clocks forward to this time; do nothing if it has passed."""
        self._ahead_ms += max(monotonic_ms - self.monotonic_ms(), 0.0)

    def _next_due_ms(self) -> float:
        """Return the time of the first timer that is not cancelled, infinity if there is none.
        Cancelled timers before it are removed."""
        heap = self._heap
        while heap and heap[0][2].callback is None:
            heapq.heappop(heap)
        return heap[0][0] if heap else float("inf")

    def _arm(self) -> None:
        """Have the loop call `_ring` when the next timer is due, in place of an earlier
        appointment. During `advance`, only cancel that."""
        due_ms = self._next_due_ms()
        if self._alarm is not None:
            if self._alarm_ms == due_ms and not self._advancing:
                return
            self._alarm.cancel()
            self._alarm = None
        if self._advancing or due_ms == float("inf"):
            return
        # The loop's timers may fire early by that much; `_ring` then arms a new one.
        ahead_s = (due_ms - self.monotonic_ms()) / 1000.0
        delay_s = max(ahead_s, _EARLY_S) if ahead_s > 0 else 0.0
        self._alarm_ms = due_ms
        self._alarm = self._loop.call_later(delay_s, self._ring)

    def _ring(self) -> None:
        """Fire all timers that are due now, unless `advance` runs, and have the loop call this
        again for the next timer."""
        self._alarm = None
        now = self.monotonic_ms()
        try:
            while not self._advancing and self._next_due_ms() <= now:
                heapq.heappop(self._heap)[2].fire()
        finally:
            if self._alarm is None:
                self._arm()
