"""The requests of consumer groups' members to one shard, and the time-outs of silent members.

Owns the parts that decide (`heartbeat`, `departure`, `expressions`) and the members' timers, whose
expiries it submits. Never changes a group. Follows the consumer part of Kafka's
`GroupMetadataManager` (KIP-848).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from broker.coordinator.coordinator_log import Record
from broker.coordinator.coordinator_runtime import REPLAYS_A_SLICE, replays
from broker.coordinator.outcome import NOTHING, Decided, Done, Outcome, call_reply, no_reply
from broker.groups.classic.group import ClassicGroup
from broker.groups.classic.joining import Joining
from broker.groups.classic.member import SyncReply
from broker.groups.consumer.classic_members import ClassicMembers
from broker.groups.consumer.computing import Computing
from broker.groups.consumer.departure import MemberRemoval, find_member_to_remove, leave, removal
from broker.groups.consumer.description import described
from broker.groups.consumer.expressions import Expressions
from broker.groups.consumer.heartbeat import HeartbeatHandler, refusal
from broker.groups.consumer.membership import Beat, HeartbeatSender, MatchedMember
from broker.groups.consumer.migration import (
    MigrationPolicy,
    downgrade_records,
    leaves_classic_members,
    replaces_the_last,
    upgrade_records,
)
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.consumer.surroundings import ConsumerGroupInputs
from broker.groups.consumer.target import voted_assignor
from broker.groups.consumer.timers import MemberTimers
from broker.groups.group_metrics import GroupMetrics
from broker.groups.group_records import (
    ConsumerGroupKey,
    ConsumerGroupValue,
    OtherRecord,
    read_group_record,
)
from broker.groups.member_deadlines import Again, settle_removal
from ground.ports import Scheduler
from ground.sliced_work import Pace, Steps
from protocol.errors import ApiError, ErrorCode, ProtocolError
from protocol.messages.consumer_group_describe import DescribedGroup
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.leave_group import MemberIdentity, MemberResponse
from protocol.messages.sync_group import SyncGroupRequest

log = logging.getLogger(f"ottla.{__name__}")

Submit = Callable[[Callable[[], Decided[Done]], Callable[[ErrorCode, Done], None]], None]


class ConsumerProtocol:
    """The handlers of one shard's consumer groups.

    `find` returns a group by its id. `submit` runs the work of timers. `became_classic` is called
    with the id of a group that became a classic one, and whether it has to rebalance.
    """

    def __init__(
        self,
        surroundings: ConsumerGroupInputs,
        scheduler: Scheduler,
        find: Callable[[str], ConsumerGroup | None],
        submit: Submit,
        random_bytes: Callable[[int], bytes],
        became_classic: Callable[[str, bool], None],
        metrics: GroupMetrics,
    ) -> None:
        self._surroundings = surroundings
        self._scheduler = scheduler
        self._find = find
        self._submit = submit
        self._became_classic = became_classic
        self._timers = MemberTimers(scheduler, self._remove_expired, self._remove_if_not_revoked)
        submit_quietly = partial(submit_without_reply, submit)
        self._computing = Computing(surroundings, find, submit_quietly, scheduler.wall_ms)
        self._expressions = Expressions(
            surroundings.lookup,
            find,
            submit_quietly,
            surroundings.image,
            scheduler.wall_ms,
            surroundings.config.group_consumer_regex_refresh_interval_ms,
            metrics,
        )
        self._handler = HeartbeatHandler(
            surroundings, self._computing, self._timers, self._expressions, metrics
        )
        self._classic = ClassicMembers(
            *(surroundings, self._handler, self._timers, random_bytes),
            self._downgrades,
            became_classic,
        )

    # -- members -------------------------------------------------------------------------------

    def heartbeat(
        self, group_id: str, beat: Beat, ahead: Sequence[Record] = ()
    ) -> Decided[ConsumerGroupHeartbeatResponse]:
        """Return the outcome of a ConsumerGroupHeartbeat, by which a member joins, stays or leaves.

        GROUP_ID_NOT_FOUND: there is no group, and the member does not join. `ahead`: records to
        write first, which remove a classic group of this id.
        """
        group = self._find(group_id)
        if group is None:
            if not beat.joins:
                return Outcome(refusal(not_found(group_id)))
            group = ConsumerGroup(group_id)
        if beat.request.member_epoch < 0:
            return leave(group, beat.request, self._removal)
        return self._handler.heartbeat(group, beat, self._scheduler.wall_ms(), ahead)

    def quiet_heartbeat(
        self, group: ConsumerGroup, sender: HeartbeatSender, epoch: int
    ) -> int | None:
        """Extend the session and return the heartbeat interval in ms. Return None, and do nothing,
        if the heartbeat needs a full decision.

        See `HeartbeatHandler.quiet`.
        """
        return self._handler.quiet(group, sender, epoch)

    def leave(
        self,
        group: ConsumerGroup,
        members: Sequence[MemberIdentity],
        reply: Callable[[list[MemberResponse]], None],
    ) -> Steps[Outcome[Done]]:
        """Return the outcome of a LeaveGroup, by which an administrator removes members. `reply`
        gets an answer for each of them after the commit."""
        pace, answers = Pace(), []
        leavers: dict[str, ConsumerMember] = {}
        for member in members:
            if pace.is_full():
                yield None
            leaver = find_member_to_remove(group, member.member_id, member.group_instance_id)
            if not isinstance(leaver, ErrorCode):
                leavers[leaver.member_id] = leaver
            error = leaver if isinstance(leaver, ErrorCode) else ErrorCode.NONE
            answers.append(MemberResponse(member.member_id, member.group_instance_id, int(error)))

        def respond(error: ErrorCode) -> None:
            """Answer each leaver; an error of the write goes to all that had none."""
            if error is ErrorCode.NONE:
                reply(answers)
                return
            code = int(error)
            reply(
                [
                    MemberResponse(a.member_id, a.group_instance_id, a.error_code or code)
                    for a in answers
                ]
            )

        removed = yield from self._removal(group, list(leavers.values()))
        return Outcome(respond, removed.records, then=removed.then)

    def _removal(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember]
    ) -> Steps[MemberRemoval]:
        """Return the records that remove `members`.

        If only members of the classic protocol remain, and the policy allows it, the records also
        convert the group to a classic one.
        """
        group_id, topics = group.group_id, self._surroundings.topics()
        ids = [member.member_id for member in members]
        fits = self._may_be_classic(len(group.members) - len(ids))
        if not (fits and leaves_classic_members(group, ids)):
            return MemberRemoval((yield from removal(group, members, topics)))

        def written(error: ErrorCode) -> None:
            """Call `became_classic` with the group, which has to rebalance, unless the append
            failed."""
            if error is ErrorCode.NONE:
                self._became_classic(group_id, True)

        log.info("group %s: only classic members are left, it is a classic group", group_id)
        now = self._scheduler.wall_ms()
        records = yield from downgrade_records(group, ids, topics, now)
        return MemberRemoval(records, written)

    # -- members of the classic protocol -------------------------------------------------------

    @property
    def _policy(self) -> MigrationPolicy:
        """The value of `group.consumer.migration.policy`."""
        return MigrationPolicy[self._surroundings.config.group_consumer_migration_policy.upper()]

    def _may_be_classic(self, count: int) -> bool:
        """Return whether a group with `count` members may become a classic one, by the migration
        policy and `group.max.size`."""
        return count <= self._surroundings.config.group_max_size and self._policy.downgrades

    def _downgrades(self, group: ConsumerGroup, matched: MatchedMember) -> bool:
        """Return whether this classic member replaces the last one of the consumer protocol, and
        the group becomes a classic one."""
        replaced = matched.replaced
        fits = self._may_be_classic(len(group.members))
        return fits and replaced is not None and replaces_the_last(group, replaced.member_id)

    def upgrade(
        self, classic: ClassicGroup, beat: Beat
    ) -> Steps[Outcome[ConsumerGroupHeartbeatResponse]]:
        """Return the outcome of a heartbeat by which a classic group with members becomes a
        consumer group.

        The answer is GROUP_ID_NOT_FOUND if the group cannot be converted.
        """
        group_id = classic.group_id
        room = self._surroundings.config.group_consumer_max_size
        if not self._policy.upgrades or len(classic.members) >= room:
            return Outcome(refusal(not_found(group_id)))
        try:
            records = yield from upgrade_records(classic, self._surroundings.topics())
        except ProtocolError as error:
            log.info("group %s cannot become a consumer group: %s", group_id, error)
            return Outcome(refusal(not_found(group_id)))
        group = yield from _group_of(group_id, records)
        outcome = self._handler.heartbeat(group, beat, self._scheduler.wall_ms(), records)
        if not outcome.records:
            return outcome
        log.info("group %s: a classic group until now, it is a consumer group", group_id)
        return outcome._replace(then=partial(self._finish_upgrade, group_id, outcome.then))

    def _finish_upgrade(
        self,
        group_id: str,
        then: Callable[[ErrorCode], object] | None,
        error: ErrorCode,
    ) -> None:
        """Call `then` with `error`, and start the time-outs of the classic members of a converted
        group."""
        if then is not None:
            then(error)
        group = self._find(group_id)
        if error is not ErrorCode.NONE or group is None:
            return
        for member in group.members.values():
            if member.uses_classic_protocol:
                self._start_timers(group, member)

    def join(self, group: ConsumerGroup, joining: Joining) -> Steps[Outcome[Done]]:
        """Return the outcome of a JoinGroup of a classic consumer (`ClassicMembers.join`)."""
        return self._classic.join(group, joining, self._scheduler.wall_ms())

    def sync(
        self, group: ConsumerGroup, request: SyncGroupRequest, reply: SyncReply
    ) -> Outcome[Done]:
        """Return the outcome of a SyncGroup of a classic consumer, which answers by `reply`."""
        return self._classic.sync(group, request, reply)

    def classic_heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest) -> ErrorCode:
        """Extend the session of a classic consumer. Return the error for its Heartbeat, or NONE."""
        return self._classic.heartbeat(group, request)

    def describe(self, group: ConsumerGroup) -> Steps[DescribedGroup]:
        """Return the description of a group for ConsumerGroupDescribe."""
        surroundings = self._surroundings
        votes = (member.subscription.assignor for member in group.members.values())
        assignor = voted_assignor(votes, surroundings.assignors.names)
        return (yield from described(group, assignor, surroundings.topics()))

    # -- timers --------------------------------------------------------------------------------

    def resume(self, group: ConsumerGroup) -> None:
        """Start the time-outs of all members, after the log is loaded."""
        for member in group.members.values():
            self._start_timers(group, member)

    def _start_timers(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Start a member's session and its time to revoke partitions."""
        member_key = (group.group_id, member.member_id)
        subscription = member.subscription
        session_ms = self._surroundings.settings(group.group_id).session_timeout_ms
        if subscription.classic is not None:
            session_ms = subscription.classic.session_timeout_ms
        self._timers.extend_session(*member_key, session_ms)
        self._timers.position_changed(
            *member_key, member.position, subscription.rebalance_timeout_ms
        )

    def forget(self, group_id: str, member_id: str) -> None:
        """Stop the timers of a member, whose records are removed."""
        self._timers.forget(group_id, member_id)

    def forget_group(self, group_id: str) -> None:
        """Forget the last look-up of a removed group's expressions, and the failures of its
        assignors."""
        self._expressions.forget(group_id)
        self._computing.forget(group_id)

    def stop(self) -> None:
        """Stop all timers: the shard is unloaded."""
        self._timers.stop()

    def _remove_expired(self, group_id: str, member_id: str, reason: str, retry: Again) -> None:
        """Submit the removal of the member.

        `retry` starts its time-out again if the removal could not be written.
        """
        decide = partial(self._remove_member, group_id, member_id, reason)
        self._submit(decide, partial(settle_removal, retry))

    def _remove_if_not_revoked(
        self, group_id: str, member_id: str, epoch: int, retry: Again
    ) -> None:
        """Submit the removal of the member unless its epoch has changed: it has not revoked
        partitions since its time-out began at `epoch`.

        `retry` sets the time-out again if the removal could not be written.
        """

        def decide() -> Decided[Done]:
            """Return the outcome that removes the member, or nothing if it is gone or has another
            epoch."""
            group = self._find(group_id)
            member = None if group is None else group.members.get(member_id)
            if member is None or member.position.epoch != epoch:
                return NOTHING
            reason = "it did not give up partitions within its rebalance time-out"
            return self._remove_member(group_id, member_id, reason)

        self._submit(decide, partial(settle_removal, retry))

    def _remove_member(self, group_id: str, member_id: str, reason: str) -> Steps[Outcome[Done]]:
        """Return the outcome that removes the member, or nothing if it is gone. Logs the reason at
        INFO."""
        group = self._find(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None:
            return NOTHING
        log.info("group %s: removing %s: %s", group_id, member_id, reason)
        removed = yield from self._removal(group, [member])
        return Outcome(no_reply, removed.records, then=removed.then)


def not_found(group_id: str, *, is_other: bool = False) -> ApiError:
    """Return the error for a group that does not exist, or, if `is_other`, is of another kind."""
    what = "is not a consumer group" if is_other else "not found"
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} {what}.")


def _group_of(group_id: str, records: Sequence[Record]) -> Steps[ConsumerGroup]:
    """Return the consumer group that these records describe."""
    group = ConsumerGroup(group_id)
    pace = Pace(REPLAYS_A_SLICE)
    for record in records:
        if pace.is_full(replays(record[1])):
            yield None
        parsed = read_group_record(*record)
        assert not isinstance(parsed, OtherRecord)
        key, value = parsed
        if isinstance(key, ConsumerGroupKey):
            assert value is None or isinstance(value, ConsumerGroupValue)
            group.replay(key, value, -1)
    return group


def submit_without_reply(submit: Submit, decide: Callable[[], Decided[Done]]) -> None:
    """Submit a decision for which no client waits."""
    submit(decide, call_reply)
