"""The time-outs of consumer groups' members: for their heartbeats, and to revoke partitions.

Owns the deadlines of each member of a shard. Each heartbeat extends the session. The rebalance
time-out starts with the answer that makes the member revoke partitions. For a member of the classic
protocol, it also starts when the member must join again or fetch its assignment. Deadlines are soft
state: they are not in the log, and start again after a load. An expired deadline calls back, and
the decision is submitted like a request. Never decides. Follows KIP-848 and the timers of Kafka's
`GroupMetadataManager`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker.groups.consumer.state.member import PartitionsPosition
from broker.groups.deadline import Deadline
from broker.groups.reconciliation.member_state import UNREVOKED_PARTITIONS
from ground.ports import Scheduler

Again = Callable[[], None]
"""A function that lets a deadline expire once more after `RETRY_MS`, because its records could not
be written. It does nothing if the member's deadline has been extended, replaced or removed."""
Expired = Callable[[str, str, str, Again], None]
"""A callback with the group id, the member id, and the reason for the removal."""
NotRevoked = Callable[[str, str, int, Again], None]
"""A callback with the group id, the member id, and the member's epoch when it had to revoke."""
RETRY_MS = 1_000

_Key = tuple[str, str]


class MemberTimers:
    """The deadlines of one shard's members, by group id and member id."""

    def __init__(self, scheduler: Scheduler, expired: Expired, not_revoked: NotRevoked) -> None:
        """Create without deadlines. `expired` is called after a session or a time-out of
        `await_return`, `not_revoked` after one of `position_changed`."""
        self._scheduler = scheduler
        self._expired = expired
        self._not_revoked = not_revoked
        self._sessions: dict[_Key, Deadline] = {}
        self._revocations: dict[_Key, Deadline] = {}
        self._returns: dict[_Key, Deadline] = {}

    def extend_session(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Extend the member's session to `timeout_ms` from now. `expired` is called at its end."""
        key = (group_id, member_id)
        session = self._sessions.get(key)
        if session is None:
            expired = partial(self._expired, group_id, member_id, "its session expired")
            session = self._new_deadline(self._sessions, key, expired)
        session.extend(timeout_ms)

    def position_changed(
        self, group_id: str, member_id: str, position: PartitionsPosition, timeout_ms: int
    ) -> None:
        """Restart the time to revoke partitions, of `timeout_ms`, if the new position has some to
        revoke; else stop it. `not_revoked` is called at its end."""
        key = (group_id, member_id)
        before = self._revocations.pop(key, None)
        if before is not None:
            before.cancel()
        if position.state is UNREVOKED_PARTITIONS:
            late = partial(self._not_revoked, group_id, member_id, position.epoch)
            revocation = self._new_deadline(self._revocations, key, late)
            revocation.extend(max(timeout_ms, 0))

    def await_return(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Start the time, of `timeout_ms`, in which a classic member must join or sync, unless it
        runs already. `expired` is called at its end."""
        key = (group_id, member_id)
        if key not in self._returns:
            reason = "it did not join or sync within its rebalance time-out"
            late = partial(self._expired, group_id, member_id, reason)
            deadline = self._new_deadline(self._returns, key, late)
            deadline.extend(max(timeout_ms, 0))

    def _new_deadline(
        self, deadlines: dict[_Key, Deadline], key: _Key, reached: Callable[[Again], None]
    ) -> Deadline:
        """Return a new deadline of the member, stored in `deadlines` but not set.

        `reached` gets a call that tries again after RETRY_MS, unless the deadline was replaced or
        set meanwhile.
        """

        def again() -> None:
            """Set the deadline to RETRY_MS from now, unless it was replaced, removed or set
            meanwhile."""
            if deadlines.get(key) is deadline and not deadline.is_set:
                deadline.extend(RETRY_MS)

        deadline = deadlines[key] = Deadline(self._scheduler, lambda: reached(again))
        return deadline

    def stop_awaiting(self, group_id: str, member_id: str) -> None:
        """Stop the time-out of `await_return`, because the classic member has joined or synced."""
        deadline = self._returns.pop((group_id, member_id), None)
        if deadline is not None:
            deadline.cancel()

    def forget(self, group_id: str, member_id: str) -> None:
        """Stop all timers of a removed member."""
        for deadlines in (self._sessions, self._revocations, self._returns):
            deadline = deadlines.pop((group_id, member_id), None)
            if deadline is not None:
                deadline.cancel()

    def stop(self) -> None:
        """Stop the timers of all members."""
        for deadlines in (self._sessions, self._revocations, self._returns):
            for deadline in deadlines.values():
                deadline.cancel()
            deadlines.clear()
