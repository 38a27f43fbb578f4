"""What members of consumer groups ask of one shard, and what becomes of those who do not ask.

Owns the parts that decide (`heartbeat`, `departure`, `expressions`) and the members' timers, of
which it submits what is due. Changes no group. Follows the consumer part of Kafka's
`GroupMetadataManager` (KIP-848).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from broker.coordinator.coordinator_log import Record
from broker.coordinator.outcome import NOTHING, Done, Outcome, nobody, settle
from broker.groups.consumer.computing import Computing
from broker.groups.consumer.departure import leave, removal, sent_away
from broker.groups.consumer.description import described
from broker.groups.consumer.expressions import Expressions
from broker.groups.consumer.heartbeat import HeartbeatHandler, refusal
from broker.groups.consumer.membership import Beat
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember
from broker.groups.consumer.surroundings import Surroundings
from broker.groups.consumer.target import voted_assignor
from broker.groups.consumer.timers import MemberTimers
from protocol.errors import ApiError, ErrorCode
from protocol.messages.consumer_group_describe import DescribedGroup
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from protocol.messages.leave_group import MemberIdentity, MemberResponse
from storage.ports import Scheduler

log = logging.getLogger(f"ottla.{__name__}")

Submit = Callable[[Callable[[], Outcome[Done]], Callable[[ErrorCode, Done], None]], None]
RETRY_MS = 1_000
"""After a removal could not be written."""


class ConsumerProtocol:
    """Consumer groups of one shard. `find` one by its id; `submit` takes the work of timers."""

    def __init__(
        self,
        surroundings: Surroundings,
        scheduler: Scheduler,
        find: Callable[[str], ConsumerGroup | None],
        submit: Submit,
    ) -> None:
        self._surroundings = surroundings
        self._scheduler = scheduler
        self._find = find
        self._submit = submit
        self._timers = MemberTimers(scheduler, self._expired, self._not_revoked)
        at_once = partial(submit_and_settle, submit)
        self._computing = Computing(surroundings, find, at_once, scheduler.wall_ms)
        self._expressions = Expressions(
            surroundings.lookup,
            find,
            at_once,
            surroundings.image,
            scheduler.wall_ms,
            surroundings.config.group_consumer_regex_refresh_interval_ms,
        )
        self._handler = HeartbeatHandler(
            surroundings, self._computing, self._timers, self._expressions
        )

    # -- members -------------------------------------------------------------------------------

    def heartbeat(
        self, group_id: str, beat: Beat, ahead: Sequence[Record] = ()
    ) -> Outcome[ConsumerGroupHeartbeatResponse]:
        """ConsumerGroupHeartbeat; `ahead`: records by which the group may be a consumer group."""
        group = self._find(group_id)
        if group is None:
            if not beat.joins:
                return Outcome(refusal(not_found(group_id)))
            group = ConsumerGroup(group_id)
        if beat.request.member_epoch < 0:
            return leave(group, beat.request, self._surroundings.topics())
        return self._handler.heartbeat(group, beat, self._scheduler.wall_ms(), ahead)

    def leave(
        self,
        group: ConsumerGroup,
        members: Sequence[MemberIdentity],
        reply: Callable[[list[MemberResponse]], None],
    ) -> Outcome[Done]:
        """LeaveGroup: an administrator sends members away."""
        answers = []
        gone: dict[str, ConsumerMember] = {}
        for member in members:
            found = sent_away(group, member.member_id, member.group_instance_id)
            if not isinstance(found, ErrorCode):
                gone[found.member_id] = found
            error = found if isinstance(found, ErrorCode) else ErrorCode.NONE
            answers.append(MemberResponse(member.member_id, member.group_instance_id, int(error)))

        def told(error: ErrorCode) -> None:
            code = int(error)
            reply(
                [
                    MemberResponse(a.member_id, a.group_instance_id, a.error_code or code)
                    for a in answers
                ]
            )

        records = removal(group, list(gone.values()), self._surroundings.topics())
        return Outcome(told, records)

    def describe(self, group: ConsumerGroup) -> DescribedGroup:
        """ConsumerGroupDescribe of one group."""
        surroundings = self._surroundings
        named = (member.subscription.assignor for member in group.members.values())
        assignor = voted_assignor(named, surroundings.assignors.names)
        return described(group, assignor, surroundings.topics())

    # -- timers --------------------------------------------------------------------------------

    def resume(self, group: ConsumerGroup) -> None:
        """The log is loaded: all time-outs begin anew."""
        settings = self._surroundings.settings(group.group_id)
        for member in group.members.values():
            where = (group.group_id, member.member_id)
            self._timers.heard(*where, settings.session_timeout_ms)
            timeout_ms = member.subscription.rebalance_timeout_ms
            self._timers.moved(*where, member.position, timeout_ms)

    def forget(self, group_id: str, member_id: str) -> None:
        """The member is gone from the log."""
        self._timers.forget(group_id, member_id)

    def forget_group(self, group_id: str) -> None:
        """The group is gone from the log."""
        self._expressions.forget(group_id)

    def stop(self) -> None:
        """The shard is led elsewhere."""
        self._timers.stop()

    def _expired(self, group_id: str, member_id: str) -> None:
        decide = partial(self._fence, group_id, member_id, "the member's session expired")
        self._submit(decide, partial(self._retried, group_id, member_id))

    def _not_revoked(self, group_id: str, member_id: str, epoch: int) -> None:
        def decide() -> Outcome[Done]:
            group = self._find(group_id)
            member = None if group is None else group.members.get(member_id)
            if member is None or member.position.epoch != epoch:
                return NOTHING
            reason = "the member did not give up partitions within its rebalance time-out"
            return self._fence(group_id, member_id, reason)

        self._submit(decide, partial(self._retried, group_id, member_id))

    def _fence(self, group_id: str, member_id: str, reason: str) -> Outcome[Done]:
        group = self._find(group_id)
        member = None if group is None else group.members.get(member_id)
        if group is None or member is None:
            return NOTHING
        log.info("group %s: %s, removing %s", group_id, reason, member_id)
        return Outcome(nobody, removal(group, [member], self._surroundings.topics()))

    def _retried(self, group_id: str, member_id: str, error: ErrorCode, reply: Done) -> None:
        reply(error)
        group = self._find(group_id)
        if error is not ErrorCode.NONE and group is not None and member_id in group.members:
            self._timers.heard(group_id, member_id, RETRY_MS)


def not_found(group_id: str) -> ApiError:
    """There is no such consumer group."""
    return ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")


def submit_and_settle(submit: Submit, decide: Callable[[], Outcome[Done]]) -> None:
    """Have somebody decide of whom nobody waits for an answer."""
    submit(decide, settle)
