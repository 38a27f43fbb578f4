"""A consumer group of many members with raw frames, so that no client library is the limit.

A `ClassicProtocolMember` is one connection that joins, syncs and sends heartbeats by the classic
protocol as a stock client does. Its heartbeats are `HEARTBEAT_S` apart, so that the time of a group
is that of its coordinator, not that of a heartbeat interval of three seconds. Both peers have
`group.initial.rebalance.delay.ms=0`, because a group would wait for the default of 3 s.
"""

from __future__ import annotations

import select
import struct
import time
from statistics import median
from typing import Any

from bench.peers import BenchPeer
from bench.scenario import SMALLER, Figure, Run, Scenario
from bench.wire import Wire, create_topic
from client.core.retries import COORDINATOR
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

MEMBERS = 100
GROUPS_MIN = 5
GROUPS_MAX = 40
WARM_UP_GROUPS = 2
STABLE = "time to Stable"
HEARTBEAT_S = 0.02
SESSION_MS = 300_000
STABLE_TIMEOUT_S = 120.0
JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, LEAVE_VERSION, COMMIT_VERSION = 9, 5, 4, 5, 9
TOPIC = "grouped"

_PROTOCOL = JoinGroupRequestProtocol(
    "range", struct.pack(">hih", 1, 1, len(TOPIC)) + TOPIC.encode() + struct.pack(">ii", -1, 0)
)
_VERSIONS = {
    ApiKey.JOIN_GROUP: JOIN_VERSION,
    ApiKey.SYNC_GROUP: SYNC_VERSION,
    ApiKey.HEARTBEAT: HEARTBEAT_VERSION,
}


def assignment(number: int, share: int = 1) -> bytes:
    """Return the assignment of a group's `number`th consumer: `share` partitions."""
    name = struct.pack(">h", len(TOPIC)) + TOPIC.encode()
    partitions = struct.pack(f">i{share}i", share, *range(number * share, (number + 1) * share))
    return struct.pack(">hi", 1, 1) + name + partitions + struct.pack(">i", -1)


class Speaker(Wire):
    """A connection whose answers are decoded."""

    def receive(self, key: ApiKey, version: int) -> Any:
        """Wait for the next answer and return it."""
        size = int.from_bytes(self._receive_exactly(4), "big")
        return decode_response(key, memoryview(self._receive_exactly(size)), version)[1]


class ClassicProtocolMember:
    """A group member on its own connection, with one request in flight or none (`waiting`)."""

    def __init__(self, port: int, group: str, number: int, share: int = 1) -> None:
        """Connect. `share` is the number of partitions for each member if it is the leader."""
        self.wire = Speaker(port)
        self.group = group
        self.client_id = f"member-{number}"
        self.member_id = ""
        self.generation = -1
        self.is_stable = False
        self.size = 0
        """The number of members in its generation, if it is the leader."""
        self.waiting = False
        self.heartbeat_at_s = 0.0
        self.requests = 0
        self._sent_key = ApiKey.JOIN_GROUP
        self._share = share

    def join(self) -> None:
        """Send a JoinGroup."""
        self.is_stable = False
        request = JoinGroupRequest(
            self.group, SESSION_MS, SESSION_MS, self.member_id, None, "consumer", [_PROTOCOL]
        )
        self._send(ApiKey.JOIN_GROUP, request)

    def beat(self) -> None:
        """Send a Heartbeat."""
        request = HeartbeatRequest(self.group, self.generation, self.member_id)
        self._send(ApiKey.HEARTBEAT, request)

    def answered(self) -> None:
        """Read the answer that has arrived, and send the request that follows from it."""
        key = self._sent_key
        answer = self.wire.receive(key, _VERSIONS[key])
        self.waiting = True
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            self.join()
        elif error in COORDINATOR:
            time.sleep(0.01)
            self.join()
        elif error in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
            self.join()
        elif error is not ErrorCode.NONE:
            raise RuntimeError(f"{key.name} of {self.client_id} is refused: {error.name}")
        elif key is ApiKey.JOIN_GROUP:
            self._sync(answer)
        else:
            self.is_stable = True
            self.heartbeat_at_s = time.monotonic() + HEARTBEAT_S

    def _sync(self, answer: JoinGroupResponse) -> None:
        """Take the generation and member id of a join, and send SyncGroup with all shares."""
        self.generation, self.member_id = answer.generation_id, answer.member_id
        self.size = len(answer.members)
        shares = [
            SyncGroupRequestAssignment(member.member_id, assignment(number, self._share))
            for number, member in enumerate(answer.members)
        ]
        request = SyncGroupRequest(
            self.group, self.generation, self.member_id, None, "consumer", "range", shares
        )
        self._send(ApiKey.SYNC_GROUP, request)

    def _send(self, key: ApiKey, request: object) -> None:
        self._sent_key, self.waiting = key, False
        self.requests += 1
        self.wire.socket.sendall(encode_request(request, _VERSIONS[key], 1, self.client_id))


class ClassicProtocolGroup:
    """The members of one group, all driven from one thread."""

    def __init__(self, port: int, name: str, members: int, share: int = 1) -> None:
        self.members = [
            ClassicProtocolMember(port, name, number, share) for number in range(members)
        ]
        self._poll = select.epoll()
        self._by_fd = {member.wire.socket.fileno(): member for member in self.members}
        for fd in self._by_fd:
            self._poll.register(fd, select.EPOLLIN)

    def close(self) -> None:
        """Close the connections; the members stay in the group until their session ends."""
        self._poll.close()
        for member in self.members:
            member.wire.close()

    def settle(self) -> float:
        """Let all members join at once, and return the seconds until the group is Stable.

        It is Stable when all are in one generation of all. Raises TimeoutError if it never is.
        """
        began = time.monotonic()
        for member in self.members:
            member.join()
        while not self.is_stable():
            if time.monotonic() > began + STABLE_TIMEOUT_S:
                stable = sum(member.is_stable for member in self.members)
                raise TimeoutError(f"{stable} of {len(self.members)} members are stable")
            self.step(HEARTBEAT_S / 2)
        return time.monotonic() - began

    def is_stable(self) -> bool:
        """Return whether all members have an assignment in one generation of all."""
        return (
            all(member.is_stable for member in self.members)
            and len({member.generation for member in self.members}) == 1
            and max(member.size for member in self.members) == len(self.members)
        )

    def step(self, timeout_s: float) -> None:
        """Take the answers that arrive within the time, and send the heartbeats that are due."""
        for fd, _ in self._poll.poll(timeout_s):
            self._by_fd[fd].answered()
        now = time.monotonic()
        for member in self.members:
            if member.waiting and now >= member.heartbeat_at_s:
                member.beat()

    def leave(self) -> None:
        """Send a LeaveGroup for each member; no other request may be in flight."""
        for member in self.members:
            identities = [MemberIdentity(member.member_id)]
            request = LeaveGroupRequest(member.group, members=identities)
            member.wire.ask(request, LEAVE_VERSION)

    def quiet(self) -> None:
        """Wait for the answers in flight; no request is in flight afterwards."""
        while not all(member.waiting for member in self.members):
            for fd, _ in self._poll.poll(1.0):
                self._by_fd[fd].answered()


def find_coordinator(port: int) -> None:
    """Wait until the broker is the coordinator of groups; the first request creates its topic."""
    wire = Wire(port)
    deadline = time.monotonic() + STABLE_TIMEOUT_S
    while True:
        answer = wire.ask(FindCoordinatorRequest(coordinator_keys=["any"]), 4)
        error = ErrorCode(answer.coordinators[0].error_code)
        if error is ErrorCode.NONE:
            break
        if error not in COORDINATOR or time.monotonic() > deadline:
            raise RuntimeError(f"there is no group coordinator: {error.name}")
        time.sleep(0.05)
    wire.close()


def heartbeat_frame(member: ClassicProtocolMember) -> bytes:
    """Return a Heartbeat of a member that is Stable."""
    request = HeartbeatRequest(member.group, member.generation, member.member_id)
    return encode_request(request, HEARTBEAT_VERSION, 1, member.client_id)


def commit_frame(member: ClassicProtocolMember) -> bytes:
    """Return an OffsetCommit of one partition by a member that is Stable."""
    topic = OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, 1)])
    request = OffsetCommitRequest(member.group, member.generation, member.member_id, topics=[topic])
    return encode_request(request, COMMIT_VERSION, 1, member.client_id)


def joins(members: int) -> Run:
    """Measure new groups of `members` members, one after the other, for two windows.

    There are at least `GROUPS_MIN` groups, of which the first ones are not counted.
    """

    def run(peer: BenchPeer, window_s: float) -> list[Figure]:
        """Measure how long new classic groups take to become stable, and their cost."""
        create_topic(peer.port, TOPIC, members)
        find_coordinator(peer.port)
        times: list[float] = []
        cpus: list[float] = []
        requests = 0
        end = time.monotonic() + 2 * window_s
        while len(times) < GROUPS_MIN or time.monotonic() < end and len(times) < GROUPS_MAX:
            group = ClassicProtocolGroup(peer.port, f"joining-{len(times)}", members)
            cpu = peer.cpu_seconds()
            times.append(group.settle())
            cpus.append(peer.cpu_seconds() - cpu)
            requests += sum(member.requests for member in group.members)
            group.close()
        settled = times[WARM_UP_GROUPS:]
        return [
            Figure(STABLE, "ms", median(settled) * 1e3, SMALLER),
            Figure("slowest", "ms", max(settled) * 1e3, SMALLER),
            Figure("broker CPU per group", "ms", median(cpus[WARM_UP_GROUPS:]) * 1e3, SMALLER),
            Figure("requests per group", "", requests / len(times), SMALLER),
        ]

    return run


SCENARIOS = [
    Scenario(
        name=f"join-{MEMBERS}",
        group="groups",
        title=f"{MEMBERS} members join a group",
        client="replayed frames",
        connections=MEMBERS,
        partitions=MEMBERS,
        run=joins(MEMBERS),
        goals={STABLE: 1.0},
        usual=True,
    )
]
