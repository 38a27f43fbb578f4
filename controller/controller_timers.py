"""The timers of the active controller: broker sessions, no-op records, elections, tokens.

    session check   when the first session ends; a broker silent after a grace period is fenced
    no-op record    every `metadata.max.idle.interval.ms` while other nodes fetch (KIP-835)
    rebalance       every `leader.imbalance.check.interval.seconds`: preferred leaders
    unclean         every `unclean.leader.election.interval.ms`: leaders where a topic allows it
    tokens          every `delegation.token.expiry.check.interval.ms`: removes expired tokens

Owns: these timers, which run while this node is the active controller. Never: decides.

The grace period helps a controller whose own process was paused: it reads the heartbeats that wait
in its sockets before it fences a broker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from controller.settings import ControllerSettings
from ground.ports import Scheduler, Timer

GRACE_MS = 100
"""The grace period: a broker is fenced at most about twice this after its session ended."""
_LATE_PART = 3
"""A session check that is late by this fraction of a session shows that the process was paused."""
_AGAIN_MS = 1
"""The delay before the next turn of elections or removals that exceed one turn."""


class TimedController(Protocol):
    """The calls that the timers make to the controller."""

    def next_session_end_ms(self) -> float:
        """Return the monotonic time in milliseconds at which the first session may end."""

    def has_expired(self) -> bool:
        """Return whether any broker's session has expired."""

    def grant_sessions(self) -> None:
        """Restart the session of every broker that has a session, as if its heartbeat had arrived
        now."""

    def fence_expired(self) -> None:
        """Fence the brokers whose sessions have expired."""

    def write_no_op(self) -> None:
        """Append a no-op record to the metadata log if other nodes fetch it."""

    def balance_leaders(self) -> bool:
        """Move leadership to preferred replicas. Return whether more may be left to do."""

    def elect_unclean(self) -> bool:
        """Elect a leader for partitions that have none, if the topic allows an unclean leader.
        Return whether more may be left."""

    def remove_expired_tokens(self) -> bool:
        """Remove expired delegation tokens. Return whether more are left."""


class ControllerTimers:
    """Five repeating timers of the active controller."""

    def __init__(
        self,
        settings: ControllerSettings,
        scheduler: Scheduler,
        controller: TimedController,
        token_scheduler: Scheduler | None = None,
    ) -> None:
        """Take the intervals from `settings`; `start` sets the timers. `token_scheduler` times the
        checks of delegation tokens; None: `scheduler`."""
        self._session_ms = settings.broker_session_timeout_ms
        self._no_op_ms = settings.metadata_max_idle_interval_ms
        self._balance_ms = settings.leader_imbalance_check_interval_ms
        self._unclean_ms = settings.unclean_leader_election_interval_ms
        has_tokens = settings.token_key is not None
        self._tokens_ms = settings.delegation_token_expiry_check_interval_ms if has_tokens else 0
        self._scheduler = scheduler
        self._token_scheduler = token_scheduler or scheduler
        self._controller = controller
        self._timers: dict[str, Timer] = {}
        self._due_ms = 0.0

    def start(self) -> None:
        """Set all timers from the beginning, but none whose interval is 0, and none for tokens if
        no secret key is set."""
        self.stop()
        self._arm_check()
        if self._no_op_ms:
            self._arm_no_op()
        if self._balance_ms:
            self._arm_balance(self._balance_ms)
        self._arm_unclean(self._unclean_ms)
        if self._tokens_ms:
            self._arm_tokens(self._tokens_ms)

    def stop(self) -> None:
        """Cancel all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    # --- sessions ------------------------------------------------------------------------------

    def _arm_check(self) -> None:
        """Set the session timer to check at the end of the first session: `GRACE_MS` from now at
        the earliest, a whole session from now at the latest."""
        now_ms = self._scheduler.monotonic_ms()
        delay_ms = self._controller.next_session_end_ms() - now_ms
        self._arm_session(min(max(delay_ms, GRACE_MS), self._session_ms), self._check_sessions)

    def _arm_session(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Set the session timer to run `call` after `delay_ms`, and keep the time at which it is
        due for `_late_ms`."""
        self._due_ms = self._scheduler.monotonic_ms() + delay_ms
        self._timers["session"] = self._scheduler.call_later(delay_ms, call)

    def _check_sessions(self) -> None:
        """Restart all sessions if this check is late, because the process was paused. Then set the
        timer: to fence after `GRACE_MS` if a session has expired, otherwise for the next check."""
        if self._late_ms() > self._session_ms / _LATE_PART:
            self._controller.grant_sessions()
        if self._controller.has_expired():
            self._arm_session(GRACE_MS, self._fence_expired)
        else:
            self._arm_check()

    def _fence_expired(self) -> None:
        """Fence the brokers that are still expired after the grace period, and set the next check.
        If the timer is late by more than `GRACE_MS`, check again instead, and fence no broker."""
        if self._late_ms() > GRACE_MS:
            self._check_sessions()  # paused again: heartbeats that have arrived are not read yet
            return
        self._controller.fence_expired()
        if self._timers:  # none if the fencing showed that this node is no longer the leader
            self._arm_check()

    def _late_ms(self) -> float:
        """Return by how many milliseconds the session timer is late; negative before it is due."""
        return self._scheduler.monotonic_ms() - self._due_ms

    # --- the other timers ----------------------------------------------------------------------

    def _arm_no_op(self) -> None:
        """Set the timer of the next no-op record, after `metadata.max.idle.interval.ms`."""
        self._timers["no-op"] = self._scheduler.call_later(self._no_op_ms, self._no_op)

    def _no_op(self) -> None:
        """Set the timer of the next no-op record, and write a no-op record through the
        controller."""
        self._arm_no_op()
        self._controller.write_no_op()

    def _arm_balance(self, delay_ms: float) -> None:
        """Set the timer of the next elections of preferred leaders."""
        self._timers["balance"] = self._scheduler.call_later(delay_ms, self._balance)

    def _balance(self) -> None:
        """Move leadership to preferred replicas, and set the timer for the next time: after 1 ms if
        more may be left, otherwise after the interval."""
        self._arm_balance(self._balance_ms)
        if self._controller.balance_leaders():
            self._timers["balance"].cancel()
            self._arm_balance(_AGAIN_MS)

    def _arm_unclean(self, delay_ms: float) -> None:
        """Set the timer of the next unclean elections."""
        self._timers["unclean"] = self._scheduler.call_later(delay_ms, self._unclean)

    def elect_unclean_soon(self) -> None:
        """Run the unclean elections after 1 ms, because a config may allow them now. Do nothing if
        the timers do not run."""
        running = self._timers.get("unclean")
        if running is not None:
            running.cancel()
            self._arm_unclean(_AGAIN_MS)

    def _unclean(self) -> None:
        """Hold unclean elections, and set the timer for the next time: after 1 ms if more may be
        left, otherwise after the interval."""
        self._arm_unclean(self._unclean_ms)
        if self._controller.elect_unclean():
            self.elect_unclean_soon()

    def _arm_tokens(self, delay_ms: float) -> None:
        """Set the timer of the next removal of expired delegation tokens."""
        self._timers["tokens"] = self._token_scheduler.call_later(delay_ms, self._remove_tokens)

    def _remove_tokens(self) -> None:
        """Remove expired delegation tokens, and set the timer for the next time: after 1 ms if more
        are left, otherwise after the interval."""
        self._arm_tokens(self._tokens_ms)
        if self._controller.remove_expired_tokens():
            self._timers["tokens"].cancel()
            self._arm_tokens(_AGAIN_MS)
