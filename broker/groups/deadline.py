"""A deadline that is extended much more often than it expires.

Each heartbeat extends the member's session. To cancel and start a timer each time would cost more
than the heartbeat itself, so `extend` only stores the new deadline. When the running timer fires,
it starts again for the rest of the time. Owns at most one timer. Never decides what an expiry
means.
"""

from __future__ import annotations

from collections.abc import Callable

from ground.ports import Scheduler, Timer


class Deadline:
    """A deadline that calls `expired` once when it passes. It is idle until `extend` sets it."""

    __slots__ = ("_due_ms", "_expired", "_scheduler", "_timer", "_timer_due_ms")

    def __init__(self, scheduler: Scheduler, expired: Callable[[], None]) -> None:
        """Create a deadline that is not set; `expired` is called once when it passes."""
        self._scheduler = scheduler
        self._expired = expired
        self._due_ms: float | None = None
        self._timer: Timer | None = None
        self._timer_due_ms = 0.0

    @property
    def is_set(self) -> bool:
        """True from `extend` until the deadline expires or is cancelled."""
        return self._due_ms is not None

    def extend(self, delay_ms: float) -> None:
        """Set the deadline to `delay_ms` from now, in place of the previous one."""
        due = self._scheduler.monotonic_ms() + delay_ms
        self._due_ms = due
        if self._timer is not None:
            if self._timer_due_ms <= due:
                return
            self._timer.cancel()
        self._start_timer(due, delay_ms)

    def cancel(self) -> None:
        """Unset the deadline and stop its timer."""
        self._due_ms = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_timer(self, due_ms: float, delay_ms: float) -> None:
        """Start the timer that calls `_fire` in `delay_ms`; it is due at `due_ms` of the monotonic
        clock."""
        self._timer_due_ms = due_ms
        self._timer = self._scheduler.call_later(delay_ms, self._fire)

    def _fire(self) -> None:
        """Call `expired` if the deadline has passed; if it was extended, wait for the rest. Do
        nothing if it was cancelled."""
        self._timer = None
        due = self._due_ms
        if due is None:
            return
        remaining = due - self._scheduler.monotonic_ms()
        if remaining > 0:
            self._start_timer(due, remaining)
            return
        self._due_ms = None
        self._expired()
