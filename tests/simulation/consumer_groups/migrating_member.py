"""Members of a group that goes from the classic protocol to the consumer protocol and back.

Each life of a member speaks one protocol: that of KIP-848; the classic one with an eager assignor,
which gives everything up before it joins; or the classic one with a cooperative assignor, which
keeps what it has and joins again where it was to give something up (KIP-429). So there are always
members of several kinds, and the group is converted whenever the first consumer comes or the last
one goes. Classic members have one protocol name in common.

A cooperative member whose JoinGroup or SyncGroup was not answered well gives everything up: who
assigns counts what is owned only of the generation that it knows, in Kafka as well.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from protocol.errors import ErrorCode
from protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
    ConsumerProtocolSubscriptionTopicPartition,
)
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from simulation.sim_client import Waits
from simulation.sim_trace import Violation
from tests.simulation.consumer_groups.consumer_member import JOIN_EPOCH, ConsumerMember
from tests.simulation.group_members import (
    ELSEWHERE,
    FORGOTTEN,
    HEARTBEAT_MS,
    REBALANCE_MS,
    SESSION_MS,
    GroupMember,
    Key,
    assignment_of,
    encoded,
)
from tests.simulation.sim_actor import Topic

COMMON, EAGER_ONLY = "sim-cooperative", "range"
"""Protocol names: all classic members know the first."""
JOIN_WITHIN_MS = REBALANCE_MS + 6_000.0
UPGRADE_CHANCE = 0.06
"""Of a turn: the member leaves, and its next life may speak another protocol."""
GENERATION_FROM = 2
"""The version of a subscription that tells in which generation its partitions are owned."""


class Speaks(Enum):
    """The protocol of one life."""

    CONSUMER = "consumer"
    EAGER = "eager"
    COOPERATIVE = "cooperative"


def subscription_of(data: bytes) -> ConsumerProtocolSubscription:
    """A subscription as its member sent it."""
    version = int.from_bytes(data[:2], "big")
    return ConsumerProtocolSubscription.read(memoryview(data), 2, version)[0]


def owned_of(subscription: ConsumerProtocolSubscription) -> list[Key]:
    """What a member says that it has."""
    return [(one.topic, p) for one in subscription.owned_partitions for p in one.partitions]


def shares(
    partitions: list[Key], said: dict[str, ConsumerProtocolSubscription]
) -> dict[str, list[Key]]:
    """What each member is given: it keeps what it says that it has, up to its quota; what somebody
    else still has is given to nobody; the rest goes to whoever has least."""
    owners: dict[Key, tuple[int, str]] = {}
    for member_id, subscription in said.items():
        for key in owned_of(subscription):
            claim = (subscription.generation_id, member_id)
            owners[key] = max(claim, owners.get(key, claim))
    quota = -(-len(partitions) // len(said))
    given: dict[str, list[Key]] = {member_id: [] for member_id in sorted(said)}
    for key in partitions:
        if key not in owners:
            member_id = min(given, key=lambda one: len(given[one]))
        else:
            member_id = owners[key][1]
            if len(given[member_id]) >= quota:
                continue
        given[member_id].append(key)
    return given


class MigratingMember(ConsumerMember):
    """See the module. `generation` is a member's epoch, or the generation of a classic group."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.speaks = self.chance.choice(list(Speaks))
        self.spoke: dict[Speaks, int] = dict.fromkeys(Speaks, 0)
        """How often it came to have partitions by each protocol."""
        self._synced = -1
        """The generation of what it has by the classic protocol."""
        self._is_to_join = True

    def _next_life(self) -> None:
        super()._next_life()
        self._is_to_join, self._synced = True, -1
        if not self.calm and self.chance.random() < 0.7:
            self.speaks = self.chance.choice(list(Speaks))

    def _step(self) -> Waits:
        if self.assigned and not self.calm and self.chance.random() < UPGRADE_CHANCE:
            yield from self._leave()  # rolled over, or back
        elif self.speaks is Speaks.CONSUMER:
            yield from super()._step()
        elif self._is_to_join:
            yield from self._join_classic()
        else:
            yield from self._turn_classic()

    def _take(self, given: list[Any], names: dict[bytes, str]) -> None:
        super()._take(given, names)
        self.spoke[Speaks.CONSUMER] += 1

    # --- the classic protocol ------------------------------------------------------------------

    def _join_classic(self) -> Waits:
        """Join and sync; eager members give everything up before."""
        if self.speaks is Speaks.EAGER:
            lost = [(key, self.generation) for key in self.assigned]
            self._give_up()
            self._lost = lost
        topics = yield from self.know(*self.names)
        response = yield from self._ask(
            self._joining(), self.join_version, timeout_ms=JOIN_WITHIN_MS
        )
        if response is None:
            self._give_up()
            return
        error = ErrorCode(response.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            return
        if error:
            self._give_up()
            yield from self._react_classic(error)
            return
        self.member_id, self.generation = response.member_id, response.generation_id
        plan: dict[str, list[Key]] = {}
        if response.leader == self.member_id and not response.skip_assignment:
            plan = _planned(topics, response)
        yield from self._sync_classic(response.protocol_name, plan)

    def _joining(self) -> JoinGroupRequest:
        parts: dict[str, list[int]] = {}
        for name, partition in self.assigned:
            parts.setdefault(name, []).append(partition)
        owned = [ConsumerProtocolSubscriptionTopicPartition(*one) for one in parts.items()]
        said = ConsumerProtocolSubscription(self.names, None, owned, self._synced)
        data = encoded(said, self.chance.choice([GENERATION_FROM, 3]))
        names = [COMMON] if self.speaks is Speaks.COOPERATIVE else [COMMON, EAGER_ONLY]
        instance_id = self.instance_id if self.join_version >= 5 else None
        protocols = [JoinGroupRequestProtocol(name, data) for name in names]
        return JoinGroupRequest(
            self.group, SESSION_MS, REBALANCE_MS, self.member_id, instance_id, "consumer", protocols
        )

    def _sync_classic(self, protocol: str, plan: dict[str, list[Key]]) -> Waits:
        version = self.chance.choice([3, 4, 5]) if self.instance_id else self.chance.randint(0, 5)
        assignments = [
            SyncGroupRequestAssignment(member_id, _assignment(keys))
            for member_id, keys in plan.items()
        ]
        request = SyncGroupRequest(
            self.group,
            self.generation,
            self.member_id,
            self.instance_id if version >= 3 else None,
            "consumer",
            protocol,
            assignments,
        )
        response = yield from self._ask(request, version, timeout_ms=JOIN_WITHIN_MS)
        if response is None or response.error_code:
            self._give_up()
            if response is not None:
                yield from self._react_classic(ErrorCode(response.error_code))
            return
        given = assignment_of(response.assignment)
        # A cooperative member gives up now what it has no more, and says so by joining again.
        self._is_to_join = any(key not in given for key in self.assigned)
        lost = [*self._lost, *((key, self._synced) for key in self.assigned)]
        self._lost = [(key, epoch) for key, epoch in lost if key not in given]
        self.assigned, self._synced = given, self.generation
        self.positions = {key: at for key, at in self.positions.items() if key in given}
        self.joined += 1
        self.spoke[self.speaks] += 1

    def _turn_classic(self) -> Waits:
        """Mostly a heartbeat, or a commit."""
        yield HEARTBEAT_MS * (0.5 + self.chance.random())
        dice = self._dice()
        if dice < 0.02:
            yield from self._fall_silent()
        elif dice < 0.05:
            yield from self._leave()
        elif dice < 0.08:
            self._next_life()  # it dies, or its machine restarts
            self.hang_up()
        elif dice < 0.13 and self._lost:
            yield from self._commit_late()
        elif dice < 0.6 and (yield from self._knows_offsets()):
            yield from self._react_classic((yield from self._commit()))
        else:
            yield from self._react_classic((yield from self._heartbeat()))

    def _react(self, error: ErrorCode) -> Waits:
        if self.speaks is Speaks.CONSUMER:
            yield from super()._react(error)
        else:
            yield from self._react_classic(error)

    def _react_classic(self, error: ErrorCode) -> Waits:
        if not error:
            return
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self._is_to_join = True
        elif error in ELSEWHERE:
            self.coordinator = None
            yield self.pause_ms()
        elif error in FORGOTTEN:
            self._give_up()
            if error is not ErrorCode.ILLEGAL_GENERATION:
                self.member_id = ""
        elif error is ErrorCode.FENCED_INSTANCE_ID:
            self._next_life()
            yield 1_000.0
        else:
            raise Violation("I16", f"{self.name} of {self.group} is told {error!r}")

    def _give_up(self) -> None:
        self._lose_all()
        self._is_to_join, self._synced = True, -1

    def _leave(self) -> Waits:
        if self.speaks is Speaks.CONSUMER:
            yield from super()._leave()
        else:
            yield from GroupMember._leave(self)
            self._next_life()

    # --- offsets -------------------------------------------------------------------------------

    def _commit_late(self) -> Waits:
        """Of a classic member: that it is told so of an older generation means nothing for now."""
        if self.speaks is Speaks.CONSUMER:
            yield from super()._commit_late()
            return
        now = (self.generation, self.assigned, self.positions)
        key, self.generation = self._lost.pop()
        self.assigned, self.positions = [key], {}
        error = yield from self._commit()
        self.generation, self.assigned, self.positions = now
        if error is not ErrorCode.ILLEGAL_GENERATION:
            yield from self._react_classic(error)

    def _commit_version(self) -> int:
        if self.speaks is Speaks.CONSUMER:
            return super()._commit_version()
        return GroupMember._commit_version(self)

    def _reader(self, version: int) -> tuple[str | None, int]:
        if self.speaks is Speaks.CONSUMER:
            return super()._reader(version)
        return None, JOIN_EPOCH - 1


def _planned(topics: list[Topic], joined: Any) -> dict[str, list[Key]]:
    """What the leader assigns."""
    partitions = [(topic.name, index) for topic in topics for index in sorted(topic.leaders)]
    said = {one.member_id: subscription_of(bytes(one.metadata)) for one in joined.members}
    return shares(partitions, said)


def _assignment(keys: list[Key]) -> bytes:
    parts = [ConsumerProtocolAssignmentTopicPartition(name, [index]) for name, index in keys]
    return encoded(ConsumerProtocolAssignment(parts))
