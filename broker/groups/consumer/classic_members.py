"""The members of a consumer group that use the classic protocol, while a group migrates.

Owns their JoinGroup, SyncGroup and Heartbeat. Such a member has a position and a target like all
others. Its generation is its member epoch, and its subscription reports the partitions that it
owns. If it has partitions to revoke or to get, the answer is REBALANCE_IN_PROGRESS, so that it
joins again. A group epoch without a target does not cause that answer: an eager member revokes all
its partitions before it joins, and would have none until the target is computed. No member is the
leader, and no request is parked. Never changes a group. Follows the `classicGroup…ToConsumerGroup`
of Kafka's `GroupMetadataManager` (KIP-848).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker.coordinator.outcome import Done, Outcome
from broker.groups.classic.group import CONSUMER_PROTOCOL
from broker.groups.classic.joining import Joining
from broker.groups.classic.member import SyncReply, sync_refusal
from broker.groups.consumer.heartbeat import HeartbeatHandler, Turn
from broker.groups.consumer.membership import MatchedMember, instance_fault
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
from broker.groups.consumer.surroundings import ConsumerGroupInputs
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
    """The handlers of classic members, for one shard's consumer groups."""

    def __init__(
        self,
        surroundings: ConsumerGroupInputs,
        handler: HeartbeatHandler,
        timers: MemberTimers,
        random_bytes: Callable[[int], bytes],
        downgrades: Callable[[ConsumerGroup, MatchedMember], bool],
        became_classic: Callable[[str, bool], None],
    ) -> None:
        """Create the handlers.

        `downgrades` returns whether the group becomes a classic group when this member joins.
        `became_classic` is then called with the group's id, and whether it has to rebalance.
        """
        self._surroundings = surroundings
        self._downgrades = downgrades
        self._became_classic = became_classic
        self._handler = handler
        self._timers = timers
        self._random_bytes = random_bytes

    # -- JoinGroup -----------------------------------------------------------------------------

    def join(self, group: ConsumerGroup, joining: Joining, now_ms: int) -> Steps[Outcome[Done]]:
        """Return the outcome of a JoinGroup of a classic consumer, new or not; it is never parked.

        Errors are in the outcome: GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL,
        MEMBER_ID_REQUIRED with the id to use, or the fault of a static member.
        """
        request = joining.request
        config = self._surroundings.config
        full = len(group.members) >= config.group_consumer_max_size
        if full and request.member_id not in group.members:
            return _refused(joining, ErrorCode.GROUP_MAX_SIZE_REACHED, request.member_id)
        if not self._has_common_protocol(group, request):
            return _refused(joining, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        matched = self._find(group, joining)
        if isinstance(matched, ErrorCode):
            return _refused(joining, matched, request.member_id)
        if isinstance(matched, str):
            return _refused(joining, ErrorCode.MEMBER_ID_REQUIRED, matched)
        try:
            declared = yield from read_subscription(request.protocols[0].metadata)
        except ProtocolError:
            return _refused(joining, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
        return (yield from self._join(group, joining, declared, matched, now_ms))

    def _has_common_protocol(self, group: ConsumerGroup, request: JoinGroupRequest) -> bool:
        """Return whether the client is a consumer, and all classic members support one of its
        protocols."""
        if request.protocol_type != CONSUMER_PROTOCOL:
            return False
        offered = [protocol.name for protocol in request.protocols]
        return any(group.is_classic_protocol_of_all(name, request.member_id) for name in offered)

    def _find(self, group: ConsumerGroup, joining: Joining) -> MatchedMember | ErrorCode | str:
        """Return the member that joins, an error, or the member id with which it must retry."""
        request = joining.request
        member_id, instance_id = request.member_id, request.group_instance_id
        is_new = not member_id
        if is_new:
            member_id = uuid_to_string(self._random_bytes(16))
        if instance_id is None:
            if is_new and joining.api_version >= MEMBER_ID_REQUIRED_FROM:
                return member_id
            return MatchedMember(group.members.get(member_id, ConsumerMember(member_id)))
        current_id = group.static_members.get(instance_id)
        if current_id is None:
            return MatchedMember(group.members.get(member_id, ConsumerMember(member_id)))
        if not is_new:
            fault = instance_fault(group, member_id, instance_id)
            return MatchedMember(group.members[member_id]) if fault is None else fault.code
        before = group.members[current_id]
        position = before.position.taken_over()
        return MatchedMember(ConsumerMember(member_id, before.subscription, position), before)

    def _join(
        self,
        group: ConsumerGroup,
        joining: Joining,
        declared: ConsumerProtocolSubscription,
        matched: MatchedMember,
        now_ms: int,
    ) -> Steps[Outcome[Done]]:
        """Return the outcome of the JoinGroup of a matched member: its next position, and the
        records to write.

        The group becomes a classic one if this replaces its last consumer-protocol member.
        """
        request = joining.request
        protocols = [ClassicProtocol(offer.name, offer.metadata) for offer in request.protocols]
        current = matched.member.subscription._replace(
            instance_id=request.group_instance_id or matched.member.subscription.instance_id,
            client_id=joining.client_id,
            client_host=joining.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
        )
        metadata = ClassicMemberMetadata(request.session_timeout_ms, protocols)
        subscription = yield from classic_subscription(current, declared, metadata)
        owned = yield from self._owned(declared, matched.member)
        downgrades = self._downgrades(group, matched)
        turn = self._handler.decide(
            group, matched, subscription, owned, now_ms, is_assigned=not downgrades
        )
        if isinstance(turn, ApiError):
            return _refused(joining, turn.code, request.member_id)
        if downgrades:
            return (yield from self._join_and_downgrade(joining, turn, now_ms))
        respond = _join_reply(joining, turn)

        def written(error: ErrorCode) -> None:
            """Extend the member's timers, unless the append failed."""
            if error is ErrorCode.NONE:
                self._extend_timers(turn, request.session_timeout_ms, joining.rebalance_timeout_ms)

        if turn.records:
            return Outcome(respond, turn.records, then=written)
        written(ErrorCode.NONE)
        return Outcome(respond, after=group.record_offset)

    def _join_and_downgrade(
        self, joining: Joining, turn: Turn, now_ms: int
    ) -> Steps[Outcome[Done]]:
        """Return the outcome of a JoinGroup that also converts the group to a classic one, because
        its last member of the consumer protocol is replaced.

        The classic group rebalances only if the next epoch is due, or if a member does not have its
        target yet.
        """
        group, replaced = turn.group, turn.matched.replaced
        assert replaced is not None
        positions = [other.position for other in group.members.values() if other is not replaced]
        rebalances = turn.epoch > group.assignment_epoch or any(
            position.epoch != group.epoch or position.state is not STABLE
            for position in [*positions, turn.position]
        )
        member = Remaining(turn.member_id, turn.subscription, turn.position.has)
        records = yield from downgrade_records(
            group, [replaced.member_id], turn.topics, now_ms, successor=member
        )

        def written(error: ErrorCode) -> None:
            """Call `became_classic` with the group, unless the append failed."""
            if error is ErrorCode.NONE:
                self._became_classic(group.group_id, rebalances)

        log.info("group %s: its members are classic ones now, and so is it", group.group_id)
        return Outcome(_join_reply(joining, turn), [*turn.records, *records], then=written)

    def _owned(
        self, declared: ConsumerProtocolSubscription, member: ConsumerMember
    ) -> Steps[Named[bytes]]:
        """Return the partitions that the member reports as owned; none for another generation."""
        if declared.generation_id not in (-1, member.position.epoch):
            return {}
        listed = ((owned.topic, owned.partitions) for owned in declared.owned_partitions)
        return (yield from by_id(listed, self._surroundings.topics()))

    def _extend_timers(self, turn: Turn, session_ms: int, rebalance_ms: int) -> None:
        """Extend the member's session, and restart the rebalance time-out in which it must send a
        SyncGroup."""
        member_key = (turn.group.group_id, turn.member_id)
        self._timers.extend_session(*member_key, session_ms)
        self._timers.stop_awaiting(*member_key)
        self._timers.await_return(*member_key, rebalance_ms)

    # -- SyncGroup -----------------------------------------------------------------------------

    def sync(
        self, group: ConsumerGroup, request: SyncGroupRequest, reply: SyncReply
    ) -> Outcome[Done]:
        """Return the outcome of a SyncGroup: the assignment exists already, so nothing is parked.

        REBALANCE_IN_PROGRESS: the target has a newer epoch, so the member must join again.
        Otherwise the request extends the session.
        """
        member = self._find_member(
            group, request.member_id, request.group_instance_id, request.generation_id
        )
        if isinstance(member, ErrorCode):
            return Outcome(lambda error: reply(sync_refusal(error)), error=member)
        classic = member.subscription.classic
        assert classic is not None
        first = classic.supported_protocols[0]
        wrong_type = request.protocol_type not in (None, CONSUMER_PROTOCOL)
        error = ErrorCode.NONE
        if wrong_type or request.protocol_name not in (None, first.name):
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        elif group.assignment_epoch > member.position.epoch and (
            member.position.state is not UNREVOKED_PARTITIONS
        ):
            self._await_return(group, member)
            error = ErrorCode.REBALANCE_IN_PROGRESS
        if error is not ErrorCode.NONE:
            return Outcome(lambda code: reply(sync_refusal(code)), error=error)
        self._timers.extend_session(group.group_id, member.member_id, classic.session_timeout_ms)
        self._timers.stop_awaiting(group.group_id, member.member_id)
        share = assignment_bytes(
            names(member.position.assigned), self._surroundings.topics(), version_of(first.metadata)
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
        """Extend the member's session. Return NONE, or an error: REBALANCE_IN_PROGRESS if the
        member must join again, for which its rebalance time-out starts."""
        member = self._find_member(
            group, request.member_id, request.group_instance_id, request.generation_id
        )
        if isinstance(member, ErrorCode):
            return member
        classic = member.subscription.classic
        assert classic is not None
        self._timers.extend_session(group.group_id, member.member_id, classic.session_timeout_ms)
        state = member.position.state
        behind = member.position.epoch < group.assignment_epoch or state is UNREVOKED_PARTITIONS
        if behind or (state is UNRELEASED_PARTITIONS and group.has_something_for(member)):
            self._await_return(group, member)
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def _await_return(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Start the rebalance time-out in which the member must join again, unless it runs
        already."""
        timeout_ms = member.subscription.rebalance_timeout_ms
        self._timers.await_return(group.group_id, member.member_id, timeout_ms)

    def _find_member(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
    ) -> ConsumerMember | ErrorCode:
        """Return a request's classic member, or the error if it is unknown, fenced or too old."""
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


def _join_reply(joining: Joining, turn: Turn) -> Done:
    """Return the callback that answers a JoinGroup, given an error or NONE. The answer names no
    leader and no other members."""
    protocols = joining.request.protocols
    response = JoinGroupResponse(
        generation_id=turn.position.epoch,
        protocol_type=CONSUMER_PROTOCOL,
        protocol_name=protocols[0].name,
        member_id=turn.member_id,
    )

    def respond(error: ErrorCode) -> None:
        """Answer with the response, or with the error."""
        if error is ErrorCode.NONE:
            joining.reply(response)
        else:
            joining.refuse(error, joining.request.member_id)

    return respond


def _refused(joining: Joining, error: ErrorCode, member_id: str) -> Outcome[Done]:
    """Return the outcome that answers a JoinGroup with an error and `member_id`."""
    return Outcome(lambda code: joining.refuse(code, member_id), error=error)
