"""The requests of a classic group's members: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

Owns the effect of each request in each state (the table is `ClassicGroupState`) and the error
codes. A handler returns an `Outcome`, whose reply answers the request. A request that has to wait
for other members is parked in the group instead. Never touches timers or the join phase itself:
`rebalance` does.

Follows the classic part of Kafka's `GroupMetadataManager`; KIP-345 (static members), KIP-394
(member id required), KIP-559 (protocol type and name), KIP-800 (reasons), KIP-814 (a static leader
that comes back skips assignment).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from broker.config.values import BrokerConfig
from broker.coordinator.outcome import AT_ONCE, NOTHING, Done, Outcome, no_reply
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
)
from broker.groups.classic.joining import Joining
from broker.groups.classic.member import (
    ClassicMember,
    SyncReply,
    join_refusal,
    sync_refusal,
)
from broker.groups.classic.rebalance import Rebalancer
from broker.groups.group_metrics import GroupMetrics
from broker.groups.group_records import group_metadata_record
from ground.sliced_work import PIECES_AT_ONCE, Pace, Steps, each, in_bulk
from protocol.errors import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity, MemberResponse
from protocol.messages.sync_group import SyncGroupRequest
from protocol.primitives import string

log = logging.getLogger(f"ottla.{__name__}")

MEMBER_ID_REQUIRED_FROM = 4
SKIP_ASSIGNMENT_FROM = 9
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000
"""The time for which a new member's JoinGroup stays parked (a constant in Kafka, too)."""


class ClassicProtocol:
    """The handlers of one shard's classic groups. `random_bytes(n)` is for member ids."""

    def __init__(
        self,
        config: BrokerConfig,
        rebalancer: Rebalancer,
        random_bytes: Callable[[int], bytes],
        metrics: GroupMetrics,
    ) -> None:
        self._config = config
        self._rebalancer = rebalancer
        self._random_bytes = random_bytes
        self._metrics = metrics

    # -- JoinGroup -----------------------------------------------------------------------------

    def join(self, group: ClassicGroup, joining: Joining) -> Outcome[Done]:
        """Return the outcome of a JoinGroup of a member, new or not; the request may be parked in
        the group.

        A client above `group.max.size` gets GROUP_MAX_SIZE_REACHED and is removed. A client whose
        protocols do not fit the group's gets INCONSISTENT_GROUP_PROTOCOL.
        """
        request = joining.request
        member_id = request.member_id
        refuse = partial(joining.refuse, member_id=member_id)
        if group.state is DEAD:
            return Outcome(refuse, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not self._has_room_for(group, member_id):
            self._rebalancer.remove_member(group, member_id)
            return Outcome(joining.refuse, error=ErrorCode.GROUP_MAX_SIZE_REACHED)
        if not group.supports(request.protocol_type, request.protocols):
            return Outcome(refuse, error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not member_id:
            return self._join_new(group, joining)
        if member_id in group.pending_members and request.group_instance_id is None:
            return self._add_member(group, joining, member_id)
        return self._rejoin(group, joining)

    def _has_room_for(self, group: ClassicGroup, member_id: str) -> bool:
        """Return True if the member may join or stay under `group.max.size`."""
        limit = self._config.group_max_size
        member = group.members.get(member_id)
        if group.state is PREPARING_REBALANCE:
            # Only rejoined members count, so that a group above its limit loses the last to rejoin.
            waiting = member is not None and member.is_awaiting_join
            return waiting or group.awaiting_join_count < limit
        if group.state in (COMPLETING_REBALANCE, STABLE):
            return member is not None or len(group.members) < limit
        return True

    def _join_new(self, group: ClassicGroup, joining: Joining) -> Outcome[Done]:
        """Return the outcome of the JoinGroup of a client without a member id.

        A static member joins or replaces its predecessor. A newer client gets MEMBER_ID_REQUIRED
        with its id, which is then pending; an older client joins at once. GROUP_MAX_SIZE_REACHED:
        too many ids are pending.
        """
        request = joining.request
        instance_id = request.group_instance_id
        member_id = self._new_member_id(joining.client_id if instance_id is None else instance_id)
        if instance_id is not None:
            replaced = group.static_members.get(instance_id)
            if replaced is None:
                return self._add_member(group, joining, member_id)
            return self._replace_static_member(group, joining, replaced, member_id)
        if joining.api_version < MEMBER_ID_REQUIRED_FROM:
            return self._add_member(group, joining, member_id)
        if len(group.pending_members) >= self._config.group_max_size:
            # Kafka has no such limit; ids of clients that never join would fill the memory.
            return Outcome(joining.refuse, error=ErrorCode.GROUP_MAX_SIZE_REACHED)
        self._rebalancer.expect_pending(group, member_id, request.session_timeout_ms)
        refuse = partial(joining.refuse, member_id=member_id)
        return Outcome(refuse, error=ErrorCode.MEMBER_ID_REQUIRED)

    def _rejoin(self, group: ClassicGroup, joining: Joining) -> Outcome[Done]:
        """Return the outcome of the JoinGroup of a known member; an unknown or fenced member gets
        an error.

        It starts or joins a rebalance, or repeats the last answer if nothing has changed.
        """
        request = joining.request
        member_id = request.member_id
        error = group.validate_member(member_id, request.group_instance_id)
        if error is ErrorCode.NONE and group.state is EMPTY:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is not ErrorCode.NONE:
            return Outcome(partial(joining.refuse, member_id=member_id), error=error)
        member = group.members[member_id]
        unchanged = member.matches(request.protocols)
        # A leader in Stable asks for a rebalance by joining, for example after topics changed.
        forces_rebalance = group.state is STABLE and group.leader_id == member_id
        if group.state is PREPARING_REBALANCE or not unchanged or forces_rebalance:
            return self._update_member(group, joining, member)
        # The member may not have received the answer to its last JoinGroup: repeat that.
        return _when_committed(group, joining, self._rebalancer.joined(group, member))

    def _add_member(self, group: ClassicGroup, joining: Joining, member_id: str) -> Outcome[Done]:
        """Add a member, park its JoinGroup, and start or go on with the rebalance. Its session is
        NEW_MEMBER_JOIN_TIMEOUT_MS until the answer."""
        request = joining.request
        member = ClassicMember(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=joining.client_id,
            client_host=joining.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=request.protocols,
            is_new=True,
        )
        group.add(member)
        group.park_join(member, joining.reply)
        # The client has no member id and sends no heartbeats yet, and a closed connection of a
        # parked request is not noticed. Without a limit, retries of clients would pile up.
        self._rebalancer.extend_session(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)
        return self._rebalancer.prepare_or_complete(
            group, f"adding member {member_id}; client reason: {joining.reason}"
        )

    def _update_member(
        self, group: ClassicGroup, joining: Joining, member: ClassicMember
    ) -> Outcome[Done]:
        """Park the member's JoinGroup with its new protocols, and begin or continue a rebalance."""
        self._park_join(group, joining, member)
        return self._rebalancer.prepare_or_complete(
            group, f"member {member.member_id} joins again; client reason: {joining.reason}"
        )

    def _park_join(self, group: ClassicGroup, joining: Joining, member: ClassicMember) -> None:
        """Replace the member's protocols and time-outs with those of its JoinGroup, and park the
        request.

        An earlier parked JoinGroup of the member is answered with REBALANCE_IN_PROGRESS.
        """
        request = joining.request
        group.update_member(
            member, request.protocols, joining.rebalance_timeout_ms, request.session_timeout_ms
        )
        superseded = group.park_join(member, joining.reply)
        if superseded is not None:
            superseded(join_refusal(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))

    def _replace_static_member(
        self, group: ClassicGroup, joining: Joining, old_id: str, new_id: str
    ) -> Outcome[Done]:
        """Give a restarted static member, whose JoinGroup has only an instance id, a new member id.

        Parked requests of the old id get FENCED_INSTANCE_ID. A Stable group keeps its generation if
        its protocol stays the same, else it rebalances.
        """
        instance_id = joining.request.group_instance_id
        assert instance_id is not None
        log.info("group %s: %s of %s is now %s", group.group_id, old_id, instance_id, new_id)
        old = group.members[old_id]
        self._rebalancer.refuse_parked(group, old, ErrorCode.FENCED_INSTANCE_ID, old_id)
        member = group.replace_static_member(instance_id, old_id, new_id)
        self._rebalancer.extend_session(group, member)
        self._park_join(group, joining, member)
        if group.state is STABLE:
            if group.select_protocol() == group.protocol_name:
                return self._keep_generation(group, joining, old, member)
            return self._rebalancer.prepare(group, f"static member {instance_id} changed the vote")
        if group.state is COMPLETING_REBALANCE:
            # The leader may be computing an assignment for the old member id.
            return self._rebalancer.prepare(
                group, f"static member {instance_id} has a new member id"
            )
        return self._rebalancer.maybe_complete(group)

    def _keep_generation(
        self, group: ClassicGroup, joining: Joining, old: ClassicMember, member: ClassicMember
    ) -> Outcome[Done]:
        """Return the outcome that writes the same generation with the new member id, without a
        rebalance, and then answers the JoinGroup."""
        instance_id = member.group_instance_id
        assert instance_id is not None
        is_leader = group.leader_id == member.member_id
        old_leader = old.member_id if is_leader else group.leader_id
        reply = group.take_join(member)
        assert reply is joining.reply
        assignments = {key: other.assignment for key, other in group.members.items()}

        def written(error: ErrorCode) -> Outcome[Done]:
            """Return the outcome that answers the new static member. After an error, put its
            predecessor back first, and answer with the error."""
            if error is not ErrorCode.NONE:
                group.update_member(
                    member, old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms
                )
                back = group.replace_static_member(instance_id, member.member_id, old.member_id)
                self._rebalancer.extend_session(group, back)
                return Outcome(joining.refuse, error=error)
            skips = is_leader and joining.api_version >= SKIP_ASSIGNMENT_FROM
            response = self._rebalancer.joined(group, member, skip_assignment=skips)
            if joining.api_version < SKIP_ASSIGNMENT_FROM:
                # The client cannot skip the assignment. With the old id as leader, it follows.
                response.members = []
                response.leader = old_leader or ""
            return _when_committed(group, joining, response)

        record = group_metadata_record(group.group_id, group.record(assignments))
        return Outcome(no_reply, [record], then=written)

    def _new_member_id(self, prefix: str) -> str:
        """Return a new member id: `prefix` and a random UUID. Raises StringTooLong if no answer or
        record could contain it."""
        raw = bytearray(self._random_bytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        text = raw.hex()
        uuid = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        member_id = f"{prefix}-{uuid}"
        string(member_id)
        return member_id

    # -- SyncGroup -----------------------------------------------------------------------------

    def sync(
        self, group: ClassicGroup, request: SyncGroupRequest, reply: SyncReply
    ) -> Steps[Outcome[Done]]:
        """Return the outcome of a SyncGroup: a member requests its assignment, the leader sends all
        of them.

        In a Stable group, the answer is the member's assignment. Otherwise the request is parked;
        the leader's request writes the assignments, and then all are answered.
        """
        assignments: dict[str, bytes] = {}
        yield from in_bulk(
            lambda part: assignments.update((item.member_id, item.assignment) for item in part),
            request.assignments,
        )
        error = self._sync_error(group, request)
        if error is not ErrorCode.NONE:
            return Outcome(lambda error: reply(sync_refusal(error)), error=error)
        member = group.members[request.member_id]
        self._rebalancer.synced(group, member)
        if group.state is STABLE:
            response = self._rebalancer.assigned(group, member)
            return Outcome(
                lambda error: reply(sync_refusal(error) if error else response),
                after=group.record_offset,
            )
        superseded = member.park_sync(reply)
        if superseded is not None:
            superseded(sync_refusal(ErrorCode.REBALANCE_IN_PROGRESS))
        if member.member_id == group.leader_id:
            return self._assign(group, assignments)
        return NOTHING

    def _assign(self, group: ClassicGroup, assignments: dict[str, bytes]) -> Outcome[Done]:
        """Return the outcome that writes the leader's assignment, then answers the parked
        SyncGroups.

        If the write fails, the members get its error and must rejoin.
        """

        def written(error: ErrorCode) -> Outcome[Done]:
            """Return the outcome that answers the parked SyncGroups with their assignments. After
            an error, answer them with that, and rebalance."""
            if error is ErrorCode.NONE:
                return self._rebalancer.hand_out_assignment(group)
            self._rebalancer.fail_assignment(group, error)
            return self._rebalancer.prepare_or_complete(
                group, f"assignment not stored: {error.name}"
            )

        self._metrics.rebalance_completed()
        record = group_metadata_record(group.group_id, group.record(assignments))
        return Outcome(no_reply, [record], then=written)

    def _sync_error(self, group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
        """Return the error for a SyncGroup, or NONE: for a wrong member, generation or protocol, or
        REBALANCE_IN_PROGRESS during the join phase."""
        if group.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.validate_member(request.member_id, request.group_instance_id)
        if group.state is EMPTY:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if _differ(request.protocol_type, group.protocol_type) or _differ(
            request.protocol_name, group.protocol_name
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if group.state is PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    # -- Heartbeat -----------------------------------------------------------------------------

    def heartbeat(self, group: ClassicGroup, request: HeartbeatRequest) -> ErrorCode:
        """Extend the member's session. Return REBALANCE_IN_PROGRESS during the join phase,
        otherwise NONE, or the error for a wrong member or generation."""
        if group.state is DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        error = group.validate_member(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        if group.state is EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        self._rebalancer.extend_session(group, group.members[request.member_id])
        if group.state is PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    # -- LeaveGroup ----------------------------------------------------------------------------

    def leave(
        self,
        group: ClassicGroup,
        identities: list[MemberIdentity],
        reply: Callable[[list[MemberResponse]], None],
    ) -> Steps[Outcome[Done]]:
        """Remove members that leave, or static ones that an administrator names by instance id, and
        rebalance.

        The outcome answers each of them. The reply does not wait for a commit, which matters only
        to the remaining members.
        """
        pace, responses = Pace(), list[MemberResponse]()
        left: list[str] = []
        for identity in identities:
            if pace.is_full():
                yield None
            error = self._leave_member(group, identity)
            if error is ErrorCode.NONE:
                left.append(identity.member_id or str(identity.group_instance_id))
            responses.append(
                MemberResponse(identity.member_id, identity.group_instance_id, int(error))
            )
        outcome = NOTHING
        if group.state is DEAD:
            left.clear()
        if left and group.state in (STABLE, COMPLETING_REBALANCE):
            outcome = self._rebalancer.prepare(group, f"{', '.join(left)} left")
        elif left:
            outcome = self._rebalancer.maybe_complete(group)
        return outcome._replace(reply=lambda _: reply(responses), after=AT_ONCE)

    def _leave_member(self, group: ClassicGroup, identity: MemberIdentity) -> ErrorCode:
        """Remove a member, or the id of a client that never joined.

        Return the error for this leaver, or NONE. Does not start the rebalance.
        """
        if group.state is DEAD:
            # The group was unloaded since an earlier slice.
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        member_id = identity.member_id
        if not member_id:
            instance_id = identity.group_instance_id
            static_id = None if instance_id is None else group.static_members.get(instance_id)
            if static_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            member_id = static_id
        elif member_id in group.pending_members:
            group.forget_pending(member_id)
            return ErrorCode.NONE
        else:
            error = group.validate_member(member_id, identity.group_instance_id)
            if error is not ErrorCode.NONE:
                return error
        log.info(
            "group %s: %s leaves; client reason: %s",
            group.group_id,
            member_id,
            identity.reason or "not provided",
        )
        self._rebalancer.remove_member(group, member_id)
        return ErrorCode.NONE


def _when_committed(
    group: ClassicGroup, joining: Joining, response: JoinGroupResponse
) -> Outcome[Done]:
    """Return an outcome that answers with `response` when the group's last record is committed."""

    def respond(error: ErrorCode) -> None:
        """Answer with `response`, or with the error of the commit."""
        if error is ErrorCode.NONE:
            joining.reply(response)
        else:
            joining.refuse(error, response.member_id)

    return Outcome(respond, after=group.record_offset)


def _differ(requested: str | None, current: str | None) -> bool:
    """Return True if both are known and not equal."""
    return requested is not None and current is not None and requested != current


def refuse_leavers(
    request: LeaveGroupRequest, reply: Callable[[list[MemberResponse]], None]
) -> Steps[Outcome[Done]]:
    """Return the outcome that answers a LeaveGroup with UNKNOWN_MEMBER_ID for each of its
    members."""
    unknown, responses = int(ErrorCode.UNKNOWN_MEMBER_ID), list[MemberResponse]()

    def add(member: MemberIdentity) -> None:
        """Add the answer UNKNOWN_MEMBER_ID for a member."""
        responses.append(MemberResponse(member.member_id, member.group_instance_id, unknown))

    yield from each(add, request.members, PIECES_AT_ONCE)
    return Outcome(lambda _: reply(responses))
