"""Members of a consumer group that speak the classic protocol as Kafka's clients do.

find the coordinator → join → (the leader assigns) → sync → read the committed offsets, heartbeat
and commit → again when told to. A member may leave, fall silent past its session and then try to
commit as if nothing had happened, or die. Static members come back under their instance id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.primitives import MessageBuffer
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.sim_actor import SimActor, Topic

SESSION_MS = 6_000
REBALANCE_MS = 8_000
HEARTBEAT_MS = 700.0
TOPIC_IDS_FROM = 10

Key = tuple[str, int]

REJOIN = (ErrorCode.REBALANCE_IN_PROGRESS,)
FORGOTTEN = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.GROUP_ID_NOT_FOUND,
)
ELSEWHERE = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


@dataclass(slots=True)
class Committing:
    """What watchers are told of an OffsetCommit (`Exchange.about`)."""

    group: str
    generation: int
    member: str
    offsets: dict[Key, int]


@dataclass(slots=True)
class Reading:
    """What watchers are told of an OffsetFetch."""

    group: str
    partitions: list[Key]
    stable: bool = False
    """Whether the group's offsets are committed in transactions, and pending ones waited for."""


def encoded(message: Any, version: int = 1) -> bytes:
    """A message of the consumer protocol, its version in front."""
    out = MessageBuffer()
    out += version.to_bytes(2, "big")
    message.write(out, version)
    return bytes(out.joined())


def assignment_of(data: bytes) -> list[Key]:
    """The partitions of an encoded assignment."""
    if not data:
        return []
    version = int.from_bytes(data[:2], "big")
    message, _ = ConsumerProtocolAssignment.read(memoryview(data), 2, version)
    return [(one.topic, p) for one in message.assigned_partitions for p in one.partitions]


class GroupMember(SimActor):
    """See the module. `instance_id` makes it a static member."""

    def __init__(
        self, name: str, *where: Any, group: str, topics: list[str], instance_id: str | None
    ) -> None:
        super().__init__(name, *where)
        self.group = group
        self.names = topics
        self.instance_id = instance_id
        self.join_version = self.chance.choice([5, 6, 7, 9] if instance_id else [2, 3, 4, 5, 7, 9])
        self.member_id = ""
        self.generation = -1
        self.coordinator: str | None = None
        self.stable = False
        """Whether it wants no offset that a transaction under way may move."""
        self.assigned: list[Key] = []
        self.positions: dict[Key, int] = {}
        self.joined = 0

    def life(self) -> Waits:
        yield from self.learn_all(self.names)
        yield self.chance.random() * 3_000.0
        while not self.stopping:
            if self.coordinator is None:
                yield from self._find()
            elif (yield from self._join()):
                yield from self._serve()
        yield from self._leave()

    # --- coordinator ---------------------------------------------------------------------------

    def _find(self) -> Waits:
        version = self.chance.randint(0, 5)
        request = FindCoordinatorRequest(self.group, 0, [self.group])
        response = yield from self.call(request, version)
        if response is None:
            return
        told = response.coordinators[0] if version >= 4 else response
        if told.error_code:
            yield self.pause_ms()
        else:
            self.coordinator = told.host

    def _ask(self, request: Any, version: int, *, timeout_ms: float = 5_000.0, about: Any = None):
        response = yield from self.call(
            request, version, self.coordinator, timeout_ms=timeout_ms, about=about
        )
        if response is None:
            self.coordinator = None
        return response

    def _react(self, error: ErrorCode) -> Waits:
        """After an error: what this member forgets, before it joins again."""
        if error in ELSEWHERE:
            self.coordinator = None
            yield self.pause_ms()
        elif error in FORGOTTEN:
            self.member_id, self.generation = "", -1
        elif error is ErrorCode.FENCED_INSTANCE_ID:
            # Another life of this instance has taken its place.
            self.member_id, self.generation = "", -1
            yield 1_000.0
        elif (error is ErrorCode.UNSTABLE_OFFSET_COMMIT and self.stable) or self.is_refused(error):
            yield self.pause_ms()
        elif error not in REJOIN:
            raise Violation("I16", f"{self.name} of {self.group} is told {error!r}")

    # --- joining -------------------------------------------------------------------------------

    def _join(self) -> Waits:
        """Join and sync; whether this member has its part now."""
        self.assigned = []
        version = self.join_version
        subscription = encoded(ConsumerProtocolSubscription(self.names))
        protocols = [JoinGroupRequestProtocol(name, subscription) for name in ("range", "sim")]
        request = JoinGroupRequest(
            self.group,
            SESSION_MS,
            REBALANCE_MS,
            self.member_id,
            self.instance_id if version >= 5 else None,
            "consumer",
            protocols,
        )
        response = yield from self._ask(request, version, timeout_ms=REBALANCE_MS + 6_000.0)
        if response is None:
            return False
        error = ErrorCode(response.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            return False
        if error:
            yield from self._react(error)
            return False
        self.member_id, self.generation = response.member_id, response.generation_id
        assignments = []
        if response.leader == self.member_id and not response.skip_assignment:
            yield self.chance.random() * 300.0
            if self.chance.random() < 0.03 and not self.calm:
                yield float(SESSION_MS + REBALANCE_MS)  # the leader assigns nothing in time
            yield from self.learn(self.names)
            # It would not notice that there are more topics, as Kafka's clients do.
            topics = yield from self.know(*self.names)
            assignments = self._assign(topics, [one.member_id for one in response.members])
        return (yield from self._sync(response, assignments))

    def _assign(self, topics: list[Topic], members: list[str]) -> list[SyncGroupRequestAssignment]:
        """Every partition to one member, in turns."""
        parts: dict[str, dict[str, list[int]]] = {member: {} for member in members}
        turn = 0
        for topic in topics:
            for partition in sorted(topic.leaders):
                parts[members[turn % len(members)]].setdefault(topic.name, []).append(partition)
                turn += 1
        return [
            SyncGroupRequestAssignment(
                member,
                encoded(
                    ConsumerProtocolAssignment(
                        [
                            ConsumerProtocolAssignmentTopicPartition(topic, partitions)
                            for topic, partitions in part.items()
                        ]
                    )
                ),
            )
            for member, part in parts.items()
        ]

    def _sync(self, joined: Any, assignments: list[SyncGroupRequestAssignment]) -> Waits:
        version = self.chance.choice([3, 4, 5]) if self.instance_id else self.chance.randint(0, 5)
        request = SyncGroupRequest(
            self.group,
            self.generation,
            self.member_id,
            self.instance_id if version >= 3 else None,
            "consumer",
            joined.protocol_name,
            assignments,
        )
        response = yield from self._ask(request, version, timeout_ms=REBALANCE_MS + 6_000.0)
        if response is None:
            return False
        if response.error_code:
            yield from self._react(ErrorCode(response.error_code))
            return False
        self.assigned = assignment_of(response.assignment)
        self.joined += 1
        return True

    # --- in the group --------------------------------------------------------------------------

    def _serve(self) -> Waits:
        """Commit and heartbeat until told to join again."""
        if not (yield from self._read_offsets()):
            return
        while not self.stopping:
            yield HEARTBEAT_MS * (0.5 + self.chance.random())
            dice = self.chance.random() if not self.calm else 0.5 + self.chance.random() / 5
            if dice < 0.02:
                yield from self._fall_silent()
                return
            if dice < 0.04:
                yield from self._leave()
                return
            if dice < 0.05:
                self.member_id, self.generation = "", -1  # dies; the next one starts afresh
                self.hang_up()
                return
            error = yield from (self._commit() if dice < 0.6 else self._heartbeat())
            if error:
                yield from self._react(error)
                return

    def _heartbeat(self) -> Waits:
        version = self.chance.choice([3, 4]) if self.instance_id else self.chance.randint(0, 4)
        request = HeartbeatRequest(
            self.group, self.generation, self.member_id, self.instance_id if version >= 3 else None
        )
        response = yield from self._ask(request, version)
        if response is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return ErrorCode(response.error_code)

    def _commit(self) -> Waits:
        """Commit a position somewhat further on, for some of the partitions."""
        offsets: dict[Key, int] = {}
        for key in self.assigned:
            if self.chance.random() < 0.7:
                offsets[key] = self.positions.get(key, 0) + self.chance.randint(1, 5)
        if not offsets:
            return ErrorCode.NONE
        version = self._commit_version()
        topics = []
        known = yield from self.know(*(name for name, _ in offsets))
        for topic, ((name, partition), offset) in zip(known, offsets.items(), strict=True):
            part = OffsetCommitRequestPartition(partition, offset, -1, f"{self.name}")
            topics.append(OffsetCommitRequestTopic(name, topic.topic_id, [part]))
        request = OffsetCommitRequest(
            self.group,
            self.generation,
            self.member_id,
            self.instance_id if version >= 7 else None,
            topics=topics,
        )
        about = Committing(self.group, self.generation, self.member_id, offsets)
        response = yield from self._ask(request, version, about=about)
        if response is None:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        errors = [p.error_code for topic in response.topics for p in topic.partitions]
        if not any(errors):
            self.positions.update(offsets)
        return ErrorCode(next((one for one in errors if one), 0))

    def _commit_version(self) -> int:
        """Of the next OffsetCommit."""
        return self.chance.choice([7, 8, 9, 10] if self.instance_id else [2, 5, 6, 8, 9, 10])

    def _reader(self, version: int) -> tuple[str | None, int]:
        """As whom it reads offsets, from v9 on: member id and epoch."""
        return None, -1

    def _read_offsets(self) -> Waits:
        """Go on from where the group has committed."""
        offsets = yield from self.committed(self.assigned)
        if offsets is None:
            return False
        self.positions = {key: max(offset, 0) for key, offset in offsets.items()}
        return True

    def committed(self, partitions: list[Key]) -> Waits:
        """The committed offsets (-1: none), or None where nobody could tell."""
        version = self.chance.choice([7, 8, 9] if self.stable else [1, 3, 5, 6, 7, 8, 9])
        if version >= 8:
            topics = [
                OffsetFetchRequestTopics(name, partition_indexes=[p]) for name, p in partitions
            ]
            request = OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup(self.group, *self._reader(version), topics)]
            )
        else:
            request = OffsetFetchRequest(
                self.group, [OffsetFetchRequestTopic(name, [p]) for name, p in partitions]
            )
        request.require_stable = self.stable
        about = Reading(self.group, list(partitions), self.stable)
        response = yield from self._ask(request, version, about=about)
        if response is None:
            return None
        told = response.groups[0] if version >= 8 else response
        if version >= 2 and told.error_code:
            yield from self._react(ErrorCode(told.error_code))
            return None
        errors = [p.error_code for topic in told.topics for p in topic.partitions if p.error_code]
        if errors:
            yield from self._react(ErrorCode(errors[0]))
            return None
        return {
            (topic.name, p.partition_index): p.committed_offset
            for topic in told.topics
            for p in topic.partitions
        }

    def _fall_silent(self) -> Waits:
        """Sleep past the session, then commit as if nothing had happened."""
        yield SESSION_MS * (0.8 + self.chance.random())
        error = yield from self._commit()
        if error:
            yield from self._react(error)

    def _leave(self) -> Waits:
        """Leave the group; a static member does so only when asked to, which is here."""
        if self.coordinator is None or not self.member_id:
            return
        version = self.chance.choice([3, 4, 5]) if self.instance_id else self.chance.randint(0, 5)
        members = [MemberIdentity(self.member_id, self.instance_id if version >= 3 else None)]
        request = LeaveGroupRequest(self.group, self.member_id, members)
        yield from self._ask(request, version)
        self.member_id, self.generation = "", -1
