"""The ports of one life of a node: timers and jobs that end with its process.

A life is the time between a start of a node's process and its end. A node gets a `ProcessScheduler`
and two `ProcessBlocking` pools. After `end()` no timer fires, no job begins, and no job that has
begun reports its result, as after the death of a process. After `pause()` (SIGSTOP) nothing runs
until `resume()`; then all timers and arrivals that became due run. Jobs begin in the order in which
they were submitted, at most `threads` at a time, and end in any order.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

from ground.sim_scheduler import SimScheduler, SimTimer

Done = Callable[[Any, Exception | None], None]


class ProcessTimer:
    """A callback that a process is to run once."""

    __slots__ = ("callback", "event")

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback
        self.event: SimTimer | None = None

    def cancel(self) -> None:
        self.callback = None
        if self.event is not None:
            self.event.cancel()


class ProcessScheduler:
    """A node's view of virtual time (the `Scheduler` port), with the life of its process."""

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
        """The function to call after each callback of the node, whose state may have changed."""

    def wall_ms(self) -> int:
        """Return the world's wall clock, moved by this node's skew, in ms since the epoch."""
        return self._world.wall_ms() + self._skew_ms

    def monotonic_ms(self) -> float:
        return self._world.monotonic_ms()

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> ProcessTimer:
        """Call `callback` after the delay, later if the process is paused, never if it has ended.
        Return the timer, which can be cancelled."""
        timer = ProcessTimer(callback)
        timer.event = self._world.call_later(delay_ms, lambda: self._run(timer, self._due))
        return timer

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call `callback` in a later event, without a delay, unless the process ends before."""
        self.call_later(0, callback)

    def arrive(self, callback: Callable[[], None]) -> None:
        """Run a callback for an event from outside: at once, after `resume` if the process is
        paused, or never if it has ended."""
        self._run(ProcessTimer(callback), self._arrived)

    def _run(self, timer: ProcessTimer, waiting: list[ProcessTimer]) -> None:
        """Run a timer's callback and then `on_ran`, unless the timer is cancelled or the process
        has ended. While the process is paused, append the timer to `waiting` instead."""
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

    # --- signals and the end of the process ----------------------------------------------------

    def pause(self) -> None:
        """Run nothing until `resume`, as after SIGSTOP."""
        self.paused = True

    def resume(self, arrivals_first: bool) -> None:
        """Run all that became due, as after SIGCONT, by events of the world.

        Timers and arrivals each keep their order; `arrivals_first` says which run first.
        """
        self.paused = False
        due, arrived, self._due, self._arrived = self._due, self._arrived, [], []
        for timer in [*arrived, *due] if arrivals_first else [*due, *arrived]:
            self._world.call_soon(lambda timer=timer: self._run(timer, self._due))  # type: ignore[misc]

    def set_clock(self, skew_ms: int) -> None:
        """Set how far the wall clock is ahead of the world's, in ms."""
        self._skew_ms = skew_ms

    def end(self) -> None:
        """End the process: nothing runs any more."""
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
        """Queue a job for a thread. Later `done` gets its result or its error, unless the process
        ends before."""
        self.outstanding += 1
        self._queue.append((job, done))
        self._begin()

    def _begin(self) -> None:
        """Begin the oldest queued job if a thread is free; its moment and length are random."""
        if not self._free or not self._queue:
            return
        self._free -= 1
        job, done = self._queue.popleft()
        takes_ms = self._draw_ms()
        # The job changes the disk at one moment, and the loop gets its result at a later one.
        works_ms = takes_ms * self._chance.random()
        self._scheduler.call_later(works_ms, lambda: self._run(job, done, takes_ms - works_ms))

    def _run(self, job: Callable[[], object], done: Done, rest_ms: float) -> None:
        """Run the job now; `done` gets its result or error `rest_ms` later."""
        result: object = None
        error: Exception | None = None
        try:
            result = job()
        except Exception as caught:  # noqa: BLE001 - the port's contract: `done` gets it
            error = caught
        self._scheduler.call_later(rest_ms, lambda: self._end(done, result, error))

    def _end(self, done: Done, result: object, error: Exception | None) -> None:
        """Free the thread, begin the next queued job, and call `done`."""
        self._free += 1
        self.outstanding -= 1
        self._begin()
        done(result, error)

    def _draw_ms(self) -> float:
        """Return a random length of a job in ms: mostly short, sometimes as on a busy disk."""
        if self._chance.random() < 0.05:
            return self._chance.random() * self._slowest_ms
        return self._chance.random() * 2.0
