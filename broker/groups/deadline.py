"""A deadline that is put off much more often than it is reached.

A member's session is extended by each heartbeat. Cancelling and arming a timer every time would
cost more than the heartbeat itself, so `extend` only notes the new deadline; the timer that is
already armed looks at the note when it fires, and goes to sleep again for the rest. Owns at most
one timer. Never decides what an expiry means.
"""

from __future__ import annotations

from collections.abc import Callable

from ground.ports import Scheduler, Timer


class Deadline:
    """Calls `expired` once when nobody extended it in time; idle, it holds no timer."""

    __slots__ = ("_due_ms", "_expired", "_scheduler", "_timer", "_timer_due_ms")

    def __init__(self, scheduler: Scheduler, expired: Callable[[], None]) -> None:
        self._scheduler = scheduler
        self._expired = expired
        self._due_ms: float | None = None
        self._timer: Timer | None = None
        self._timer_due_ms = 0.0

    @property
    def is_set(self) -> bool:
        """Whether it is still to be reached."""
        return self._due_ms is not None

    def extend(self, delay_ms: float) -> None:
        """Expire `delay_ms` from now, whatever was set before."""
        due = self._scheduler.monotonic_ms() + delay_ms
        self._due_ms = due
        if self._timer is not None:
            if self._timer_due_ms <= due:
                return
            self._timer.cancel()
        self._arm(due, delay_ms)

    def cancel(self) -> None:
        """Expect nothing any more."""
        self._due_ms = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, due_ms: float, delay_ms: float) -> None:
        self._timer_due_ms = due_ms
        self._timer = self._scheduler.call_later(delay_ms, self._fire)

    def _fire(self) -> None:
        self._timer = None
        due = self._due_ms
        if due is None:
            return
        remaining = due - self._scheduler.monotonic_ms()
        if remaining > 0:
            self._arm(due, remaining)
            return
        self._due_ms = None
        self._expired()
