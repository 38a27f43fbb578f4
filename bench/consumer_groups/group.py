"""Members of one group that the broker assigns, all driven from one thread.

Owns whose heartbeat is due, and when the group counts as Stable: every partition is held, as evenly
as that can be, all members are in one epoch, and the broker knows that they have what it gave them.
"""

from __future__ import annotations

import heapq
import math
import select
import time
from itertools import count

from bench.consumer_groups.ledger import Ledger
from bench.consumer_groups.member import Member
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


class Group:
    """One group, of topics with so many partitions."""

    def __init__(self, port: int, name: str, partitions: int, *topics: str) -> None:
        self.members: list[Member] = []
        self.ledger = Ledger()
        self._port, self._name, self._topics = port, name, topics
        self._partitions = partitions
        self._numbers = count()
        self._poll = select.epoll()
        self._by_fd: dict[int, Member] = {}
        self._due: list[tuple[float, int, Member]] = []
        self._order = count()

    def add(self, members: int = 1) -> None:
        """So many come, all at once."""
        made = [
            Member(self._port, self._name, self._topics, next(self._numbers), self.ledger)
            for _ in range(members)
        ]
        for member in made:
            fd = member.wire.socket.fileno()
            self._by_fd[fd] = member
            self._poll.register(fd, select.EPOLLIN)
            self.members.append(member)
            member.beat()

    def remove(self, *, dies: bool) -> None:
        """One goes, by its leave or without a word."""
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
        """All are quiet, and their next heartbeats are due one after the other from now on: not at
        once, as where nobody had time for them."""
        self.quiet()
        now = time.monotonic()
        for place, member in enumerate(self.members):
            member.beat_at_s = now + place / len(self.members) * member.interval_ms / 1e3
            heapq.heappush(self._due, (member.beat_at_s, next(self._order), member))

    def expect(self, partitions: int) -> None:
        """Its topics have so many from now on."""
        self._partitions = partitions

    def settle(self) -> float:
        """Go on until it is Stable; how many seconds that took. TimeoutError where it is never."""
        began = time.monotonic()
        while not self.is_stable():
            if time.monotonic() > began + STABLE_TIMEOUT_S:
                raise TimeoutError(f"{len(self.members)} members are not stable")
            self._step()
        return time.monotonic() - began

    def go_on_for(self, seconds: float) -> None:
        """Heartbeats, and nothing else, for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._step(left)

    def is_stable(self) -> bool:
        """See the module."""
        return (
            all(one.waits and one.has_said_all for one in self.members)
            and len({one.epoch for one in self.members}) == 1
            and self.ledger.is_even((one.member_id for one in self.members), self._partitions)
        )

    def quiet(self) -> None:
        """Wait for the answers that are under way."""
        while not all(member.waits for member in self.members):
            self._take_answers(1.0)

    def close(self) -> None:
        """All are sent away, and hang up."""
        self.send_away(len(self.members))
        self._poll.close()

    def send_away(self, members: int) -> None:
        """So many are sent away by an administrator, in one request, and hang up."""
        self.quiet()
        wire = Wire(self._port)
        gone, self.members = self.members[:members], self.members[members:]
        identities = [MemberIdentity(member.member_id) for member in gone]
        answer = wire.ask(LeaveGroupRequest(self._name, members=identities), LEAVE_VERSION)
        wire.close()
        for member in gone:
            fd = member.wire.socket.fileno()
            self._poll.unregister(fd)
            del self._by_fd[fd]
            member.beat_at_s = math.inf
            member.die()
        refused = [one.error_code for one in answer.members if one.error_code]
        if answer.error_code or refused:
            raise RuntimeError(f"members are not sent away: {answer.error_code}, {refused[:3]}")

    def _step(self, within_s: float = 1.0) -> None:
        """Take the answers that come before the next heartbeat is due, and send what is due."""
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
    """Give the group configs of its own. RuntimeError where the broker refuses them."""
    wire = Wire(port)
    configs = [AlterableConfig(key, _SET, value) for key, value in settings.items()]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(_GROUP, group, configs)])
    (result,) = wire.ask(request, CONFIGS_VERSION).responses
    wire.close()
    if result.error_code:
        error = ErrorCode(result.error_code).name
        raise RuntimeError(f"configs of {group} are refused: {error}, {result.error_message}")
