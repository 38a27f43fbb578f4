"""The ports of one life of a node: what it asked for dies with it.

A node gets a `ProcessScheduler` and two `ProcessBlocking` pools. After `end()` no timer runs, no
job begins, and none that had begun is heard of: as after the death of a process. After `pause()`
(SIGSTOP) nothing runs until `resume()`, then all that has become due, timers and arrivals. Jobs
begin in the order in which they were handed over, at most `threads` at a time, and end in any.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

from ground.sim_scheduler import SimScheduler, SimTimer

Done = Callable[[Any, Exception | None], None]


class ProcessTimer:
    """Something that a process is to do, once."""

    __slots__ = ("callback", "event")

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback
        self.event: SimTimer | None = None

    def cancel(self) -> None:
        self.callback = None
        if self.event is not None:
            self.event.cancel()


class ProcessScheduler:
    """A node's view of virtual time (the `Scheduler` port), and what makes it run."""

    def __init__(
        self,
        world: SimScheduler,
        wall_skew_ms: int = 0,
        name: str = "",
        *,
        on_ran: Callable[[], None] | None = None,
    ) -> None:
        self._world = world
        self._name = name
        self._skew_ms = wall_skew_ms
        self.alive = True
        self.paused = False
        self._due: list[ProcessTimer] = []
        self._arrived: list[ProcessTimer] = []
        self.on_ran = on_ran
        """Called after each callback of the node: its state may have changed."""

    def wall_ms(self) -> int:
        return self._world.wall_ms() + self._skew_ms

    def monotonic_ms(self) -> float:
        return self._world.monotonic_ms()

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> ProcessTimer:
        timer = ProcessTimer(callback)
        timer.event = self._world.call_later(delay_ms, lambda: self._run(timer, self._due))
        return timer

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.call_later(0, callback)

    def arrive(self, callback: Callable[[], None]) -> None:
        """Something came from outside: the process sees to it at once, or when it resumes."""
        self._run(ProcessTimer(callback), self._arrived)

    def _run(self, timer: ProcessTimer, waiting: list[ProcessTimer]) -> None:
        if not self.alive or timer.callback is None:
            return
        if self.paused:
            waiting.append(timer)
            return
        callback, timer.callback = timer.callback, None
        self._world.run_as(self._name)
        callback()
        if self.on_ran is not None:
            self.on_ran()

    # --- what happens to the process -----------------------------------------------------------

    def pause(self) -> None:
        """SIGSTOP."""
        self.paused = True

    def resume(self, arrivals_first: bool) -> None:
        """SIGCONT: all that became due runs, the timers and the arrivals each in their order."""
        self.paused = False
        due, arrived, self._due, self._arrived = self._due, self._arrived, [], []
        for timer in [*arrived, *due] if arrivals_first else [*due, *arrived]:
            self._world.call_soon(lambda timer=timer: self._run(timer, self._due))  # type: ignore[misc]

    def set_clock(self, skew_ms: int) -> None:
        """The clock of the day jumps: it is this much ahead of the others now."""
        self._skew_ms = skew_ms

    def end(self) -> None:
        """The process is dead."""
        self.alive = False


class ProcessBlocking:
    """A pool of threads (the `Blocking` port)."""

    def __init__(
        self,
        scheduler: ProcessScheduler,
        chance: random.Random,
        threads: int,
        slowest_ms: float,
    ) -> None:
        self._scheduler = scheduler
        self._chance = chance
        self._free = threads
        self._slowest_ms = slowest_ms
        self._queue: deque[tuple[Callable[[], object], Done]] = deque()
        self.outstanding = 0

    def submit(self, job: Callable[[], object], done: Done) -> None:
        self.outstanding += 1
        self._queue.append((job, done))
        self._begin()

    def _begin(self) -> None:
        if not self._free or not self._queue:
            return
        self._free -= 1
        job, done = self._queue.popleft()
        takes_ms = self._draw_ms()
        # The job's effect on the disk comes at one moment, the loop hears of it at a later one.
        works_ms = takes_ms * self._chance.random()
        self._scheduler.call_later(works_ms, lambda: self._run(job, done, takes_ms - works_ms))

    def _run(self, job: Callable[[], object], done: Done, rest_ms: float) -> None:
        result: object = None
        error: Exception | None = None
        try:
            result = job()
        except Exception as caught:  # noqa: BLE001 - the port's contract: told to `done`
            error = caught
        self._scheduler.call_later(rest_ms, lambda: self._end(done, result, error))

    def _end(self, done: Done, result: object, error: Exception | None) -> None:
        self._free += 1
        self.outstanding -= 1
        self._begin()
        done(result, error)

    def _draw_ms(self) -> float:
        """Mostly quick, now and then as slow as a busy disk."""
        if self._chance.random() < 0.05:
            return self._chance.random() * self._slowest_ms
        return self._chance.random() * 2.0
