"""A share group: its members, epochs and target assignments, and the topics with a state.

Owns the durable state, which only `replay` changes. Unlike in a consumer group, several members may
have a partition, so a member gets its target at once: nothing is revoked first. Never decides.
Follows Kafka's `ShareGroup` and `ShareGroupMember` (KIP-932).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from broker.coordinator.coordinator_log import Record
from broker.groups.committed_offset import CommittedOffset
from broker.groups.consumer.assignors.assignor import NOTHING_ASSIGNED, Assignment
from broker.groups.consumer.state.topics import NO_TOPICS
from broker.groups.group import Committer
from broker.groups.group_records import ShareGroupKey, ShareGroupValue
from broker.groups.share.initialization import StateTopics, state_topics_of
from broker.groups.share.share_records import (
    assignment_of,
    group_tombstones,
    target_of,
)
from ground.sliced_work import Steps
from protocol.errors import ErrorCode
from protocol.messages.group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
)
from protocol.messages.list_groups import ListedGroup

SHARE = "share"
FIRST_EPOCH = 1
"""The epoch of a new group; its first member begins the next."""


class ShareGroupState(Enum):
    """The states. An empty group stays until it is deleted; DEAD is that of no group."""

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


class ShareMember(NamedTuple):
    """A member, as records of types 10 and 14 have it. Never changes."""

    member_id: str
    epoch: int = 0
    previous_epoch: int = 0
    """The member's epoch before, also accepted: the member may have missed the last answer."""
    assigned: Assignment = NOTHING_ASSIGNED
    topics: tuple[str, ...] = ()
    """The subscribed names, sorted."""
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""


class ShareGroup:
    """A share group, empty at first."""

    def __init__(self, group_id: str) -> None:
        """Create a group at its first epoch, without members."""
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = NO_TOPICS
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, Assignment] = {}
        self.state_topics = StateTopics()
        self.record_offset = -1
        """The offset of the group's latest record."""

    # -- replay --------------------------------------------------------------------------------

    def replay(self, key: ShareGroupKey, value: ShareGroupValue | None, offset: int) -> None:
        """Apply a record of this group, which is at `offset`; the tombstone of an epoch changes
        nothing."""
        self.record_offset = offset
        if isinstance(key, ShareGroupCurrentMemberAssignmentKey):
            assert value is None or isinstance(value, ShareGroupCurrentMemberAssignmentValue)
            self._set_position(key.member_id, value)
        elif isinstance(key, ShareGroupMemberMetadataKey):
            assert value is None or isinstance(value, ShareGroupMemberMetadataValue)
            self._set_member(key.member_id, value)
        elif isinstance(key, ShareGroupTargetAssignmentMemberKey):
            assert value is None or isinstance(value, ShareGroupTargetAssignmentMemberValue)
            if value is None:
                self.targets.pop(key.member_id, None)
            else:
                self.targets[key.member_id] = target_of(value)
        elif isinstance(value, ShareGroupMetadataValue):
            self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
        elif isinstance(value, ShareGroupTargetAssignmentMetadataValue):
            self.assignment_epoch = value.assignment_epoch
            self.assigned_at_ms = value.assignment_timestamp
        elif isinstance(key, ShareGroupStatePartitionMetadataKey):
            assert value is None or isinstance(value, ShareGroupStatePartitionMetadataValue)
            self.state_topics = StateTopics() if value is None else state_topics_of(value)

    def _set_position(
        self, member_id: str, value: ShareGroupCurrentMemberAssignmentValue | None
    ) -> None:
        """Set a member's epochs and partitions; None resets those of a known member."""
        member = self.members.get(member_id)
        if member is None and value is None:
            return
        member = member or ShareMember(member_id)
        if value is None:
            value = ShareGroupCurrentMemberAssignmentValue()
        self.members[member_id] = member._replace(
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            assigned=assignment_of(value),
        )

    def _set_member(self, member_id: str, value: ShareGroupMemberMetadataValue | None) -> None:
        """Set a member's subscription; None removes the member."""
        if value is None:
            self.members.pop(member_id, None)
            return
        member = self.members.get(member_id, ShareMember(member_id))
        self.members[member_id] = member._replace(
            topics=tuple(value.subscribed_topic_names),
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
        )

    # -- for decisions -------------------------------------------------------------------------

    def target(self, member_id: str) -> Assignment:
        """Return the member's target assignment; empty if it has none."""
        return self.targets.get(member_id, NOTHING_ASSIGNED)

    def subscribed_topics(self, members: Iterable[ShareMember] | None = None) -> dict[str, None]:
        """Return the names to which the members subscribe; `members` instead of the group's own."""
        those = self.members.values() if members is None else members
        return {name: None for member in those for name in member.topics}

    @property
    def is_assignment_pending(self) -> bool:
        """True if a partition is initialized, but not assigned, or the reverse."""
        if not self.members:
            return False
        assigned: dict[bytes, set[int]] = {}
        for target in self.targets.values():
            for topic_id, partitions in target.items():
                assigned.setdefault(topic_id, set()).update(partitions)
        names = self.subscribed_topics()
        return any(
            assigned.get(topic_id, set()) != set(topic.partitions)
            for topic_id, topic in self.state_topics.initialized.items()
            if topic.name in names
        )

    # -- for the shard (`Group`) ---------------------------------------------------------------

    @property
    def state(self) -> ShareGroupState:
        """The group's state: EMPTY without members, else STABLE."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def is_idle(self) -> bool:
        """True if the group has no members."""
        return not self.members

    def commit_error(self, committer: Committer) -> ErrorCode:
        """Return GROUP_ID_NOT_FOUND: a share group has no committed offsets."""
        return ErrorCode.GROUP_ID_NOT_FOUND

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return NONE: an OffsetFetch of a share group finds no offsets."""
        return ErrorCode.NONE

    def delete_error(self) -> ErrorCode:
        """Return NONE if the whole group may be deleted, else NON_EMPTY_GROUP."""
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def delete_offsets_error(self) -> ErrorCode:
        """Return GROUP_ID_NOT_FOUND: OffsetDelete is not for share groups."""
        return ErrorCode.GROUP_ID_NOT_FOUND

    def read_subscriptions(self) -> Steps[None]:
        """Do nothing: subscriptions are parsed when they are replayed."""
        yield from ()

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member subscribes to `topic`."""
        return any(topic in member.topics for member in self.members.values())

    def expiry_clock(self) -> Callable[[CommittedOffset], int] | None:
        """Return None: a share group has no offsets, and only DeleteGroups removes it."""
        return None

    def tombstones(self) -> list[Record]:
        """Return the records that delete the group."""
        return group_tombstones(self.group_id)

    def listed(self) -> ListedGroup:
        """Return the group's entry for ListGroups."""
        return ListedGroup(self.group_id, SHARE, self.state.value, SHARE)
