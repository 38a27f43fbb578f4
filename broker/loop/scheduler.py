"""Time and threads for the cores: the ports of `ground.ports`, by asyncio and threads.

Owns: the two clocks, timers on the event loop, and pools of threads for work that may block.
Never: broker state. A job runs in a thread on immutable values; its `done` runs on the loop.

A node has two `BlockingPool`s. One of `num.io.threads` is for cold reads of requests, and its jobs
hold the handler slots of `broker.network.server.request_channel`. One of `background.threads` is
for flushing, deletion and recovery. This is as in Kafka's `KafkaRequestHandlerPool` and
`KafkaScheduler`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ground.ports import Scheduler, Timer

T = TypeVar("T")

_log = logging.getLogger(f"ottla.{__name__}")

Call: TypeAlias = Callable[..., None]
"""A function that calls its first argument with the other arguments."""
_Job = tuple[Callable[[], Any], Callable[[Any, Exception | None], None]]


class LoopTimer:
    """A timer that never fires before its time on the clock of `monotonic_ms`.

    The loop's own timers count from the start of the loop's turn, in whole milliseconds, so they
    may fire early by that clock. A core that compares the clock with its deadline would then find
    the deadline still ahead.
    """

    __slots__ = ("_callback", "_due", "_handle", "_loop")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, delay_s: float, callback: Callable[[], None]
    ) -> None:
        """Schedule one call of `callback`, not before `delay_s` seconds from now."""
        self._loop = loop
        self._callback: Callable[[], None] | None = callback
        self._due = time.monotonic() + delay_s
        self._handle: asyncio.Handle = loop.call_later(delay_s, self._fire)

    def cancel(self) -> None:
        """Cancel the call. After the call this has no effect."""
        self._callback = None
        self._handle.cancel()

    def _fire(self) -> None:
        """Call the callback, unless it is cancelled. If the call is early, schedule it for the rest
        of the time."""
        callback = self._callback
        if callback is None:
            return
        ahead = self._due - time.monotonic()
        if ahead > 0:
            self._handle = self._loop.call_later(max(ahead, 0.001), self._fire)
            return
        self._callback = None
        callback()


def call_unmeasured(callback: Callable[..., None], *values: object) -> None:
    """Call `callback`, and do no more: the plain `Call`."""
    callback(*values)


class LoopScheduler:
    """The `ground.ports.Scheduler` of an event loop, for use on that loop's thread only."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def wall_ms(self) -> int:
        """Return the milliseconds since the epoch; the clock may jump."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        """Return milliseconds of a clock that never goes back."""
        return time.monotonic() * 1000.0

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` once, not before `delay_ms` from now."""
        return LoopTimer(self._loop, max(delay_ms, 0.0) / 1000.0, callback)

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` once, in the loop's next turn."""
        self._loop.call_soon(callback)


class WatchedScheduler:
    """A scheduler whose callbacks are called by `call`, which may measure them."""

    def __init__(self, scheduler: Scheduler, call: Call) -> None:
        self._call = call
        self._scheduler = scheduler
        self.wall_ms = scheduler.wall_ms
        self.monotonic_ms = scheduler.monotonic_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Run `callback` once through `call`, not before `delay_ms` from now."""
        return self._scheduler.call_later(delay_ms, partial(self._call, callback))

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Run `callback` once through `call`, in the loop's next turn."""
        self._scheduler.call_soon(partial(self._call, callback))


class BlockingPool:
    """A `ground.ports.Blocking` with at most `threads` jobs at once; further ones wait in order.

    Threads are started as jobs need them, and stay. `submit` is called on the loop's thread, and
    `done` runs there. `outstanding` counts jobs from `submit` until just before their `done`.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, threads: int, name: str, call: Call = call_unmeasured
    ) -> None:
        """Create a pool without threads yet. `call` calls each `done`, and may measure it. Raises
        ValueError if `threads` is less than 1."""
        if threads < 1:
            raise ValueError(f"pool {name} needs at least one thread")
        self._call = call
        self._loop = loop
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._started = 0
        self._leaving = 0
        self._closed = False
        self.size = threads
        self.outstanding = 0
        self.completed = 0
        self._busy_s = 0.0
        self._counted_s = time.monotonic()
        self.on_job_done: Callable[[], None] | None = None
        """The callback on the loop after each job's `done`, when a slot may be free."""

    def resize(self, threads: int) -> None:
        """Set the number of jobs that may run at once. Jobs that run or wait are still completed.
        If the number grew, `on_job_done` is called. Raises ValueError if `threads` is less than 1.
        """
        if threads < 1:
            raise ValueError(f"pool {self._name} needs at least one thread")
        self._count_busy()
        grown, self.size = threads > self.size, threads
        if self._closed:
            return
        for _ in range(self._staying - threads):
            self._leaving += 1
            self._jobs.put(None)
        while self._staying < min(self.outstanding, threads):
            self._start_thread()
        if grown and self.on_job_done is not None:
            self.on_job_done()

    @property
    def _staying(self) -> int:
        """The number of threads that are not asked to end."""
        return len(self._threads) - self._leaving

    def submit(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run `job` in a thread, then `done(result, error)` on the loop.

        After `close` a job is dropped, as when the process dies. A timer or the end of another job
        may still submit one, but the stop of the node itself writes what must be durable.
        """
        if self._closed:
            _log.debug("%s: a job after the stop is left out", self._name)
            return
        self._count_busy()
        self.outstanding += 1
        if self.outstanding > self._staying and self._staying < self.size:
            self._start_thread()
        self._jobs.put((job, done))

    @property
    def busy_s(self) -> float:
        """The seconds that threads have spent on jobs, summed over all threads, since the start."""
        self._count_busy()
        return self._busy_s

    def _count_busy(self) -> None:
        """Add the thread seconds since the last count, with the number of jobs since then."""
        now_s = time.monotonic()
        self._busy_s += min(self.outstanding, self.size) * (now_s - self._counted_s)
        self._counted_s = now_s

    async def close(self, timeout_s: float) -> bool:
        """Finish the jobs submitted, for at most `timeout_s`, and join the threads.

        Returns False if a job did not end in that time; its thread is a daemon and dies with the
        process.
        """
        self._closed = True
        for _ in self._threads:
            self._jobs.put(None)
        deadline = time.monotonic() + timeout_s
        # Polling keeps the loop free for the jobs' `done`, and happens at shutdown only.
        while any(thread.is_alive() for thread in self._threads):
            if time.monotonic() >= deadline:
                _log.warning("%s: a job still runs after %.1f s", self._name, timeout_s)
                return False
            await asyncio.sleep(0.002)
        # Each `done` was scheduled before its thread ended: one turn of the loop runs them all.
        await asyncio.sleep(0)
        return True

    def _start_thread(self) -> None:
        """Add a daemon thread that runs jobs until it takes None from the queue."""
        name = f"{self._name}-{self._started}"
        self._started += 1
        thread = threading.Thread(target=self._run_jobs, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _run_jobs(self) -> None:
        """Run jobs in this thread until the queue returns None. Each result or error is passed to
        `_job_ended` in the loop's thread.

        If the loop is closed, the thread ends.
        """
        while (item := self._jobs.get()) is not None:
            job, done = item
            result: Any = None
            error: Exception | None = None
            try:
                result = job()
            except Exception as caught:  # noqa: BLE001  the job's owner gets it as a value
                error = caught
            try:
                self._loop.call_soon_threadsafe(self._job_ended, done, result, error)
            except RuntimeError:
                # The loop is closed: the process is ending, and nothing waits for the result.
                return
            del item, job, done, result, error
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._thread_ended, threading.current_thread())

    def _thread_ended(self, thread: threading.Thread) -> None:
        """Remove an ended thread from the pool, unless the pool is closed."""
        if not self._closed:
            self._threads.remove(thread)
            self._leaving -= 1

    def _job_ended(
        self,
        done: Callable[[Any, Exception | None], None],
        result: object,
        error: Exception | None,
    ) -> None:
        """Count a job as completed, and call `done` with its result or error, then `on_job_done`.
        Runs in the loop's thread."""
        self._count_busy()
        self.outstanding -= 1
        self.completed += 1
        try:
            self._call(done, result, error)
        finally:
            if self.on_job_done is not None:
                self.on_job_done()
