"""Members of one group that the broker assigns, all driven from one thread.

Owns the times of the members' heartbeats, and the condition under which the group is Stable: every
partition has a member, as evenly as possible; all members are in one epoch; and the broker knows
that they have their assignments.
"""

from __future__ import annotations

import heapq
import math
import select
import time
from itertools import count

from bench.consumer_groups.ledger import Ledger
from bench.consumer_groups.member import ConsumerProtocolMember
from bench.wire import Wire
from protocol.errors import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity

STABLE_TIMEOUT_S = 120.0
LEAVE_VERSION = 5
CONFIGS_VERSION = 1
_GROUP, _SET = 32, 0


class ConsumerProtocolGroup:
    """A group of members that subscribe to topics with `partitions` partitions in all."""

    def __init__(self, port: int, name: str, partitions: int, *topics: str) -> None:
        self.members: list[ConsumerProtocolMember] = []
        self.ledger = Ledger()
        self._port, self._name, self._topics = port, name, topics
        self._partitions = partitions
        self._numbers = count()
        self._poll = select.epoll()
        self._by_fd: dict[int, ConsumerProtocolMember] = {}
        self._due: list[tuple[float, int, ConsumerProtocolMember]] = []
        self._order = count()

    def add(self, members: int = 1) -> None:
        """Let this number of members join, all at once."""
        new_members = [
            ConsumerProtocolMember(
                self._port, self._name, self._topics, next(self._numbers), self.ledger
            )
            for _ in range(members)
        ]
        for member in new_members:
            fd = member.wire.socket.fileno()
            self._by_fd[fd] = member
            self._poll.register(fd, select.EPOLLIN)
            self.members.append(member)
            member.beat()

    def remove(self, *, dies: bool) -> None:
        """Remove one member: it leaves, or it `dies` without a request."""
        while not self.members[-1].waits:
            self._take_answers(1.0)
        member = self.members.pop()
        fd = member.wire.socket.fileno()
        self._poll.unregister(fd)
        del self._by_fd[fd]
        member.beat_at_s = math.inf
        if dies:
            member.die()
        else:
            member.leave()
            member.left()

    def spread(self) -> None:
        """Wait until no request is in flight, and spread the next heartbeats over an interval.

        Without that all would be due at once if a change has delayed them.
        """
        self.quiet()
        now = time.monotonic()
        for place, member in enumerate(self.members):
            member.beat_at_s = now + place / len(self.members) * member.interval_ms / 1e3
            heapq.heappush(self._due, (member.beat_at_s, next(self._order), member))

    def expect(self, partitions: int) -> None:
        """Set the number of partitions that its topics now have."""
        self._partitions = partitions

    def settle(self) -> float:
        """Send heartbeats until the group is Stable, and return the seconds that it took.

        Raises TimeoutError if it never is.
        """
        began = time.monotonic()
        while not self.is_stable():
            if time.monotonic() > began + STABLE_TIMEOUT_S:
                raise TimeoutError(f"{len(self.members)} members are not stable")
            self._step()
        return time.monotonic() - began

    def go_on_for(self, seconds: float) -> None:
        """Send heartbeats, and nothing else, for `seconds`."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._step(left)

    def is_stable(self) -> bool:
        """Return whether the group is Stable as the module defines it."""
        return (
            all(member.waits and member.has_said_all for member in self.members)
            and len({member.epoch for member in self.members}) == 1
            and self.ledger.is_even((member.member_id for member in self.members), self._partitions)
        )

    def quiet(self) -> None:
        """Wait for the answers in flight."""
        while not all(member.waits for member in self.members):
            self._take_answers(1.0)

    def close(self) -> None:
        """Remove all members as an administrator, and close their connections."""
        self.send_away(len(self.members))
        self._poll.close()

    def send_away(self, members: int) -> None:
        """Remove this number of members by an administrator's request; close their connections.

        Raises RuntimeError if the broker refuses.
        """
        self.quiet()
        wire = Wire(self._port)
        removed, self.members = self.members[:members], self.members[members:]
        identities = [MemberIdentity(member.member_id) for member in removed]
        answer = wire.ask(LeaveGroupRequest(self._name, members=identities), LEAVE_VERSION)
        wire.close()
        for member in removed:
            fd = member.wire.socket.fileno()
            self._poll.unregister(fd)
            del self._by_fd[fd]
            member.beat_at_s = math.inf
            member.die()
        errors = [result.error_code for result in answer.members if result.error_code]
        if answer.error_code or errors:
            raise RuntimeError(f"members are not sent away: {answer.error_code}, {errors[:3]}")

    def _step(self, within_s: float = 1.0) -> None:
        """Take the answers that come before the next heartbeat is due, and send due heartbeats."""
        until = self._due[0][0] if self._due else math.inf
        self._take_answers(max(0.0, min(until - time.monotonic(), within_s)))
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            due, _, member = heapq.heappop(self._due)
            if member.waits and due == member.beat_at_s:
                member.beat()

    def _take_answers(self, timeout_s: float) -> None:
        for fd, _ in self._poll.poll(timeout_s):
            member = self._by_fd[fd]
            member.answered()
            heapq.heappush(self._due, (member.beat_at_s, next(self._order), member))


def configure(port: int, group: str, settings: dict[str, str]) -> None:
    """Set configs of the group. Raises RuntimeError if the broker refuses them."""
    wire = Wire(port)
    configs = [AlterableConfig(key, _SET, value) for key, value in settings.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(_GROUP, group, configs)])
    (result,) = wire.ask(request, CONFIGS_VERSION).responses
    wire.close()
    if result.error_code:
        error = ErrorCode(result.error_code).name
        raise RuntimeError(f"configs of {group} are refused: {error}, {result.error_message}")
