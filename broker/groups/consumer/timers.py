"""The time-outs of consumer groups' members: for their heartbeats, and to revoke partitions.

Owns which deadlines a member of a shard has. Each heartbeat extends the session. The rebalance
time-out starts with the answer that makes the member revoke partitions. For a member of the classic
protocol, it also starts when the member must join again or fetch its assignment.
`broker.groups.member_deadlines` keeps the deadlines. Never decides. Follows KIP-848 and the timers
of Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker.groups.consumer.state.member import PartitionsPosition
from broker.groups.member_deadlines import Again, MemberDeadlines
from broker.groups.reconciliation.member_state import UNREVOKED_PARTITIONS
from ground.ports import Scheduler

Expired = Callable[[str, str, str, Again], None]
"""A callback with the group id, the member id, and the reason for the removal."""
NotRevoked = Callable[[str, str, int, Again], None]
"""A callback with the group id, the member id, and the member's epoch when it had to revoke."""


class MemberTimers:
    """The deadlines of one shard's members, by group id and member id."""

    def __init__(self, scheduler: Scheduler, expired: Expired, not_revoked: NotRevoked) -> None:
        """Create without deadlines. `expired` is called after a session or a time-out of
        `await_return`, `not_revoked` after one of `position_changed`."""
        self._expired = expired
        self._not_revoked = not_revoked
        self._sessions = MemberDeadlines(scheduler)
        self._revocations = MemberDeadlines(scheduler)
        self._returns = MemberDeadlines(scheduler)

    def extend_session(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Extend the member's session to `timeout_ms` from now. `expired` is called at its end."""
        key = (group_id, member_id)
        if not self._sessions.extend(key, timeout_ms):
            expired = partial(self._expired, group_id, member_id, "its session expired")
            self._sessions.start(key, timeout_ms, expired)

    def position_changed(
        self, group_id: str, member_id: str, position: PartitionsPosition, timeout_ms: int
    ) -> None:
        """Restart the time to revoke partitions, of `timeout_ms`, if the new position has some to
        revoke; else stop it. `not_revoked` is called at its end."""
        key = (group_id, member_id)
        if position.state is UNREVOKED_PARTITIONS:
            late = partial(self._not_revoked, group_id, member_id, position.epoch)
            self._revocations.start(key, timeout_ms, late)
        else:
            self._revocations.cancel(key)

    def await_return(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Start the time, of `timeout_ms`, in which a classic member must join or sync, unless it
        runs already. `expired` is called at its end."""
        key = (group_id, member_id)
        if key not in self._returns:
            reason = "it did not join or sync within its rebalance time-out"
            late = partial(self._expired, group_id, member_id, reason)
            self._returns.start(key, timeout_ms, late)

    def stop_awaiting(self, group_id: str, member_id: str) -> None:
        """Stop the time-out of `await_return`, because the classic member has joined or synced."""
        self._returns.cancel((group_id, member_id))

    def forget(self, group_id: str, member_id: str) -> None:
        """Stop all timers of a removed member."""
        for deadlines in (self._sessions, self._revocations, self._returns):
            deadlines.cancel((group_id, member_id))

    def stop(self) -> None:
        """Stop the timers of all members."""
        for deadlines in (self._sessions, self._revocations, self._returns):
            deadlines.stop()
