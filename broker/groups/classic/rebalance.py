"""The steps of a classic group from one generation to the next: waits, time-outs, and removals.

Owns the join phase (initial delay, rebalance time-out, completion), the deadlines of members and of
the sync phase, and the answers to waiting members. Changes soft state of a `ClassicGroup`, and
returns an `Outcome` whose records change durable state: `ClassicGroup.install` replays them. A
deadline that expires is submitted to the shard like a request. Never reads a request: `protocol`
does.

Follows the classic part of Kafka's `GroupMetadataManager`; KAFKA-12890, KAFKA-7610, KIP-134.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from broker.config.values import BrokerConfig
from broker.coordinator.outcome import NOTHING, Done, Outcome, no_reply
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupEvent,
)
from broker.groups.classic.member import ClassicMember, SyncReply, join_refusal, sync_refusal
from broker.groups.deadline import Deadline
from broker.groups.group_records import group_metadata_record
from ground.ports import Scheduler
from protocol.errors import ErrorCode
from protocol.messages.group_records import GroupMetadataValue
from protocol.messages.join_group import JoinGroupResponse
from protocol.messages.sync_group import SyncGroupResponse

log = logging.getLogger(f"ottla.{__name__}")


class Rebalancer:
    """The rebalances of one shard's groups. `submit(decide)` runs the work of its deadlines."""

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        submit: Callable[[Callable[[], Outcome[Done]]], None],
    ) -> None:
        """Create a rebalancer. `submit(decide)` runs the decision of an expired deadline in the
        shard."""
        self._config = config
        self._scheduler = scheduler
        self._submit = submit

    def _deadline(self, reached: Callable[[], Outcome[Done]]) -> Deadline:
        """Return a new deadline, not set yet, that submits `reached` as a decision of the shard."""
        return Deadline(self._scheduler, partial(self._submit, reached))

    # -- sessions ------------------------------------------------------------------------------

    def extend_session(
        self, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None
    ) -> None:
        """Set the end of the member's session to `timeout_ms` from now; None: to its session
        time-out. At its end the member is removed."""
        if member.session is None:
            member.set_session(self._deadline(partial(self._expire_session, group, member)))
        assert member.session is not None
        member.session.extend(member.session_timeout_ms if timeout_ms is None else timeout_ms)

    def expect_pending(self, group: ClassicGroup, member_id: str, session_timeout_ms: int) -> None:
        """Add `member_id` to the group's pending members. It is dropped unless the client joins
        within the time-out (KIP-394)."""

        def expire() -> Outcome[Done]:
            """Drop the pending member id, and finish the join phase if it waited only for that."""
            log.info("group %s: pending member %s expired", group.group_id, member_id)
            group.forget_pending(member_id)
            return self._maybe_complete_after_removal(group)

        deadline = group.pending_members[member_id] = self._deadline(expire)
        deadline.extend(session_timeout_ms)

    def _expire_session(self, group: ClassicGroup, member: ClassicMember) -> Outcome[Done]:
        """Remove a member whose session is over, and rebalance.

        Does nothing if the member left or the broker owes it an answer.
        """
        alive = group.members.get(member.member_id) is member and group.state is not DEAD
        if not alive or member.satisfies_heartbeat:
            return NOTHING
        log.info("group %s: member %s failed, removing it", group.group_id, member.member_id)
        self.remove_member(group, member.member_id)
        if group.can(GroupEvent.REBALANCE) and group.state is not EMPTY:
            return self.prepare(group, f"member {member.member_id} expired")
        return self._maybe_complete_after_removal(group)

    # -- leaving -------------------------------------------------------------------------------

    def remove_member(self, group: ClassicGroup, member_id: str) -> None:
        """Remove a member. Answer its parked requests with UNKNOWN_MEMBER_ID, so that the client
        may join again as a new member."""
        member = group.members.get(member_id)
        if member is not None:
            self.refuse_parked(group, member, ErrorCode.UNKNOWN_MEMBER_ID)
        group.remove(member_id)

    def refuse_parked(
        self, group: ClassicGroup, member: ClassicMember, error: ErrorCode, member_id: str = ""
    ) -> None:
        """Answer the member's parked requests with `error`, a JoinGroup also with `member_id`."""
        join_reply, sync_reply = group.take_join(member), member.park_sync(None)
        if join_reply is not None:
            join_reply(join_refusal(error, member_id))
        if sync_reply is not None:
            sync_reply(sync_refusal(error))

    def _maybe_complete_after_removal(self, group: ClassicGroup) -> Outcome[Done]:
        """Finish the join phase if it waited only for a member that is gone now. Otherwise return
        an outcome without records."""
        if group.state is PREPARING_REBALANCE and group.has_all_members_joined:
            return self._complete_join(group)
        return NOTHING

    # -- the join phase ------------------------------------------------------------------------

    def prepare_or_complete(self, group: ClassicGroup, reason: str) -> Outcome[Done]:
        """Start a rebalance, or finish the running one if all members have joined."""
        if group.can(GroupEvent.REBALANCE):
            return self.prepare(group, reason)
        return self.maybe_complete(group)

    def maybe_complete(self, group: ClassicGroup) -> Outcome[Done]:
        """Finish the join phase if all members have joined, unless it is an empty group's first
        phase, which lasts for its initial delay."""
        if group.previous_state is EMPTY:
            return NOTHING
        return self._maybe_complete_after_removal(group)

    def prepare(self, group: ClassicGroup, reason: str) -> Outcome[Done]:
        """Start a rebalance: members must rejoin, and parked SyncGroups get REBALANCE_IN_PROGRESS.

        An empty group first waits for more members. If all members have joined, the join phase ends
        at once.
        """
        if group.state is COMPLETING_REBALANCE:
            self.fail_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        group.expect_syncs(None)
        initial = group.state is EMPTY
        group.fire(GroupEvent.REBALANCE, self._scheduler.wall_ms())
        log.info(
            "group %s: preparing to rebalance generation %d (%s)",
            group.group_id,
            group.generation_id,
            reason,
        )
        if initial:
            delay = self._config.group_initial_rebalance_delay_ms
            remaining = max(group.rebalance_timeout_ms - delay, 0)
            return self._delay_first_generation(group, delay, remaining)
        if group.has_all_members_joined:
            return self._complete_join(group)
        return self._wait_for_joins(group)

    def _wait_for_joins(self, group: ClassicGroup) -> Outcome[Done]:
        """Set the end of the join phase to the longest rebalance time-out of the members. Return an
        outcome without records."""
        complete = partial(self._complete_join, group)
        return self._end_join_phase_in(group, group.rebalance_timeout_ms, complete)

    def _end_join_phase_in(
        self, group: ClassicGroup, delay_ms: int, end: Callable[[], Outcome[Done]]
    ) -> Outcome[Done]:
        """Set a deadline that calls `end` after `delay_ms`, in place of the join phase's earlier
        deadline. Return an outcome without records."""
        deadline = self._deadline(end)
        group.expect_joins(deadline)
        deadline.extend(delay_ms)
        return NOTHING

    def _delay_first_generation(
        self, group: ClassicGroup, delay_ms: int, remaining_ms: int
    ) -> Outcome[Done]:
        """Wait `delay_ms`, and again while new members join, up to the rebalance time-out."""

        def end() -> Outcome[Done]:
            """Finish the join phase, or wait again if members have joined meanwhile and time
            remains."""
            if remaining_ms == 0 or not group.take_growth():
                return self._complete_join(group)
            delay = min(self._config.group_initial_rebalance_delay_ms, remaining_ms)
            return self._delay_first_generation(group, delay, max(remaining_ms - delay_ms, 0))

        return self._end_join_phase_in(group, delay_ms, end)

    def _complete_join(self, group: ClassicGroup) -> Outcome[Done]:
        """End the join phase: remove absent dynamic members, and answer the others with the new
        generation.

        Without members, the outcome writes the empty generation. If all members are static and
        absent, the join phase goes on.
        """
        group.expect_joins(None)
        if group.state is not PREPARING_REBALANCE:
            return NOTHING
        absent = [m for m in group.members.values() if not m.is_awaiting_join and not m.is_static]
        for member in absent:
            log.info("group %s: %s did not rejoin in time", group.group_id, member.member_id)
            self.remove_member(group, member.member_id)
        if not group.members:
            value = group.empty_record(self._scheduler.wall_ms())
            record = group_metadata_record(group.group_id, value)
            return Outcome(no_reply, [record], then=partial(self._become_empty, group, value))
        if group.elect_joined_leader():
            self._begin_generation(group)
            return NOTHING
        # All members are static and absent: wait until they join or their sessions expire.
        return self._wait_for_joins(group)

    def _become_empty(
        self, group: ClassicGroup, value: GroupMetadataValue, error: ErrorCode
    ) -> None:
        """Log the empty generation. It takes effect even if its record could not be written."""
        if error is not ErrorCode.NONE:
            # After a failover the previous generation would be loaded, and its members expire.
            log.warning("group %s: empty generation not written: %s", group.group_id, error.name)
            group.install(value, group.record_offset, value.current_state_timestamp)
        log.info("group %s: generation %d is empty", group.group_id, group.generation_id)

    def _begin_generation(self, group: ClassicGroup) -> None:
        """Begin the next generation: answer all parked JoinGroups and expect the SyncGroups.
        Extends the sessions of all members."""
        group.begin_generation(self._scheduler.wall_ms())
        log.info(
            "group %s: generation %d with %d members",
            group.group_id,
            group.generation_id,
            len(group.members),
        )
        for member in list(group.members.values()):
            self.extend_session(group, member)
            member.become_known()
        self._expect_syncs(group)
        for member in list(group.members.values()):
            reply = group.take_join(member)
            if reply is not None:
                reply(self.joined(group, member))

    def joined(
        self, group: ClassicGroup, member: ClassicMember, *, skip_assignment: bool = False
    ) -> JoinGroupResponse:
        """Return the JoinGroup answer for the current generation; the leader's has all members."""
        is_leader = member.member_id == group.leader_id
        return JoinGroupResponse(
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=group.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member.member_id,
            members=group.join_members() if is_leader else [],
        )

    # -- the sync phase ------------------------------------------------------------------------

    def _expect_syncs(self, group: ClassicGroup) -> None:
        """Set the deadline of the sync phase, the group's rebalance time-out. It removes the
        members without a SyncGroup, and rebalances."""
        generation = group.generation_id

        def evict() -> Outcome[Done]:
            """Remove the members without a SyncGroup and rebalance, unless there is none or the
            generation is over."""
            current = group.generation_id == generation and group.pending_sync
            if not current or group.state not in (COMPLETING_REBALANCE, STABLE):
                return NOTHING
            silent = list(group.pending_sync)
            log.info("group %s: %s did not sync in time", group.group_id, ", ".join(silent))
            for member_id in silent:
                self.remove_member(group, member_id)
            return self.prepare(group, "members did not sync in time")

        deadline = self._deadline(evict)
        group.expect_syncs(deadline)
        deadline.extend(group.rebalance_timeout_ms)

    def synced(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Remove the member from `pending_sync`, because it has sent its SyncGroup. After the last
        member, cancel the deadline of the sync phase."""
        group.pending_sync.pop(member.member_id, None)
        if not group.pending_sync:
            group.expect_syncs(None)

    def fail_assignment(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Clear all assignments, and answer parked SyncGroups with `error`, which extends their
        sessions."""
        for member in list(group.members.values()):
            member.assign(b"")
            reply = member.park_sync(None)
            if reply is not None:
                self.extend_session(group, member)
                reply(sync_refusal(error))

    def hand_out_assignment(self, group: ClassicGroup) -> Outcome[Done]:
        """Return the outcome that answers parked SyncGroups with their assignments when the
        generation is committed. Extends the sessions of these members now."""
        waiting: list[tuple[SyncReply, SyncGroupResponse]] = []
        for member in group.members.values():
            reply = member.park_sync(None)
            if reply is not None:
                waiting.append((reply, self.assigned(group, member)))
                self.extend_session(group, member)

        def committed(error: ErrorCode) -> None:
            """Answer each SyncGroup with its assignment, or with the error of the commit."""
            for reply, response in waiting:
                reply(response if error is ErrorCode.NONE else sync_refusal(error))

        return Outcome(committed, after=group.record_offset)

    def assigned(self, group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
        """Return the SyncGroup answer with the member's assignment in the current generation."""
        return SyncGroupResponse(
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            assignment=member.assignment,
        )

    # -- loading and unloading -----------------------------------------------------------------

    def resume(self, group: ClassicGroup) -> Outcome[Done]:
        """Start the sessions of a loaded group, and rebalance it if it exceeds `group.max.size`."""
        if group.state is DEAD:
            return NOTHING
        for member in group.members.values():
            self.extend_session(group, member)
        if len(group.members) > self._config.group_max_size:
            reason = f"{len(group.members)} members are more than group.max.size"
            return self.prepare_or_complete(group, reason)
        return NOTHING

    def rebalance_converted(self, group: ClassicGroup, reason: str) -> Outcome[Done]:
        """Rebalance a group that was a consumer group until now, unless it has no members.

        Since the conversion, members may have joined or left, or the group may be unloaded.
        """
        return self.prepare_or_complete(group, reason) if group.members else NOTHING

    def close(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Change a removed group to Dead, stop its timers, and answer its parked requests with
        `error`."""
        group.fire(GroupEvent.REMOVED, self._scheduler.wall_ms())
        group.expect_joins(None)
        group.expect_syncs(None)
        for member_id in list(group.pending_members):
            group.forget_pending(member_id)
        for member in list(group.members.values()):
            if member.session is not None:
                member.session.cancel()
            self.refuse_parked(group, member, error, member.member_id)
