"""Time and blocking jobs by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.unit.broker.security.sasl.oauthbearer.tokens_fixture import NOW_MS


class HandTimer:
    """One call that is due."""

    def __init__(self, due_ms: float, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class HandScheduler:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.timers: list[HandTimer] = []

    def wall_ms(self) -> int:
        return NOW_MS + int(self.now_ms)

    def monotonic_ms(self) -> float:
        return self.now_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> HandTimer:
        timer = HandTimer(self.now_ms + delay_ms, callback)
        self.timers.append(timer)
        return timer

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.call_later(0, callback)

    def delays(self) -> list[float]:
        """How far away each call is."""
        return [one.due_ms - self.now_ms for one in self.timers if one.callback is not None]

    def advance(self, by_ms: float) -> None:
        """Let time go by, and run what falls due."""
        self.now_ms += by_ms
        due = [one for one in self.timers if one.due_ms <= self.now_ms]
        self.timers = [one for one in self.timers if one.due_ms > self.now_ms]
        for timer in due:
            if timer.callback is not None:
                timer.callback()


class HandBlocking:
    """Jobs that run when they are told to."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], Any], Callable[[Any, Exception | None], None]]] = []

    def submit(self, job: Callable[[], Any], done: Callable[[Any, Exception | None], None]) -> None:
        self.jobs.append((job, done))

    def run(self) -> int:
        """Run what waits; how many jobs that were."""
        jobs, self.jobs = self.jobs, []
        for job, done in jobs:
            try:
                result = job()
            except (OSError, ValueError) as error:
                done(None, error)
            else:
                done(result, None)
        return len(jobs)
