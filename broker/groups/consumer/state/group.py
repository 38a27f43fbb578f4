"""The state of a consumer group: its epochs, members, targets, and partition holders.

Owns only the durable state. Only `replay` of the records of types 3, 5 to 8 and 16 changes it. The
log may be compacted, so `replay` accepts a tombstone without an earlier record, and a target or a
position before its member. For its shard (`Group`) it checks commits, reads and deletions of
offsets. Never decides, never knows the time: `heartbeat` and `departure` decide. Follows Kafka's
`ConsumerGroup` and `ModernGroup` (KIP-848).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.groups.committed_offset import CommittedOffset
from broker.groups.consumer.assignors.assignor import NOTHING_ASSIGNED, Assignment
from broker.groups.consumer.state.group_state import ConsumerGroupState, Situation, state_of
from broker.groups.consumer.state.member import ConsumerMember, PartitionsPosition, Subscription
from broker.groups.consumer.state.records import group_tombstones, position_of, target_of
from broker.groups.group import Committer
from broker.groups.group_records import ConsumerGroupKey, ConsumerGroupValue
from broker.groups.reconciliation.held import without
from broker.groups.reconciliation.member_state import STABLE
from broker.groups.reconciliation.position import MemberPosition
from controller.metadata.image import TopicsImage
from ground.sliced_work import Steps
from protocol.errors import ErrorCode
from protocol.messages.group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from protocol.messages.list_groups import ListedGroup

CONSUMER = "consumer"
"""The type and the protocol type of these groups in ListGroups."""
MEMBER_EPOCHS_FROM = 9
"""The first OffsetCommit version that members of consumer groups may use."""
FIRST_EPOCH = 1
"""The epoch of a group without a record of its epoch."""


class ResolvedRegex(NamedTuple):
    """The topics whose names match a regular expression."""

    topics: tuple[str, ...]
    version: int
    """The offset of the metadata in which the topics were looked up."""
    looked_up_ms: int


class LookUps(NamedTuple):
    """The look-ups of a group's regular expressions; times are in ms since the epoch."""

    newest_ms: int | None
    """The time of the newest look-up, or None if there is none."""
    oldest_ms: int
    """The time of the oldest look-up, or 0 if there is none."""
    are_missing: bool
    """True if members subscribe by an expression that was never looked up."""


class ConsumerGroup:
    """A consumer group as its records describe it."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        """The time at which the targets were computed, in ms since the epoch; 0: never."""
        self.members: dict[str, ConsumerMember] = {}
        self.targets: dict[str, Assignment] = {}
        self.static_members: dict[str, str] = {}
        """The member ids by instance id."""
        self.regexes: dict[str, ResolvedRegex] = {}
        self.record_offset = -1
        """The offset of the group's last record; answers wait for its commit."""
        self.seen_topics: TopicsImage | None = None
        """The last topics for which the metadata hash was up to date. Soft state."""
        self._holders: dict[bytes, dict[int, str]] = {}
        self._subscribers: dict[str, int] = {}
        self._regex_subscribers: dict[str, int] = {}
        self._lookups: LookUps | None = None
        self._state: ConsumerGroupState | None = None
        """The cached state; None after a change."""

    # -- replay --------------------------------------------------------------------------------

    def replay(self, key: ConsumerGroupKey, value: ConsumerGroupValue | None, offset: int) -> None:
        """Apply a record of this group, which is at `offset`.

        A tombstone removes a member, a target, a position or an expression; that of an epoch
        changes nothing.
        """
        self.record_offset = offset
        self._state = None
        if isinstance(key, ConsumerGroupCurrentMemberAssignmentKey):
            assert value is None or isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
            self._set_position(key.member_id, None if value is None else position_of(value))
        elif isinstance(key, ConsumerGroupTargetAssignmentMemberKey):
            assert value is None or isinstance(value, ConsumerGroupTargetAssignmentMemberValue)
            self._set_target(key.member_id, None if value is None else target_of(value))
        elif isinstance(key, ConsumerGroupMemberMetadataKey):
            assert value is None or isinstance(value, ConsumerGroupMemberMetadataValue)
            self._set_subscription(key.member_id, None if value is None else Subscription.of(value))
        elif isinstance(key, ConsumerGroupMetadataKey):
            if isinstance(value, ConsumerGroupMetadataValue):
                self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
        elif isinstance(key, ConsumerGroupTargetAssignmentMetadataKey):
            if isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
                self.assignment_epoch = value.assignment_epoch
                self.assigned_at_ms = value.assignment_timestamp
        elif isinstance(key, ConsumerGroupRegularExpressionKey):
            assert value is None or isinstance(value, ConsumerGroupRegularExpressionValue)
            self._set_regex(key.regular_expression, value)

    def _set_position(self, member_id: str, position: PartitionsPosition | None) -> None:
        """Set a member's position and the holders of its partitions.

        None resets the position of a known member.
        """
        member = self.members.get(member_id)
        if member is None:
            if position is None:
                return
            member = ConsumerMember(member_id)
        self._release_partitions(member)
        member = member._replace(position=position or MemberPosition())
        self.members[member_id] = member
        for held in (member.position.assigned, member.position.revoking):
            for topic_id, partitions in held.items():
                self._holders.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))

    def _set_target(self, member_id: str, target: Assignment | None) -> None:
        """Set a member's target assignment. None removes it."""
        if target is None:
            self.targets.pop(member_id, None)
        else:
            self.targets[member_id] = target

    def _set_subscription(self, member_id: str, subscription: Subscription | None) -> None:
        """Set a member's subscription and count its topics. None removes the member."""
        member = self.members.get(member_id)
        if member is not None:
            self._count_subscriber(member, -1)
        if subscription is None:
            if member is not None:
                self._release_partitions(member)
                del self.members[member_id]
            return
        member = (member or ConsumerMember(member_id))._replace(subscription=subscription)
        self.members[member_id] = member
        self._count_subscriber(member, 1)

    def _set_regex(self, regex: str, value: ConsumerGroupRegularExpressionValue | None) -> None:
        """Set the topics that the expression has matched. None removes them."""
        self._lookups = None
        if value is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = ResolvedRegex(tuple(value.topics), value.version, value.timestamp)

    def _release_partitions(self, member: ConsumerMember) -> None:
        """Remove the member as the holder of its partitions."""
        for held in (member.position.assigned, member.position.revoking):
            for topic_id, partitions in held.items():
                holders = self._holders.get(topic_id, {})
                for partition in partitions:
                    # In a compacted log, the partition's next holder may come before this record.
                    if holders.get(partition) == member.member_id:
                        del holders[partition]
                if not holders:
                    self._holders.pop(topic_id, None)

    def _count_subscriber(self, member: ConsumerMember, change: int) -> None:
        """Add `change`, 1 or -1, to the subscribers of the member's topics and expression.

        Adds or removes its instance id too.
        """
        subscription = member.subscription
        for name in subscription.topics:
            _add(self._subscribers, name, change)
        if subscription.regex:
            _add(self._regex_subscribers, subscription.regex, change)
            self._lookups = None
        instance_id = subscription.instance_id
        if instance_id is None:
            return
        if change > 0:
            self.static_members[instance_id] = member.member_id
        elif self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]

    # -- soft state ----------------------------------------------------------------------------

    def note_topics(self, topics: TopicsImage) -> None:
        """Set `seen_topics` to `topics`. The caller has found that the group's metadata hash is
        that of `topics`."""
        self.seen_topics = topics

    # -- for decisions -------------------------------------------------------------------------

    def is_free(self, topic_id: bytes, partition: int) -> bool:
        """Return whether no member holds the partition, not even one that must revoke it."""
        holders = self._holders.get(topic_id)
        return holders is None or partition not in holders

    def holder(self, topic_id: bytes, partition: int) -> str | None:
        """Return the member that holds the partition, or None."""
        return self._holders.get(topic_id, {}).get(partition)

    def has_something_for(self, member: ConsumerMember) -> bool:
        """Return whether some partition of the member's target that it does not have is free."""
        missing = without(self.target(member.member_id), member.position.assigned)
        return any(
            self.is_free(topic_id, partition)
            for topic_id, partitions in missing.items()
            for partition in partitions
        )

    def is_classic_protocol_of_all(self, name: str, but: str) -> bool:
        """Return whether all classic-protocol members except `but` support the protocol `name`.

        Return True if there are no such members.
        """
        return all(
            any(
                protocol.name == name
                for protocol in member.subscription.classic.supported_protocols
            )
            for member in self.members.values()
            if member.subscription.classic is not None and member.member_id != but
        )

    def target(self, member_id: str) -> Assignment:
        """Return the member's target assignment; empty if it has none."""
        return self.targets.get(member_id, NOTHING_ASSIGNED)

    def subscribed_topics(
        self,
        before: Iterable[Subscription] = (),
        after: Iterable[Subscription] = (),
        resolved: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> dict[str, None]:
        """Return the names of all topics to which members subscribe, by name or expression.

        The result is that of a planned change: with the subscriptions `after` instead of `before`,
        and with the topics of expressions from `resolved` where it has them.
        """
        counts, regexes = self._subscribers, self._regex_subscribers
        changes: list[tuple[Subscription, int]] = [(item, -1) for item in before]
        changes += [(item, 1) for item in after]
        if changes:
            counts, regexes = dict(counts), dict(regexes)
        for subscription, change in changes:
            for name in subscription.topics:
                _add(counts, name, change)
            if subscription.regex:
                _add(regexes, subscription.regex, change)
        names = dict.fromkeys(counts)
        for regex in regexes:
            names.update(dict.fromkeys(resolved.get(regex, self.topics_of(regex))))
        return names

    def topics_of(self, regex: str) -> tuple[str, ...]:
        """Return the topics that matched an expression when it was last looked up."""
        resolved = self.regexes.get(regex)
        return () if resolved is None else resolved.topics

    def names_of(self, subscription: Subscription) -> Iterator[str]:
        """Yield the topics of a subscription and its expression; some may come twice."""
        yield from subscription.topics
        if subscription.regex:
            yield from self.topics_of(subscription.regex)

    def regex_subscribers(self, regex: str) -> int:
        """Return the number of members that subscribe by `regex`."""
        return self._regex_subscribers.get(regex, 0)

    def subscribed_regexes(self) -> list[str]:
        """Return the expressions by which members subscribe."""
        return list(self._regex_subscribers)

    @property
    def lookups(self) -> LookUps:
        """The times of the look-ups of the group's expressions."""
        if self._lookups is None:
            times = [resolved.looked_up_ms for resolved in self.regexes.values()]
            missing = any(regex not in self.regexes for regex in self._regex_subscribers)
            newest = max(times) if times else None
            self._lookups = LookUps(newest, min(times, default=0), missing)
        return self._lookups

    # -- for the shard (`Group`) ---------------------------------------------------------------

    @property
    def state(self) -> ConsumerGroupState:
        """The state that follows from the group's epochs and members."""
        if self._state is None:
            self._state = state_of(
                Situation(
                    bool(self.members),
                    self.epoch <= self.assignment_epoch,
                    all(self._is_reconciled(member) for member in self.members.values()),
                )
            )
        return self._state

    def _is_reconciled(self, member: ConsumerMember) -> bool:
        """Return whether the member is Stable at the epoch of the targets."""
        position = member.position
        return position.state is STABLE and position.epoch == self.assignment_epoch

    @property
    def is_idle(self) -> bool:
        """True if the group has no members. It is deleted when its last offset is gone."""
        return not self.members

    def commit_error(self, committer: Committer) -> ErrorCode:
        """Return NONE if this member may commit offsets with its epoch, else the error.

        An older epoch is accepted for partitions that the member has held since then (KIP-1251);
        otherwise it gets STALE_MEMBER_EPOCH, or ILLEGAL_GENERATION in a transaction. A negative
        epoch, of no member, is accepted while the group is empty and in transactions.
        """
        member_id, epoch = committer.member_id, committer.generation_id
        transactional = committer.is_transactional
        is_no_member = transactional and epoch == -1 and not member_id
        if is_no_member or (epoch < 0 and not self.members):
            return ErrorCode.NONE
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        position = member.position
        if member.uses_classic_protocol:
            current = epoch == position.epoch
            return ErrorCode.NONE if current else ErrorCode.ILLEGAL_GENERATION
        if committer.api_version < MEMBER_EPOCHS_FROM and not transactional:
            return ErrorCode.UNSUPPORTED_VERSION
        if epoch == position.epoch:
            return ErrorCode.NONE
        if 0 <= epoch < position.epoch and all(
            position.has_since(epoch, *partition) for partition in committer.partitions()
        ):
            return ErrorCode.NONE
        # Producers do not understand STALE_MEMBER_EPOCH.
        return ErrorCode.ILLEGAL_GENERATION if transactional else ErrorCode.STALE_MEMBER_EPOCH

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return NONE if this member, at this epoch, may read offsets, else UNKNOWN_MEMBER_ID or
        STALE_MEMBER_EPOCH. A request without a member and epoch may."""
        if member_id is None and member_epoch < 0:
            return ErrorCode.NONE
        member = self.members.get(member_id or "")
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        current = member_epoch == member.position.epoch
        return ErrorCode.NONE if current else ErrorCode.STALE_MEMBER_EPOCH

    def delete_error(self) -> ErrorCode:
        """Return NONE if the whole group may be deleted, else NON_EMPTY_GROUP."""
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def delete_offsets_error(self) -> ErrorCode:
        """Return NONE: offsets of topics without subscribers may be deleted."""
        return ErrorCode.NONE

    def read_subscriptions(self) -> Steps[None]:
        """Do nothing: subscriptions are parsed when they are replayed."""
        yield from ()

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member subscribes to `topic`, by name or expression."""
        if topic in self._subscribers:
            return True
        return any(topic in self.topics_of(regex) for regex in self._regex_subscribers)

    def expiry_clock(self) -> Callable[[CommittedOffset], int] | None:
        """Return a function that gives an offset's commit time, from which its retention counts."""
        return _committed_at

    def tombstones(self) -> list[Record]:
        """Return the records that delete the group."""
        return group_tombstones(self.group_id)

    def listed(self) -> ListedGroup:
        """Return the group's entry for ListGroups."""
        return ListedGroup(self.group_id, CONSUMER, self.state.value, CONSUMER)


def _add(counts: dict[str, int], name: str, change: int) -> None:
    """Add to a name's count; a count of 0 drops the name."""
    count = counts.get(name, 0) + change
    if count > 0:
        counts[name] = count
    else:
        counts.pop(name, None)


def _committed_at(committed: CommittedOffset) -> int:
    return committed.commit_timestamp_ms
