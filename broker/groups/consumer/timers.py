"""How long members may be silent, and how long they may take to give something up.

Owns the deadlines of each member of one shard: the session, which each heartbeat extends, and the
rebalance time-out, from the answer that told the member what to give up; of one that speaks the
classic protocol, also from when it was told to join again, or has an assignment to fetch. They are
soft: not in the log, and begun anew where the log is loaded. A deadline that is reached asks what
to do, and that is submitted as a request is. Follows KIP-848 and the timers of Kafka's
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
"""Reaches a deadline once more after `RETRY_MS`, as what it led to could not be written; without
effect where the member was heard of since, has moved on, or is gone."""
Expired = Callable[[str, str, str, Again], None]
"""Called with group id, member id, and what was waited for."""
NotRevoked = Callable[[str, str, int, Again], None]
"""Called with group id, member id, and the epoch in which the member was told."""
RETRY_MS = 1_000

_Key = tuple[str, str]


class MemberTimers:
    """The deadlines of one shard's members, by group id and member id."""

    def __init__(self, scheduler: Scheduler, expired: Expired, not_revoked: NotRevoked) -> None:
        self._scheduler = scheduler
        self._expired = expired
        self._not_revoked = not_revoked
        self._sessions: dict[_Key, Deadline] = {}
        self._revocations: dict[_Key, Deadline] = {}
        self._returns: dict[_Key, Deadline] = {}

    def heard(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """The member is alive: expect its next heartbeat within `timeout_ms`."""
        key = (group_id, member_id)
        session = self._sessions.get(key)
        if session is None:
            expired = partial(self._expired, group_id, member_id, "its session expired")
            session = self._deadline(self._sessions, key, expired)
        session.extend(timeout_ms)

    def moved(
        self, group_id: str, member_id: str, position: PartitionsPosition, timeout_ms: int
    ) -> None:
        """The member was told its new position: it has `timeout_ms` to give up what is to be."""
        key = (group_id, member_id)
        before = self._revocations.pop(key, None)
        if before is not None:
            before.cancel()
        if position.state is UNREVOKED_PARTITIONS:
            late = partial(self._not_revoked, group_id, member_id, position.epoch)
            revocation = self._deadline(self._revocations, key, late)
            revocation.extend(max(timeout_ms, 0))

    def await_return(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """The member has something to do, unless that was so already."""
        key = (group_id, member_id)
        if key not in self._returns:
            what = "it did not join or sync within its rebalance time-out"
            late = partial(self._expired, group_id, member_id, what)
            deadline = self._deadline(self._returns, key, late)
            deadline.extend(max(timeout_ms, 0))

    def _deadline(
        self, deadlines: dict[_Key, Deadline], key: _Key, reached: Callable[[Again], None]
    ) -> Deadline:
        def again() -> None:
            if deadlines.get(key) is deadline and not deadline.is_set:
                deadline.extend(RETRY_MS)

        deadline = deadlines[key] = Deadline(self._scheduler, lambda: reached(again))
        return deadline

    def came_back(self, group_id: str, member_id: str) -> None:
        """The member did it."""
        deadline = self._returns.pop((group_id, member_id), None)
        if deadline is not None:
            deadline.cancel()

    def forget(self, group_id: str, member_id: str) -> None:
        """The member is gone."""
        for deadlines in (self._sessions, self._revocations, self._returns):
            deadline = deadlines.pop((group_id, member_id), None)
            if deadline is not None:
                deadline.cancel()

    def stop(self) -> None:
        """Expect nothing of anybody."""
        for deadlines in (self._sessions, self._revocations, self._returns):
            for deadline in deadlines.values():
                deadline.cancel()
            deadlines.clear()
