"""What the active controller does by the clock: sessions of brokers, no-op records.

Owns: the two timers, which run while this node is the active controller. Never: decides.
"""

from __future__ import annotations

from typing import Protocol

from controller.settings import ControllerSettings
from storage.ports import Scheduler, Timer

CHECKS_PER_SESSION = 6
"""A session that ran out is noticed at most this fraction of it later."""


class TimedController(Protocol):
    """The calls that the timers make."""

    def fence_expired(self, late: bool) -> None:
        """Look for sessions that ran out."""

    def write_no_op(self) -> None:
        """Write a no-op record."""


class ControllerTimers:
    """Two repeating timers."""

    def __init__(
        self, settings: ControllerSettings, scheduler: Scheduler, controller: TimedController
    ) -> None:
        self._session_check_ms = settings.broker_session_timeout_ms / CHECKS_PER_SESSION
        # Without other voters nobody looks at how far the log has come.
        alone = len(settings.voters) <= 1
        self._no_op_ms = 0 if alone else settings.metadata_max_idle_interval_ms
        self._scheduler = scheduler
        self._controller = controller
        self._timers: dict[str, Timer] = {}
        self._checked_ms = 0.0

    def start(self) -> None:
        """Begin, or begin anew."""
        self.stop()
        self._checked_ms = self._scheduler.monotonic_ms()
        self._arm_check()
        if self._no_op_ms:
            self._arm_no_op()

    def stop(self) -> None:
        """Neither timer runs any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _arm_check(self) -> None:
        self._timers["check"] = self._scheduler.call_later(self._session_check_ms, self._check)

    def _arm_no_op(self) -> None:
        self._timers["no-op"] = self._scheduler.call_later(self._no_op_ms, self._no_op)

    def _check(self) -> None:
        now_ms = self._scheduler.monotonic_ms()
        late = now_ms - self._checked_ms > 3 * self._session_check_ms
        self._checked_ms = now_ms
        self._arm_check()
        self._controller.fence_expired(late)

    def _no_op(self) -> None:
        self._arm_no_op()
        self._controller.write_no_op()
