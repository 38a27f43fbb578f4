"""Who sends a heartbeat: a member that is there, a new one, or one in the place of another.

Owns who is let in, and whose epoch is behind or ahead; returns values and changes nothing. Follows
Kafka's `GroupMetadataManager.getOrMaybeSubscribe…ConsumerMember` (KIP-848, KIP-345).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeAlias

from broker.groups.consumer.state.group import ConsumerGroup
from broker.groups.consumer.state.member import ConsumerMember, Subscription
from broker.groups.reconciliation.held import Named, is_within
from broker.groups.reconciliation.member_state import UNKNOWN
from broker.groups.reconciliation.position import JOIN_EPOCH, STATIC_LEAVE_EPOCH
from protocol.errors import ApiError, ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

Describable: TypeAlias = Callable[[Sequence[str]], Collection[str]]
"""Those of some topics, by name, that somebody may DESCRIBE."""


def all_of_them(names: Sequence[str]) -> Collection[str]:
    """What somebody without bounds may describe."""
    return names


class Beat(NamedTuple):
    """A heartbeat, and whose it is."""

    request: ConsumerGroupHeartbeatRequest
    client_id: str
    client_host: str
    may_describe: Describable = all_of_them
    """Which of some topics its sender may know of: its expression gives no others."""

    @property
    def joins(self) -> bool:
        """Whether the member comes, or comes again after it gave everything up."""
        return self.request.member_epoch == JOIN_EPOCH

    @property
    def is_full(self) -> bool:
        """Whether it says all, and so is told its assignment."""
        request = self.request
        says_topics = (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        says_owned = request.topic_partitions is not None
        return request.rebalance_timeout_ms != -1 and says_topics and says_owned

    def owned(self) -> Named[bytes] | None:
        """What the member says that it has; None where it says nothing."""
        topics = self.request.topic_partitions
        if topics is None:
            return None
        return {topic.topic_id: tuple(topic.partitions) for topic in topics if topic.partitions}


class Sender(NamedTuple):
    """Whose heartbeats come again and again, and say nothing but their epoch."""

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str

    def is_known(self, group: ConsumerGroup, member: ConsumerMember) -> bool:
        """Whether this is `member`, and the group knows all that it says of itself."""
        known, instance_id = member.subscription, self.instance_id
        if instance_id is not None and (
            group.static_members.get(instance_id) != self.member_id
            or known.instance_id != instance_id
        ):
            return False
        where = (known.client_id, known.client_host)
        return where == (self.client_id, self.client_host) and known.classic is None


class Found(NamedTuple):
    """A member as it was before its heartbeat."""

    member: ConsumerMember
    replaced: ConsumerMember | None = None
    """The static member in whose place it comes, with all that this has."""


def find_member(group: ConsumerGroup, beat: Beat) -> Found | ApiError:
    """The member that sent `beat`, or why it may not."""
    request = beat.request
    if request.instance_id is not None:
        return _find_static(group, beat, request.instance_id)
    member = group.members.get(request.member_id)
    if member is None:
        if beat.joins:
            return Found(ConsumerMember(request.member_id))
        return unknown_member(group, request.member_id)
    return epoch_fault(member, beat) or Found(member)


def _find_static(group: ConsumerGroup, beat: Beat, instance_id: str) -> Found | ApiError:
    member_id = beat.request.member_id
    known = group.static_members.get(instance_id)
    if not beat.joins:
        fault = instance_fault(group, member_id, instance_id)
        if fault is not None:
            return fault
        member = group.members[member_id]
        return epoch_fault(member, beat) or Found(member)
    if known is None:
        return Found(group.members.get(member_id, ConsumerMember(member_id)))
    before = group.members[known]
    if before.position.epoch != STATIC_LEAVE_EPOCH:
        return ApiError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group: "
            "the instance id is used by another member.",
        )
    return Found(
        ConsumerMember(member_id, before.subscription, before.position.taken_over()), before
    )


def instance_fault(group: ConsumerGroup, member_id: str, instance_id: str) -> ApiError | None:
    """Why `member_id` is not `instance_id`."""
    known = group.static_members.get(instance_id)
    if known is None:
        return ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if known != member_id:
        return ApiError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{known}.",
        )
    return None


def unknown_member(group: ConsumerGroup, member_id: str) -> ApiError:
    """There is no such member."""
    return ApiError(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member {member_id} is not a member of group {group.group_id}.",
    )


def epoch_fault(member: ConsumerMember, beat: Beat) -> ApiError | None:
    """Why the epoch of `beat` is not the member's.

    The previous one is the member's too while it says that it owns no more than it was given: the
    last answer may have been lost.
    """
    epoch, position = beat.request.member_epoch, member.position
    if beat.joins:
        return None
    owned = beat.owned()
    if epoch > position.epoch:
        return _fenced(epoch, "greater")
    if epoch < position.epoch:
        lost_answer = epoch == position.previous_epoch
        if not lost_answer or owned is None or not is_within(owned, position.assigned):
            return _fenced(epoch, "smaller")
    if position.state is UNKNOWN and owned != {}:
        return _fenced(epoch, "older")
    return None


def _fenced(epoch: int, how: str) -> ApiError:
    return ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {how} member epoch ({epoch}) than the one known by the "
        "group coordinator. The member must abandon all its partitions and rejoin.",
    )


def updated_subscription(known: Subscription, beat: Beat) -> Subscription:
    """What the member says now: what it leaves out stays as it was."""
    request = beat.request
    changes: dict[str, object] = {}
    if request.instance_id is not None:
        changes["instance_id"] = request.instance_id
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != -1:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.server_assignor is not None:
        changes["assignor"] = request.server_assignor
    if request.subscribed_topic_names is not None:
        changes["topics"] = tuple(sorted(dict.fromkeys(request.subscribed_topic_names)))
    if request.subscribed_topic_regex is not None:
        changes["regex"] = request.subscribed_topic_regex
    changes["client_id"], changes["client_host"] = beat.client_id, beat.client_host
    changes["classic"] = None
    if all(getattr(known, name) == value for name, value in changes.items()):
        return known
    return known._replace(**changes)  # type: ignore[arg-type]
