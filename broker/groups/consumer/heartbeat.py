"""The decision of a ConsumerGroupHeartbeat, in which a member joins, changes, and reconciles.

    member → subscription → group epoch → target → member's position → answer

Owns the order of these steps, and the single batch of their records. Decides from a
`ConsumerGroup`, but never changes it: the replay of the records does. Follows Kafka's
`GroupMetadataManager.consumerGroupHeartbeat` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.coordinator.coordinator_log import Record
from broker.coordinator.outcome import Outcome
from broker.groups.consumer.assignors.assignor import (
    NOTHING_ASSIGNED,
    Assignment,
    GroupAssignment,
)
from broker.groups.consumer.computing import Computing
from broker.groups.consumer.expressions import Expressions
from broker.groups.consumer.membership import (
    Beat,
    HeartbeatSender,
    MatchedMember,
    find_member,
    updated_subscription,
)
from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember, PartitionsPosition, Subscription
from broker.groups.consumer.state.records import (
    epoch_record,
    member_record,
    member_tombstones,
    position_record,
    target_record,
)
from broker.groups.consumer.state.topics import metadata_hash
from broker.groups.consumer.surroundings import ConsumerGroupInputs
from broker.groups.consumer.target import target_records, voted_assignor, wants
from broker.groups.consumer.timers import MemberTimers
from broker.groups.group_metrics import GroupMetrics
from broker.groups.reconciliation.held import Named, names, same_names
from broker.groups.reconciliation.member_state import STABLE
from broker.groups.reconciliation.position import TargetAssignment, reconcile
from controller.metadata.image import TopicsImage
from ground.sliced_work import in_one_go
from protocol.errors import ApiError, ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    Assignment as TopicPartitions,
)
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupHeartbeatResponseTopicPartitions,
)


def refusal(fault: ApiError) -> ConsumerGroupHeartbeatResponse:
    """Return the answer that rejects a heartbeat."""
    return ConsumerGroupHeartbeatResponse(error_code=fault.code, error_message=fault.message)


class Turn:
    """The decisions so far for one heartbeat: the group and the member as they will be."""

    def __init__(self, group: ConsumerGroup, matched: MatchedMember, topics: TopicsImage) -> None:
        """Start with the group and the member as they are, without records."""
        self.group = group
        self.matched = matched
        self.topics = topics
        self.records: list[Record] = []
        self.epoch = group.epoch
        self.assignment_epoch = group.assignment_epoch
        self.member_id = matched.member.member_id
        source = matched.replaced or group.members.get(self.member_id)
        self.before = None if source is None else source.subscription
        """The previous subscription of this or of the replaced member; None for a new member."""
        self.position = matched.member.position
        self.subscription = matched.member.subscription
        self.target: Assignment = group.target(source.member_id) if source else NOTHING_ASSIGNED

    @property
    def subscription_changed(self) -> bool:
        """True if the member's topics or its expression changed."""
        before, after = self.before or Subscription(), self.subscription
        return before.topics != after.topics or before.regex != after.regex

    def members(self) -> list[ConsumerMember]:
        """Return the group's members as they will be."""
        updated = self.matched.member._replace(subscription=self.subscription)
        members = dict(self.group.members)
        if self.matched.replaced is not None:
            del members[self.matched.replaced.member_id]
        members[self.member_id] = updated
        return list(members.values())

    def replace_static_member(self) -> None:
        """Add the records that replace a static member, whose partitions this member id gets.

        Do nothing if the member replaces none.
        """
        replaced = self.matched.replaced
        if replaced is None:
            return
        group_id = self.group.group_id
        self.records += member_tombstones(group_id, replaced.member_id)
        self.records += [
            member_record(group_id, self.member_id, self.subscription),
            target_record(group_id, self.member_id, self.target),
            position_record(group_id, self.member_id, self.matched.member.position),
        ]

    def set_subscription(self, subscription: Subscription) -> None:
        """Set the member's subscription, and add a record if it changed."""
        if subscription != self.before:
            self.records.append(member_record(self.group.group_id, self.member_id, subscription))
        self.subscription = subscription

    def set_position(self, position: PartitionsPosition) -> None:
        """Set the member's position, and add its record to `records`."""
        self.position = position
        self.records.append(position_record(self.group.group_id, self.member_id, position))

    def next_epoch(self, new_hash: int) -> None:
        """Increment the group's epoch, which needs a new assignment, and add its record to
        `records`."""
        self.epoch += 1
        self.records.append(epoch_record(self.group.group_id, self.epoch, new_hash))

    def assign(self, answer: GroupAssignment, now_ms: int) -> None:
        """Add the records of `answer`, the targets of all members for the present epoch. Set this
        member's target and the assignment epoch."""
        ids = [member.member_id for member in self.members()]
        written = {} if self.matched.replaced is None else {self.member_id: self.target}
        # The assignor needed only one slice, so there are few records.
        self.records += in_one_go(
            target_records(self.group, ids, answer, self.epoch, now_ms, written)
        )
        self.target = answer.get(self.member_id, NOTHING_ASSIGNED)
        self.assignment_epoch = self.epoch


class HeartbeatHandler:
    """The decisions of heartbeats, for one shard's groups."""

    def __init__(
        self,
        surroundings: ConsumerGroupInputs,
        computing: Computing,
        timers: MemberTimers,
        expressions: Expressions,
        metrics: GroupMetrics,
    ) -> None:
        self._surroundings = surroundings
        self._computing = computing
        self._timers = timers
        self._expressions = expressions
        self._metrics = metrics

    def heartbeat(
        self, group: ConsumerGroup, beat: Beat, now_ms: int, ahead: Sequence[Record] = ()
    ) -> Outcome[ConsumerGroupHeartbeatResponse]:
        """Return the outcome of a heartbeat of a member, or of a client that joins; `group` may be
        a new one.

        A fenced or invalid heartbeat gets a response with the error, and no records. `ahead`:
        records to write before those of the heartbeat. `now_ms`: wall-clock time.
        """
        matched = self._admitted_member(group, beat)
        if isinstance(matched, ApiError):
            return Outcome(refusal(matched))
        subscription = updated_subscription(matched.member.subscription, beat)
        turn = self.decide(group, matched, subscription, beat.owned(), now_ms, ahead)
        if isinstance(turn, ApiError):
            return Outcome(refusal(turn))
        return self._answer(turn, beat)

    def quiet(self, group: ConsumerGroup, sender: HeartbeatSender, epoch: int) -> int | None:
        """Extend the sender's session, and return its heartbeat interval in ms; else return None.

        This happens only if `heartbeat` would write no record and answer without an assignment. If
        the result is None, call `heartbeat`. The cost does not depend on the size of the group.
        """
        member = group.members.get(sender.member_id)
        if member is None or not sender.is_current(group, member):
            return None
        position = member.position
        arrived = position.state is STABLE and epoch == position.epoch == group.assignment_epoch
        if not arrived or group.epoch > epoch:
            return None
        if group.seen_topics is not self._surroundings.topics():
            return None
        if member.subscription.regex and self._expressions.is_due(group):
            return None
        settings = self._surroundings.settings(group.group_id)
        self._timers.extend_session(group.group_id, member.member_id, settings.session_timeout_ms)
        return settings.heartbeat_interval_ms

    def decide(
        self,
        group: ConsumerGroup,
        matched: MatchedMember,
        subscription: Subscription,
        owned: Named[bytes] | None,
        now_ms: int,
        ahead: Sequence[Record] = (),
        *,
        is_assigned: bool = True,
    ) -> Turn | ApiError:
        """Return the decisions for a member that has `subscription` and owns `owned`, or an error.

        `is_assigned` False: do not assign a next epoch, because the group ends with this decision.
        """
        turn = Turn(group, matched, self._surroundings.topics())
        turn.records += ahead
        turn.replace_static_member()
        turn.set_subscription(subscription)
        changed = self._expressions.change(group, turn.before, turn.subscription, turn.records)
        if isinstance(changed, ApiError):
            return changed
        self._advance(turn, changed)
        if not is_assigned and turn.epoch > group.assignment_epoch:
            return turn
        self._assign(turn, now_ms)
        self._reconcile(turn, owned)
        return turn

    def _admitted_member(self, group: ConsumerGroup, beat: Beat) -> MatchedMember | ApiError:
        """Return the member of the heartbeat, or the error if it is fenced or the group is full."""
        full = len(group.members) >= self._surroundings.config.group_consumer_max_size
        if full and beat.request.member_id not in group.members:
            return ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED, "The consumer group has reached its maximum size."
            )
        return find_member(group, beat)

    def _advance(self, turn: Turn, expressions_changed: bool) -> None:
        """Start the next epoch if subscribed names, the metadata of their topics, or the group's
        assignor changed. If the hash of the topics is the same, only `seen_topics` of the group is
        set."""
        group, topics = turn.group, turn.topics
        old_topics = () if turn.before is None else turn.before.topics
        changed = (
            expressions_changed
            or old_topics != turn.subscription.topics
            or self._assignor_changed(turn)
        )
        if not changed and group.seen_topics is topics:
            return
        before = [] if turn.before is None else [turn.before]
        subscribed = group.subscribed_topics(before, [turn.subscription])
        new_hash = metadata_hash(subscribed, topics)
        if changed or new_hash != group.metadata_hash:
            turn.next_epoch(new_hash)
            self._metrics.rebalance_began()
        else:
            group.note_topics(topics)

    def _assignor_changed(self, turn: Turn) -> bool:
        """Return whether the member's vote for an assignor changes the winner of the vote."""
        vote = None if turn.before is None else turn.before.assignor
        if vote == turn.subscription.assignor:
            return False
        names = self._surroundings.assignors.names
        votes = [
            [member.subscription.assignor for member in members]
            for members in (turn.group.members.values(), turn.members())
        ]
        return voted_assignor(votes[0], names) != voted_assignor(votes[1], names)

    def _assign(self, turn: Turn, now_ms: int) -> None:
        """Compute the target if it is older than the group's epoch and the interval is over.

        A target that is complete at once becomes part of `turn`; another is submitted later.
        """
        group = turn.group
        if turn.epoch <= group.assignment_epoch:
            return
        since = now_ms - group.assigned_at_ms
        settings = self._surroundings.settings(group.group_id)
        if 0 <= since < settings.assignment_interval_ms:
            return
        for answer in self._computing.begin(
            group, turn.members(), {turn.member_id: turn.target}, turn.epoch
        ):
            turn.assign(answer, now_ms)

    def _reconcile(self, turn: Turn, owned: Named[bytes] | None) -> None:
        """Move the member to its next position in `turn`; nothing if it has its target already."""
        before = turn.matched.member.position
        at_target = before.state is STABLE and before.epoch == turn.assignment_epoch
        if at_target and not turn.subscription_changed:
            return
        wanted = wants(turn.group, turn.subscription, turn.topics)
        target = TargetAssignment(
            turn.assignment_epoch, turn.target, wanted.__contains__, turn.subscription_changed
        )
        position = reconcile(before, target, owned, turn.group.is_free)
        if position != before:
            turn.set_position(position)

    def _answer(self, turn: Turn, beat: Beat) -> Outcome[ConsumerGroupHeartbeatResponse]:
        """Return the response and the records of a heartbeat.

        The assignment is only in it if it changed or the client needs all. The timers start once
        the records are written.
        """
        settings = self._surroundings.settings(turn.group.group_id)
        position = turn.position
        before = turn.matched.member.position
        moved = not same_names(before.assigned, position.assigned)
        response = ConsumerGroupHeartbeatResponse(
            member_id=turn.member_id,
            member_epoch=position.epoch,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            assignment=_assignment(position) if moved or beat.joins or beat.is_full else None,
        )

        may_look_up = bool(turn.subscription.regex) and self._expressions.may_look_up(turn.group)

        def written(error: ErrorCode) -> None:
            """Extend the session, start the time to revoke, and look up expressions, unless the
            append failed."""
            if error is not ErrorCode.NONE:
                return
            group_id, member_id = turn.group.group_id, turn.member_id
            self._timers.extend_session(group_id, member_id, settings.session_timeout_ms)
            if position is not before:
                self._timers.position_changed(
                    group_id, member_id, position, turn.subscription.rebalance_timeout_ms
                )
            if may_look_up:
                self._expressions.maybe_look_up(group_id, beat.may_describe)

        if turn.records:
            return Outcome(response, turn.records, then=written)
        written(ErrorCode.NONE)
        return Outcome(response, after=turn.group.record_offset)


def _assignment(position: PartitionsPosition) -> TopicPartitions:
    """Return the assigned partitions as the response has them, without those being revoked."""
    return TopicPartitions(
        [
            ConsumerGroupHeartbeatResponseTopicPartitions(topic_id, list(partitions))
            for topic_id, partitions in names(position.assigned).items()
        ]
    )
