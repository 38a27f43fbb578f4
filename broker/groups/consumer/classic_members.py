"""Members of a consumer group that speak the classic protocol: while a group migrates.

Owns their JoinGroup, SyncGroup and Heartbeat. Such a member has a position and a target as all
others: its generation is its member epoch, what it owns it says in its subscription, and that there
is something to give up or to take it learns from REBALANCE_IN_PROGRESS, upon which it joins again.
An epoch that is not assigned yet is no reason: an eager member would have nothing until it is, as
it gives up all that it has whenever it joins. Nobody leads, and nothing is parked. Changes no
group. Follows the `classicGroup…ToConsumerGroup` of Kafka's `GroupMetadataManager` (KIP-848).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker.coordinator.outcome import Done, Outcome
from broker.groups.classic.group import CONSUMER_PROTOCOL
from broker.groups.classic.joining import Joining
from broker.groups.classic.member import SyncReply, sync_refusal
from broker.groups.consumer.heartbeat import HeartbeatHandler, Turn
from broker.groups.consumer.membership import Found, instance_fault
from broker.groups.consumer.migration import (
    Remaining,
    assignment_bytes,
    by_id,
    classic_subscription,
    downgrade_records,
    read_subscription,
    version_of,
)
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.consumer.surroundings import Surroundings
from broker.groups.consumer.timers import MemberTimers
from broker.groups.reconciliation.held import Named, names
from broker.groups.reconciliation.member_state import (
    STABLE,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
)
from ground.sliced_work import Steps
from protocol.errors import ApiError, ErrorCode, ProtocolError
from protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from protocol.messages.group_records import ClassicMemberMetadata, ClassicProtocol
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from protocol.primitives import uuid_to_string

log = logging.getLogger(f"ottla.{__name__}")

MEMBER_ID_REQUIRED_FROM = 4


class ClassicMembers:
    """Of one shard's consumer groups."""

    def __init__(
        self,
        surroundings: Surroundings,
        handler: HeartbeatHandler,
        timers: MemberTimers,
        random_bytes: Callable[[int], bytes],
        downgrades: Callable[[ConsumerGroup, Found], bool],
        became_classic: Callable[[str, bool], None],
    ) -> None:
        """`downgrades`: whether the group is a classic one when this member has taken its place;
        `became_classic` is then told its id, and whether it has to rebalance."""
        self._surroundings = surroundings
        self._downgrades = downgrades
        self._became_classic = became_classic
        self._handler = handler
        self._timers = timers
        self._random_bytes = random_bytes

    # -- JoinGroup -----------------------------------------------------------------------------

    def join(self, group: ConsumerGroup, joining: Joining, now_ms: int) -> Steps[Outcome[Done]]:
        """A classic consumer comes, or comes again because it was told to."""
        request = joining.request
        config = self._surroundings.config
        full = len(group.members) >= config.group_consumer_max_size
        if full and request.member_id not in group.members:
            return _refused(joining, ErrorCode.GROUP_MAX_SIZE_REACHED, request.member_id)
        if not self._fits_in(group, request):
            return _refused(joining, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        found = self._find(group, joining)
        if isinstance(found, ErrorCode):
            return _refused(joining, found, request.member_id)
        if isinstance(found, str):
            return _refused(joining, ErrorCode.MEMBER_ID_REQUIRED, found)
        try:
            said = yield from read_subscription(request.protocols[0].metadata)
        except ProtocolError:
            return _refused(joining, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        return (yield from self._join(group, joining, said, found, now_ms))

    def _fits_in(self, group: ConsumerGroup, request: JoinGroupRequest) -> bool:
        """Whether it is a consumer, and all classic members know a protocol of its."""
        if request.protocol_type != CONSUMER_PROTOCOL:
            return False
        offered = [one.name for one in request.protocols]
        return any(group.is_classic_protocol_of_all(name, request.member_id) for name in offered)

    def _find(self, group: ConsumerGroup, joining: Joining) -> Found | ErrorCode | str:
        """Who it is; a text: the member id with which it has to come again."""
        request = joining.request
        member_id, instance_id = request.member_id, request.group_instance_id
        is_new = not member_id
        if is_new:
            member_id = uuid_to_string(self._random_bytes(16))
        if instance_id is None:
            if is_new and joining.api_version >= MEMBER_ID_REQUIRED_FROM:
                return member_id
            return Found(group.members.get(member_id, ConsumerMember(member_id)))
        known = group.static_members.get(instance_id)
        if known is None:
            return Found(group.members.get(member_id, ConsumerMember(member_id)))
        if not is_new:
            fault = instance_fault(group, member_id, instance_id)
            return Found(group.members[member_id]) if fault is None else fault.code
        before = group.members[known]
        position = before.position.taken_over()
        return Found(ConsumerMember(member_id, before.subscription, position), before)

    def _join(
        self,
        group: ConsumerGroup,
        joining: Joining,
        said: ConsumerProtocolSubscription,
        found: Found,
        now_ms: int,
    ) -> Steps[Outcome[Done]]:
        request = joining.request
        protocols = [ClassicProtocol(one.name, one.metadata) for one in request.protocols]
        known = found.member.subscription._replace(
            instance_id=request.group_instance_id or found.member.subscription.instance_id,
            client_id=joining.client_id,
            client_host=joining.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
        )
        metadata = ClassicMemberMetadata(request.session_timeout_ms, protocols)
        subscription = yield from classic_subscription(known, said, metadata)
        owned = yield from self._owned(said, found.member)
        ends = self._downgrades(group, found)
        turn = self._handler.decide(group, found, subscription, owned, now_ms, is_assigned=not ends)
        if isinstance(turn, ApiError):
            return _refused(joining, turn.code, request.member_id)
        if ends:
            return (yield from self._joined_the_last(joining, turn, now_ms))
        told = _joined(joining, turn)

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self._heard(turn, request.session_timeout_ms, joining.rebalance_timeout_ms)

        if turn.records:
            return Outcome(told, turn.records, then=written)
        written(ErrorCode.NONE)
        return Outcome(told, after=group.record_offset)

    def _joined_the_last(self, joining: Joining, turn: Turn, now_ms: int) -> Steps[Outcome[Done]]:
        """In the place of the last member that the broker assigned: a classic group from now on,
        which goes on as it is unless the next epoch is due or a hand-over is under way."""
        group, replaced = turn.group, turn.found.replaced
        assert replaced is not None
        others = [one.position for one in group.members.values() if one is not replaced]
        rebalances = turn.epoch > group.assignment_epoch or any(
            one.epoch != group.epoch or one.state is not STABLE for one in [*others, turn.position]
        )
        member = Remaining(turn.member_id, turn.subscription, turn.position.has)
        records = yield from downgrade_records(
            group, [replaced.member_id], turn.topics, now_ms, successor=member
        )

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self._became_classic(group.group_id, rebalances)

        log.info("group %s: its members are classic ones now, and so is it", group.group_id)
        return Outcome(_joined(joining, turn), [*turn.records, *records], then=written)

    def _owned(
        self, said: ConsumerProtocolSubscription, member: ConsumerMember
    ) -> Steps[Named[bytes]]:
        """What it says that it has; nothing where that is of another generation."""
        if said.generation_id not in (-1, member.position.epoch):
            return {}
        listed = ((one.topic, one.partitions) for one in said.owned_partitions)
        return (yield from by_id(listed, self._surroundings.topics()))

    def _heard(self, turn: Turn, session_ms: int, rebalance_ms: int) -> None:
        where = (turn.group.group_id, turn.member_id)
        self._timers.heard(*where, session_ms)
        self._timers.came_back(*where)
        self._timers.await_return(*where, rebalance_ms)

    # -- SyncGroup -----------------------------------------------------------------------------

    def sync(
        self, group: ConsumerGroup, request: SyncGroupRequest, reply: SyncReply
    ) -> Outcome[Done]:
        """A classic member asks for its assignment: it is there."""
        found = self._member(
            group, request.member_id, request.group_instance_id, request.generation_id
        )
        if isinstance(found, ErrorCode):
            return Outcome(lambda error: reply(sync_refusal(error)), error=found)
        classic = found.subscription.classic
        assert classic is not None
        first = classic.supported_protocols[0]
        wrong_type = request.protocol_type not in (None, CONSUMER_PROTOCOL)
        error = ErrorCode.NONE
        if wrong_type or request.protocol_name not in (None, first.name):
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        elif group.assignment_epoch > found.position.epoch and (
            found.position.state is not UNREVOKED_PARTITIONS
        ):
            self._is_to_return(group, found)
            error = ErrorCode.REBALANCE_IN_PROGRESS
        if error is not ErrorCode.NONE:
            return Outcome(lambda told: reply(sync_refusal(told)), error=error)
        self._timers.heard(group.group_id, found.member_id, classic.session_timeout_ms)
        self._timers.came_back(group.group_id, found.member_id)
        share = assignment_bytes(
            names(found.position.assigned), self._surroundings.topics(), version_of(first.metadata)
        )
        response = SyncGroupResponse(
            protocol_type=CONSUMER_PROTOCOL, protocol_name=first.name, assignment=share
        )
        return Outcome(
            lambda error: reply(sync_refusal(error) if error else response),
            after=group.record_offset,
        )

    # -- Heartbeat -----------------------------------------------------------------------------

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest) -> ErrorCode:
        """A classic member is alive, and hears whether it has to join again."""
        found = self._member(
            group, request.member_id, request.group_instance_id, request.generation_id
        )
        if isinstance(found, ErrorCode):
            return found
        classic = found.subscription.classic
        assert classic is not None
        self._timers.heard(group.group_id, found.member_id, classic.session_timeout_ms)
        state = found.position.state
        behind = found.position.epoch < group.assignment_epoch or state is UNREVOKED_PARTITIONS
        if behind or (state is UNRELEASED_PARTITIONS and group.has_something_for(found)):
            self._is_to_return(group, found)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _is_to_return(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        timeout_ms = member.subscription.rebalance_timeout_ms
        self._timers.await_return(group.group_id, member.member_id, timeout_ms)

    def _member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
    ) -> ConsumerMember | ErrorCode:
        if instance_id is not None:
            fault = instance_fault(group, member_id, instance_id)
            if fault is not None:
                return fault.code
        member = group.members.get(member_id)
        if member is None or not member.uses_classic_protocol:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation != member.position.epoch:
            return ErrorCode.ILLEGAL_GENERATION
        return member


def _joined(joining: Joining, turn: Turn) -> Done:
    """The answer to a member that is in: nobody leads, and it learns of no others."""
    protocols = joining.request.protocols
    response = JoinGroupResponse(
        generation_id=turn.position.epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol_name=protocols[0].name,
        member_id=turn.member_id,
    )

    def told(error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            joining.reply(response)
        else:
            joining.refuse(error, joining.request.member_id)

    return told


def _refused(joining: Joining, error: ErrorCode, member_id: str) -> Outcome[Done]:
    return Outcome(lambda told: joining.refuse(told, member_id), error=error)
