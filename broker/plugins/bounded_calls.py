"""Calls of plug-ins in threads, each with a deadline.

Owns: the limit on running calls (`ottla.plugins.calls.max`), the limit on waiting ones, and the
deadline (`ottla.plugins.timeout.ms`). A thread cannot be stopped: a call that runs past its
deadline counts as running until it ends, and its result is ignored. Never: decides what a missing
result means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeAlias, TypeVar, cast

from ground.ports import AnswerTimeout, Blocking, Scheduler, Timer

T = TypeVar("T")

Done: TypeAlias = Callable[[T | None, Exception | None], None]


class _Call(Generic[T]):
    __slots__ = ("done", "job", "timer")

    def __init__(self, job: Callable[[], T], done: Done[T]) -> None:
        self.job = job
        self.done: Done[T] | None = done
        self.timer: Timer | None = None

    def answer(self, result: T | None, error: Exception | None) -> None:
        """Call `done` with the outcome and cancel the deadline, unless `done` was called before."""
        done, self.done = self.done, None
        if done is not None:
            if self.timer is not None:
                self.timer.cancel()
            done(result, error)


class BoundedCalls:
    """A pool of plug-in calls with limits and deadlines. All calls on the loop's thread."""

    def __init__(
        self,
        blocking: Blocking,
        scheduler: Scheduler,
        calls_max: int,
        queued_max: int,
        timeout_ms: int,
    ) -> None:
        """Begin without calls. At most `calls_max` run at once and `queued_max` more wait. A call's
        deadline is `timeout_ms` after its `submit`."""
        self._blocking = blocking
        self._scheduler = scheduler
        self._calls_max = calls_max
        self._queued_max = queued_max
        self._timeout_ms = timeout_ms
        self._running = 0
        self._queue: deque[_Call[object]] = deque()

    def submit(self, job: Callable[[], T], done: Done[T]) -> None:
        """Run `job` in a thread, then call `done(result, error)` once, in a later turn. The error
        is AnswerTimeout after the deadline, or in the next turn, without a run, if too many calls
        wait."""
        while self._queue and self._queue[0].done is None:
            self._queue.popleft()
        if len(self._queue) >= self._queued_max:
            text = f"{self._queued_max} questions to plug-ins wait already"
            self._scheduler.call_soon(lambda: done(None, AnswerTimeout(text)))
            return
        call: _Call[T] = _Call(partial(_run, job), done)
        call.timer = self._scheduler.call_later(self._timeout_ms, lambda: self._time_out(call))
        self._queue.append(cast("_Call[object]", call))
        self._start_waiting()

    def _start_waiting(self) -> None:
        """Start waiting calls while fewer than the maximum run; drop those that timed out."""
        while self._queue and self._running < self._calls_max:
            call = self._queue.popleft()
            if call.done is None:
                continue
            self._running += 1
            self._blocking.submit(
                call.job, lambda *outcome, ended=call: self._call_ended(ended, *outcome)
            )

    def _call_ended(self, call: _Call[object], result: object, error: Exception | None) -> None:
        """Pass the outcome to the call's `done`, unless its deadline has passed, and start the next
        call."""
        self._running -= 1
        try:
            call.answer(result, error)
        finally:
            self._start_waiting()

    def _time_out(self, call: _Call[T]) -> None:
        """Call the call's `done` with AnswerTimeout; its thread goes on, and its result is
        dropped."""
        call.answer(None, AnswerTimeout(f"no answer within {self._timeout_ms} ms"))


def _run(job: Callable[[], T]) -> T:
    """Run `job`; raise RuntimeError for SystemExit and KeyboardInterrupt, which would end the
    thread."""
    try:
        return job()
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"{type(error).__name__} in a thread") from error
