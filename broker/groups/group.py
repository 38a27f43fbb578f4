"""The interface of a group to its shard, for both protocols of members.

Owns only the interface. `classic.group` and `consumer.state.group` implement it; each has its own
handlers for its members' requests. Follows Kafka's `Group`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from broker.coordinator.coordinator_log import Record
from broker.groups.committed_offset import CommittedOffset
from ground.sliced_work import Steps
from protocol.errors import ErrorCode
from protocol.messages.list_groups import ListedGroup

GROUP_ID_NOT_FOUND_FROM = 9
"""The OffsetCommit version from which on a missing group is GROUP_ID_NOT_FOUND; before, it is
ILLEGAL_GENERATION."""


class Committer(NamedTuple):
    """The sender of an offset commit, and its partitions."""

    member_id: str
    instance_id: str | None
    generation_id: int
    """The generation of a classic group, or the member's epoch in a consumer group."""
    is_transactional: bool
    api_version: int = 10
    partitions: Callable[[], Iterable[tuple[bytes, int]]] = tuple
    """The function that yields each partition's topic id, zero for an unknown topic, and number."""


class Group(Protocol):
    """A group in `GroupShard.groups`."""

    group_id: str

    @property
    def is_idle(self) -> bool:
        """True if the group has no members and none about to join. It is deleted when its last
        offset is gone."""

    def commit_error(self, committer: Committer) -> ErrorCode:
        """Return NONE if the committer may commit offsets of its partitions, else the error."""

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return NONE if the member may read offsets, else the error.

        `member_id` is None if the request names no member.
        """

    def delete_error(self) -> ErrorCode:
        """Return NONE if the whole group may be deleted, else the error."""

    def delete_offsets_error(self) -> ErrorCode:
        """Return NONE if offsets may be deleted of topics without subscribers, else the error."""

    def read_subscriptions(self) -> Steps[None]:
        """Parse the members' subscriptions, before `is_subscribed_to` and `expiry_clock`."""

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether members consume `topic`; True if consumers' metadata is unreadable."""

    def expiry_clock(self) -> Callable[[CommittedOffset], int] | None:
        """Return a function that gives the start of an offset's retention, in ms since the epoch.

        None: no offset expires now. See KIP-211.
        """

    def tombstones(self) -> list[Record]:
        """Return the records that delete the group, without those for its offsets."""

    def listed(self) -> ListedGroup:
        """Return the group's entry for ListGroups."""


def commit_error_without_group(generation_id: int, api_version: int) -> ErrorCode:
    """Return the error of a commit to a group that does not exist.

    This is NONE if `generation_id` is negative, else GROUP_ID_NOT_FOUND, or ILLEGAL_GENERATION
    before OffsetCommit version 9.
    """
    if generation_id < 0:
        return ErrorCode.NONE
    if api_version >= GROUP_ID_NOT_FOUND_FROM:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.ILLEGAL_GENERATION
