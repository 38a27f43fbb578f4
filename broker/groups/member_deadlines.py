"""The deadlines of a shard's members, such as the ends of their sessions.

Owns one kind of deadline, by group id and member id. Deadlines are soft state: they are not in the
log, and start again after a load. A deadline that passes calls back, and the decision is submitted
like a request. Never decides.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.coordinator.outcome import Done
from broker.groups.deadline import Deadline
from ground.ports import Scheduler
from protocol.errors import ErrorCode

MemberKey = tuple[str, str]
"""A group id and a member id."""
Again = Callable[[], None]
"""A function that lets a deadline expire once more after `RETRY_MS`, because its records could not
be written. It does nothing if the member's deadline has been extended, replaced or removed."""
RETRY_MS = 1_000


class MemberDeadlines:
    """The deadlines of one kind, at most one for each member."""

    def __init__(self, scheduler: Scheduler) -> None:
        """Create without deadlines."""
        self._scheduler = scheduler
        self._deadlines: dict[MemberKey, Deadline] = {}

    def __contains__(self, key: MemberKey) -> bool:
        return key in self._deadlines

    def start(self, key: MemberKey, timeout_ms: int, reached: Callable[[Again], None]) -> None:
        """Set a deadline of the member to `timeout_ms` from now, in place of an earlier one.

        `reached` gets a call that tries again after RETRY_MS, unless the deadline was replaced or
        set meanwhile.
        """
        self.cancel(key)

        def again() -> None:
            """Set the deadline to RETRY_MS from now, unless it was replaced, removed or set
            meanwhile."""
            if self._deadlines.get(key) is deadline and not deadline.is_set:
                deadline.extend(RETRY_MS)

        deadline = self._deadlines[key] = Deadline(self._scheduler, lambda: reached(again))
        deadline.extend(max(timeout_ms, 0))

    def extend(self, key: MemberKey, timeout_ms: int) -> bool:
        """Set the member's deadline to `timeout_ms` from now. Return False if it has none."""
        deadline = self._deadlines.get(key)
        if deadline is None:
            return False
        deadline.extend(timeout_ms)
        return True

    def cancel(self, key: MemberKey) -> None:
        """Remove the member's deadline, if it has one."""
        deadline = self._deadlines.pop(key, None)
        if deadline is not None:
            deadline.cancel()

    def stop(self) -> None:
        """Remove all deadlines."""
        for deadline in self._deadlines.values():
            deadline.cancel()
        self._deadlines.clear()


def settle_removal(again: Again, error: ErrorCode, reply: Done) -> None:
    """Call the reply of a member's removal with `error`, and `again` if there is an error."""
    reply(error)
    if error is not ErrorCode.NONE:
        again()
