"""The sender of a heartbeat: a present member, a new one, or one that replaces a static member.

Owns the checks of member ids, instance ids and epochs. Returns values and never changes a group.
Follows Kafka's `GroupMetadataManager.getOrMaybeSubscribe…ConsumerMember` (KIP-848, KIP-345).
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
"""A function of topics that returns those that a client may DESCRIBE."""


def all_names(names: Sequence[str]) -> Collection[str]:
    """Return all names, for a client that may describe all topics."""
    return names


class Beat(NamedTuple):
    """A heartbeat and its client."""

    request: ConsumerGroupHeartbeatRequest
    client_id: str
    client_host: str
    may_describe: Describable = all_names
    """The filter for topics that the client may DESCRIBE; its expression matches no others."""

    @property
    def joins(self) -> bool:
        """True if the member joins, or rejoins after it revoked everything."""
        return self.request.member_epoch == JOIN_EPOCH

    @property
    def is_full(self) -> bool:
        """True if the request has all fields; its answer then has the assignment."""
        request = self.request
        says_topics = (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
        says_owned = request.topic_partitions is not None
        return request.rebalance_timeout_ms != -1 and says_topics and says_owned

    def owned(self) -> Named[bytes] | None:
        """Return the partitions that the member reports to own; None if it does not report."""
        topics = self.request.topic_partitions
        if topics is None:
            return None
        return {topic.topic_id: tuple(topic.partitions) for topic in topics if topic.partitions}


class HeartbeatSender(NamedTuple):
    """The sender of a heartbeat that has nothing but an epoch."""

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str

    def is_current(self, group: ConsumerGroup, member: ConsumerMember) -> bool:
        """Return whether this is `member`, with the instance id and client that the group has.
        Return False for a member of the classic protocol."""
        subscription, instance_id = member.subscription, self.instance_id
        if instance_id is not None and (
            group.static_members.get(instance_id) != self.member_id
            or subscription.instance_id != instance_id
        ):
            return False
        client = (subscription.client_id, subscription.client_host)
        return client == (self.client_id, self.client_host) and subscription.classic is None


class MatchedMember(NamedTuple):
    """The member of a heartbeat, as it was before."""

    member: ConsumerMember
    replaced: ConsumerMember | None = None
    """The static member that it replaces, whose partitions it gets."""


def find_member(group: ConsumerGroup, beat: Beat) -> MatchedMember | ApiError:
    """Return the member that sent `beat`, or the error. A join with an unknown member id makes a
    new member, or takes the place of a static member that is away."""
    request = beat.request
    if request.instance_id is not None:
        return _find_static(group, beat, request.instance_id)
    member = group.members.get(request.member_id)
    if member is None:
        if beat.joins:
            return MatchedMember(ConsumerMember(request.member_id))
        return unknown_member(group, request.member_id)
    return epoch_fault(member, beat) or MatchedMember(member)


def _find_static(group: ConsumerGroup, beat: Beat, instance_id: str) -> MatchedMember | ApiError:
    """Return the member of a static client, or the error if the instance id is in use or fenced.

    A join takes over the position of the member that left for a while.
    """
    member_id = beat.request.member_id
    current_id = group.static_members.get(instance_id)
    if not beat.joins:
        fault = instance_fault(group, member_id, instance_id)
        if fault is not None:
            return fault
        member = group.members[member_id]
        return epoch_fault(member, beat) or MatchedMember(member)
    if current_id is None:
        return MatchedMember(group.members.get(member_id, ConsumerMember(member_id)))
    before = group.members[current_id]
    if before.position.epoch != STATIC_LEAVE_EPOCH:
        return ApiError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group: "
            "the instance id is used by another member.",
        )
    return MatchedMember(
        ConsumerMember(member_id, before.subscription, before.position.taken_over()), before
    )


def instance_fault(group: ConsumerGroup, member_id: str, instance_id: str) -> ApiError | None:
    """Return the error if the instance id does not belong to this member, else None."""
    current_id = group.static_members.get(instance_id)
    if current_id is None:
        return ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if current_id != member_id:
        return ApiError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{current_id}.",
        )
    return None


def unknown_member(group: ConsumerGroup, member_id: str) -> ApiError:
    """Return the error for a member that the group does not have."""
    return ApiError(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member {member_id} is not a member of group {group.group_id}.",
    )


def epoch_fault(member: ConsumerMember, beat: Beat) -> ApiError | None:
    """Return the error if the epoch of `beat` is not the member's, else None. A join is always
    accepted.

    The previous epoch is accepted too if the member reports to own no more than it has: the last
    answer may have been lost.
    """
    epoch, position = beat.request.member_epoch, member.position
    if beat.joins:
        return None
    owned = beat.owned()
    if epoch > position.epoch:
        return _fenced_error(epoch, "greater")
    if epoch < position.epoch:
        lost_answer = epoch == position.previous_epoch
        if not lost_answer or owned is None or not is_within(owned, position.assigned):
            return _fenced_error(epoch, "smaller")
    if position.state is UNKNOWN and owned != {}:
        return _fenced_error(epoch, "older")
    return None


def _fenced_error(epoch: int, how: str) -> ApiError:
    """Return the error for a member epoch.

    `how` compares it to the current epoch: greater, smaller or older.
    """
    return ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {how} member epoch ({epoch}) than the one known by the "
        "group coordinator. The member must abandon all its partitions and rejoin.",
    )


def updated_subscription(current: Subscription, beat: Beat) -> Subscription:
    """Return the subscription with the fields of `beat`; a field that it omits stays as it was. The
    member then uses the consumer protocol."""
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
    if all(getattr(current, name) == value for name, value in changes.items()):
        return current
    return current._replace(**changes)  # type: ignore[arg-type]
