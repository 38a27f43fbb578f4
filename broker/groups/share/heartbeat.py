"""The decision of a ShareGroupHeartbeat, in which a member joins, changes, or leaves.

    member → subscription → group epoch → target → member's partitions → answer
                                                 └─► topics to initialize

Owns the order of these steps, and the single batch of their records. Decides from a `ShareGroup`,
but never changes it. Follows Kafka's `GroupMetadataManager.shareGroupHeartbeat` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.groups.consumer.assignors.assignor import NOTHING_ASSIGNED, Assignment
from broker.groups.consumer.state.topics import ids_of, metadata_hash
from broker.groups.consumer.validation import is_blank
from broker.groups.share.initialization import InitializedTopic, state_topics_record
from broker.groups.share.settings import ShareGroupSettings
from broker.groups.share.share_group import ShareGroup, ShareMember
from broker.groups.share.share_records import (
    epoch_record,
    member_record,
    member_tombstones,
    position_record,
    target_epoch_record,
    target_record,
)
from broker.groups.share.simple_assignor import ShareSubscription, assign
from controller.metadata.image import TopicsImage
from ground.sliced_work import Steps
from protocol.errors import ApiError, ErrorCode
from protocol.messages.share_group_heartbeat import (
    Assignment as AnsweredAssignment,
)
from protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
MEMBER_ID_LENGTH_MAX = 36
UNINITIALIZED_START = -1


class ShareBeat(NamedTuple):
    """A heartbeat and its client."""

    request: ShareGroupHeartbeatRequest
    client_id: str
    client_host: str

    @property
    def joins(self) -> bool:
        """True if the member joins, or joins again."""
        return self.request.member_epoch == JOIN_EPOCH


class ToInitialize(NamedTuple):
    """Partitions whose state the share coordinator has to begin."""

    state_epoch: int
    topics: Mapping[bytes, InitializedTopic]
    earlier_topics: frozenset[bytes]
    """The ids of topics that the group had before. Their new partitions begin at offset 0."""

    def start_offset(self, topic_id: bytes) -> int:
        """Return the start offset of a topic's new partitions; -1: the leader chooses it."""
        return 0 if topic_id in self.earlier_topics else UNINITIALIZED_START


class Decision(NamedTuple):
    """The outcome of a heartbeat: the answer, the records, and what has to be initialized."""

    response: ShareGroupHeartbeatResponse
    records: Sequence[Record] = ()
    to_initialize: ToInitialize | None = None
    begins_epoch: bool = False
    """True if the group's epoch changes because of a member that stays or joins."""


class Surroundings(NamedTuple):
    """The inputs of a decision besides the group and the heartbeat."""

    settings: ShareGroupSettings
    topics: TopicsImage
    now_ms: int
    retried: frozenset[bytes] = frozenset()
    """The ids of topics whose initialization takes too long."""


def is_member_id(text: str) -> bool:
    """Return whether a member of a share group may have this id."""
    return 0 < len(text) <= MEMBER_ID_LENGTH_MAX


def heartbeat_fault(request: ShareGroupHeartbeatRequest) -> ApiError | None:
    """Return the error INVALID_REQUEST of a request that no group can serve, or None."""
    message = None
    if is_blank(request.member_id):
        message = "MemberId can't be empty."
    elif is_blank(request.group_id):
        message = "GroupId can't be empty."
    elif request.rack_id is not None and is_blank(request.rack_id):
        message = "RackId can't be empty."
    elif request.member_epoch < LEAVE_EPOCH:
        message = "MemberEpoch is invalid."
    elif request.member_epoch == JOIN_EPOCH and not request.subscribed_topic_names:
        message = "SubscribedTopicNames must be set in first request."
    return None if message is None else ApiError(ErrorCode.INVALID_REQUEST, message)


def refused(fault: ApiError) -> Decision:
    """Return the decision that rejects a heartbeat."""
    return Decision(ShareGroupHeartbeatResponse(error_code=fault.code, error_message=fault.message))


def heartbeat(group: ShareGroup, beat: ShareBeat, surroundings: Surroundings) -> Steps[Decision]:
    """Return the decision about a heartbeat of a member, or of a client that joins; `group` may be
    a new one. A fenced heartbeat gets a response with the error, and no records."""
    before = _admitted(group, beat, surroundings.settings.max_size)
    if isinstance(before, ApiError):
        return refused(before)
    turn = _Turn(group, before, surroundings)
    turn.subscribe(_subscribed(before, beat))
    turn.advance()
    yield from turn.assign()
    turn.place()
    return turn.decision(beat)


def leave(group: ShareGroup, member_id: str, topics: TopicsImage) -> Decision:
    """Return the decision about a heartbeat with epoch -1, by which a member leaves."""
    if member_id not in group.members:
        return refused(unknown_member(group.group_id, member_id))
    response = ShareGroupHeartbeatResponse(member_id=member_id, member_epoch=LEAVE_EPOCH)
    return Decision(response, removal(group, member_id, topics))


def removal(group: ShareGroup, member_id: str, topics: TopicsImage) -> list[Record]:
    """Return the records that remove a member and begin the group's next epoch.

    If no member remains, there is nothing to assign in that epoch. The time of the assignment is 0,
    so that the next member gets its partitions at once.
    """
    rest = [member for member in group.members.values() if member.member_id != member_id]
    epoch = group.epoch + 1
    new_hash = metadata_hash(group.subscribed_topics(rest), topics)
    records = [
        *member_tombstones(group.group_id, member_id),
        epoch_record(group.group_id, epoch, new_hash),
    ]
    if not rest:
        records.append(target_epoch_record(group.group_id, epoch, 0))
    return records


def unknown_member(group_id: str, member_id: str) -> ApiError:
    """Return the error for a member that the group does not have."""
    return ApiError(
        ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}."
    )


def _admitted(group: ShareGroup, beat: ShareBeat, max_size: int) -> ShareMember | ApiError:
    """Return the member of a heartbeat as it was before, or the error if it is fenced or the group
    is full."""
    request = beat.request
    member = group.members.get(request.member_id)
    if member is None:
        if len(group.members) >= max_size:
            return ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The share group has reached its maximum capacity of {max_size} members.",
            )
        if not beat.joins:
            return unknown_member(group.group_id, request.member_id)
        return ShareMember(request.member_id)
    if beat.joins or request.member_epoch in (member.epoch, member.previous_epoch):
        return member
    return ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The member epoch {request.member_epoch} is neither the group coordinator's "
        f"({member.epoch}) nor the one before. The member must abandon its partitions and rejoin.",
    )


def _subscribed(member: ShareMember, beat: ShareBeat) -> ShareMember:
    """Return the member with the subscription of its heartbeat; null fields change nothing."""
    request = beat.request
    names = request.subscribed_topic_names
    return member._replace(
        topics=member.topics if names is None else tuple(sorted(set(names))),
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=beat.client_id,
        client_host=beat.client_host,
    )


class _Turn:
    """The decisions so far for one heartbeat."""

    def __init__(self, group: ShareGroup, before: ShareMember, surroundings: Surroundings) -> None:
        """Begin with the group and the member as they are."""
        self._group = group
        self._before = before
        self._surroundings = surroundings
        self._records: list[Record] = []
        self._member = before
        self._epoch = group.epoch
        self._assignment_epoch = group.assignment_epoch
        self._target = group.target(before.member_id)
        self._is_new_epoch = False

    def _members(self) -> dict[str, ShareMember]:
        """Return the group's members as they will be."""
        return {**self._group.members, self._member.member_id: self._member}

    def subscribe(self, member: ShareMember) -> None:
        """Set the member's subscription, and add a record if it changed."""
        is_known = member.member_id in self._group.members
        if not is_known or member != self._before:
            client = (member.client_id, member.client_host)
            self._records.append(
                member_record(
                    self._group.group_id, member.member_id, member.rack_id, client, member.topics
                )
            )
        self._member = member

    def advance(self) -> None:
        """Begin the next epoch if subscribed names or the metadata of their topics changed, or a
        partition was initialized since the last assignment."""
        group, topics = self._group, self._surroundings.topics
        new_hash = metadata_hash(group.subscribed_topics(self._members().values()), topics)
        is_computed = group.assignment_epoch >= group.epoch
        if (
            self._member.topics != self._before.topics
            or self._member.member_id not in group.members
            or new_hash != group.metadata_hash
            or (is_computed and group.is_assignment_pending)
        ):
            self._epoch += 1
            self._is_new_epoch = True
            self._records.append(epoch_record(group.group_id, self._epoch, new_hash))

    def assign(self) -> Steps[None]:
        """Compute the targets of all members for the present epoch, no earlier than the assignment
        interval after the last computation; at once if this node's clock is before that time."""
        group, settings = self._group, self._surroundings.settings
        if self._assignment_epoch >= self._epoch:
            return
        since_ms = self._surroundings.now_ms - group.assigned_at_ms
        if 0 <= since_ms < settings.assignment_interval_ms:
            return
        answer = yield from assign(self._subscriptions(), self._assignable())
        for member_id in self._members():
            target = answer.get(member_id, NOTHING_ASSIGNED)
            if group.targets.get(member_id) != target:
                self._records.append(target_record(group.group_id, member_id, target))
        now_ms = self._surroundings.now_ms
        self._records.append(target_epoch_record(group.group_id, self._epoch, now_ms))
        self._target = answer.get(self._member.member_id, NOTHING_ASSIGNED)
        self._assignment_epoch = self._epoch

    def _subscriptions(self) -> dict[str, ShareSubscription]:
        """Return the members as the assignor gets them."""
        topics = self._surroundings.topics
        seen: dict[tuple[str, ...], frozenset[bytes]] = {}
        for member in self._members().values():
            if member.topics not in seen:
                seen[member.topics] = ids_of(member.topics, topics)
        return {
            member.member_id: ShareSubscription(
                seen[member.topics], self._group.target(member.member_id)
            )
            for member in self._members().values()
        }

    def _assignable(self) -> dict[bytes, tuple[int, ...]]:
        """Return the partitions of subscribed topics that have a state, in the order of names."""
        names = self._group.subscribed_topics(self._members().values())
        there = {
            topic.name: (topic_id, topic.partitions)
            for topic_id, topic in self._group.state_topics.initialized.items()
        }
        existing = self._surroundings.topics
        return dict(there[name] for name in sorted(names) if name in there and existing.get(name))

    def place(self) -> None:
        """Give the member its target, as far as it subscribes to it, and the target's epoch."""
        member = self._member
        if not self._is_new_epoch and member.epoch == self._assignment_epoch:
            return
        wanted = ids_of(member.topics, self._surroundings.topics)
        assigned: Assignment = {
            topic_id: partitions
            for topic_id, partitions in self._target.items()
            if topic_id in wanted
        }
        previous = member.previous_epoch
        if member.epoch != self._assignment_epoch:
            previous = member.epoch
        placed = member._replace(
            epoch=self._assignment_epoch, previous_epoch=previous, assigned=assigned
        )
        if placed != member:
            self._records.append(
                position_record(
                    self._group.group_id,
                    member.member_id,
                    placed.epoch,
                    placed.previous_epoch,
                    placed.assigned,
                )
            )
        self._member = placed

    def decision(self, beat: ShareBeat) -> Decision:
        """Return the answer, with the assignment if the member joins, names its topics or has
        another assignment than before; and what has to be initialized."""
        member, is_full = self._member, beat.request.subscribed_topic_names is not None
        response = ShareGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._surroundings.settings.heartbeat_interval_ms,
        )
        if beat.joins or is_full or member.assigned != self._before.assigned:
            response.assignment = AnsweredAssignment(
                [
                    TopicPartitions(topic_id, list(partitions))
                    for topic_id, partitions in member.assigned.items()
                ]
            )
        to_initialize = self._to_initialize()
        return Decision(response, self._records, to_initialize, self._is_new_epoch)

    def _to_initialize(self) -> ToInitialize | None:
        """Return the partitions that have no state yet, and add the record that begins it."""
        group = self._group
        names = group.subscribed_topics(self._members().values())
        surroundings = self._surroundings
        missing = group.state_topics.missing(names, surroundings.topics, surroundings.retried)
        if not missing:
            return None
        earlier = group.state_topics.ids
        self._records.append(state_topics_record(group.group_id, group.state_topics.begin(missing)))
        return ToInitialize(self._epoch, missing, earlier)
