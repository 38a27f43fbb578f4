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
        """Start a new session for every broker."""

    def fence_expired(self) -> None:
        """Fence the brokers whose sessions have expired."""

    def write_no_op(self) -> None:
        """Write a no-op record if other nodes fetch the metadata log."""

    def balance_leaders(self) -> bool:
        """Move leadership to preferred replicas. Return whether more may be left to do."""

    def elect_unclean(self) -> bool:
        """Elect leaders where the topic allows unclean ones. Return whether more may be left."""

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
        """`token_scheduler` times the checks of delegation tokens; None: `scheduler`."""
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
        """Start all timers; those that run already are restarted."""
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
        """Check the sessions when the first one ends, but not before `GRACE_MS`."""
        now_ms = self._scheduler.monotonic_ms()
        delay_ms = self._controller.next_session_end_ms() - now_ms
        self._arm_session(min(max(delay_ms, GRACE_MS), self._session_ms), self._check_sessions)

    def _arm_session(self, delay_ms: float, call: Callable[[], None]) -> None:
        """Run `call` after `delay_ms`, and keep the time at which it is due."""
        self._due_ms = self._scheduler.monotonic_ms() + delay_ms
        self._timers["session"] = self._scheduler.call_later(delay_ms, call)

    def _check_sessions(self) -> None:
        """Wait for `GRACE_MS` before expired brokers are fenced. If the timer ran late, extend all
        sessions first."""
        if self._late_ms() > self._session_ms / _LATE_PART:
            self._controller.grant_sessions()
        if self._controller.has_expired():
            self._arm_session(GRACE_MS, self._fence_expired)
        else:
            self._arm_check()

    def _fence_expired(self) -> None:
        """Fence the brokers that are still expired after the grace time; if the timer ran late,
        check again."""
        if self._late_ms() > GRACE_MS:
            self._check_sessions()  # paused again: heartbeats that have arrived are not read yet
            return
        self._controller.fence_expired()
        if self._timers:  # none if the fencing showed that this node is no longer the leader
            self._arm_check()

    def _late_ms(self) -> float:
        """Return by how many ms the session timer is late."""
        return self._scheduler.monotonic_ms() - self._due_ms

    # --- the other timers ----------------------------------------------------------------------

    def _arm_no_op(self) -> None:
        self._timers["no-op"] = self._scheduler.call_later(self._no_op_ms, self._no_op)

    def _no_op(self) -> None:
        self._arm_no_op()
        self._controller.write_no_op()

    def _arm_balance(self, delay_ms: float) -> None:
        self._timers["balance"] = self._scheduler.call_later(delay_ms, self._balance)

    def _balance(self) -> None:
        """Start preferred elections, and the timer for the next ones, which come soon if some are
        left."""
        self._arm_balance(self._balance_ms)
        if self._controller.balance_leaders():
            self._timers["balance"].cancel()
            self._arm_balance(_AGAIN_MS)

    def _arm_unclean(self, delay_ms: float) -> None:
        self._timers["unclean"] = self._scheduler.call_later(delay_ms, self._unclean)

    def elect_unclean_soon(self) -> None:
        """Check at once for unclean elections, because a config may allow them now. Do nothing
        if the timers do not run."""
        running = self._timers.get("unclean")
        if running is not None:
            running.cancel()
            self._arm_unclean(_AGAIN_MS)

    def _unclean(self) -> None:
        """Start unclean elections, and the timer for the next ones, which come soon if some are
        left."""
        self._arm_unclean(self._unclean_ms)
        if self._controller.elect_unclean():
            self.elect_unclean_soon()

    def _arm_tokens(self, delay_ms: float) -> None:
        self._timers["tokens"] = self._token_scheduler.call_later(delay_ms, self._remove_tokens)

    def _remove_tokens(self) -> None:
        """Remove expired tokens, and start the timer for the next ones, which comes soon if some
        are left."""
        self._arm_tokens(self._tokens_ms)
        if self._controller.remove_expired_tokens():
            self._timers["tokens"].cancel()
            self._arm_tokens(_AGAIN_MS)
