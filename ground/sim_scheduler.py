"""Virtual time: the Scheduler and Blocking ports on a heap, with a seed.

Events run in the order of their times; those of the same time, in the order of their creation. A
blocking job runs after a delay that the seed draws, so `done` is called in any order.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Any

START_WALL_MS = 1_700_000_000_000


Done = Callable[[Any, Exception | None], None]


class SimTimer:
    """A pending event of virtual time."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class SimScheduler:
    """The Scheduler port in virtual time, which passes only by `step`, `run_for` and
    `run_until`."""

    def __init__(self, seed: int = 0) -> None:
        """Begin at monotonic time 0 and wall time `START_WALL_MS`. `seed` decides on all random
        delays."""
        self.random = random.Random(seed)
        self.now_ms = 0.0
        self.wall_offset_ms = START_WALL_MS
        self.events_run = 0
        self.running = ""
        """The name of the process whose event ran last, for the trace."""
        self._heap: list[tuple[float, int, SimTimer]] = []
        self._made = 0

    def wall_ms(self) -> int:
        return int(self.now_ms) + self.wall_offset_ms

    def monotonic_ms(self) -> float:
        return self.now_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> SimTimer:
        timer = SimTimer(callback)
        self._made += 1
        heapq.heappush(self._heap, (self.now_ms + max(delay_ms, 0.0), self._made, timer))
        return timer

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.call_later(0, callback)

    def run_as(self, process: str) -> None:
        """Set the name of the process whose event runs now."""
        self.running = process

    def pending(self) -> int:
        """Return the number of events that have neither run nor been cancelled."""
        return sum(timer.callback is not None for _, _, timer in self._heap)

    def step(self) -> bool:
        """Set the time to that of the next event, and run it. Return False if there is none."""
        while self._heap:
            due, _, timer = heapq.heappop(self._heap)
            callback = timer.callback
            if callback is None:
                continue
            self.now_ms = max(self.now_ms, due)
            timer.cancel()
            self.events_run += 1
            callback()
            return True
        return False

    def run_for(self, duration_ms: float) -> None:
        """Run all events of the next `duration_ms`, and set the time to their end."""
        end = self.now_ms + duration_ms
        while self._heap and self._heap[0][0] <= end:
            if self._heap[0][2].callback is None:
                heapq.heappop(self._heap)
            else:
                self.step()
        self.now_ms = end

    def run_until(self, condition: Callable[[], bool], limit_ms: float = 60_000) -> None:
        """Run events until `condition()` is true. Raises AssertionError if it is not within
        `limit_ms` of virtual time, or no event is left."""
        end = self.now_ms + limit_ms
        while not condition():
            assert self.now_ms <= end and self.step(), f"not so within {limit_ms} ms"


class SimBlocking:
    """The Blocking port in virtual time: a job runs some time after it was submitted."""

    def __init__(self, scheduler: SimScheduler, delay_ms_max: float = 0.0) -> None:
        """Run each job after a random delay, from 0 to `delay_ms_max`."""
        self._scheduler = scheduler
        self._delay_ms_max = delay_ms_max
        self.alive = True

    def submit(self, job: Callable[[], object], done: Done) -> None:
        """Run `job` and then `done(result, error)`, in one event after a random delay. Run neither
        if `alive` is false then."""

        def run() -> None:
            """Run the job, and call `done` with its result or error, unless `alive` is false."""
            if not self.alive:
                return
            result, error = None, None
            try:
                result = job()
            except Exception as caught:  # noqa: BLE001 - the port's contract: `done` gets it
                error = caught
            done(result, error)

        self._scheduler.call_later(self._scheduler.random.random() * self._delay_ms_max, run)
