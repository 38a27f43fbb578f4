"""A group as its shard sees it, whatever protocol its members speak.

Owns the interface alone. `classic.group` and `consumer.group` are the kinds that there are: they
answer the same questions, and each has handlers of its own for what its members ask. Follows
Kafka's `Group`.
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
"""OffsetCommit from this version on says GROUP_ID_NOT_FOUND, earlier ILLEGAL_GENERATION."""


class Committer(NamedTuple):
    """Who commits offsets, and for which partitions."""

    member_id: str
    instance_id: str | None
    generation_id: int
    """Of a classic group; of a consumer group the member's epoch."""
    is_transactional: bool
    api_version: int = 10
    partitions: Callable[[], Iterable[tuple[bytes, int]]] = tuple
    """Topic id (zero where there is no such topic) and number of each."""


class Group(Protocol):
    """One group of `GroupShard.groups`."""

    group_id: str

    @property
    def is_idle(self) -> bool:
        """Whether nobody is in it or about to join: without offsets it is forgotten."""

    def commit_error(self, committer: Committer) -> ErrorCode:
        """Whether this member, in this generation, may commit offsets of these partitions."""

    def fetch_error(self, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Whether this member may be told offsets; None: nobody in particular asks."""

    def delete_error(self) -> ErrorCode:
        """Whether the whole group may be deleted."""

    def delete_offsets_error(self) -> ErrorCode:
        """Whether offsets may be deleted, of topics that `is_subscribed_to` denies."""

    def read_subscriptions(self) -> Steps[None]:
        """Read what members have said of themselves, before `is_subscribed_to` and `expiry_clock`
        are asked."""

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether members consume `topic`. Where that cannot be known, they might."""

    def expiry_clock(self) -> Callable[[CommittedOffset], int] | None:
        """From when an offset's retention counts (KIP-211), in ms since the epoch.

        None: nothing expires now.
        """

    def tombstones(self) -> list[Record]:
        """The records that delete it, apart from its offsets'."""

    def listed(self) -> ListedGroup:
        """As ListGroups shows it."""


def commit_error_without_group(generation_id: int, api_version: int) -> ErrorCode:
    """Whether offsets may be committed to a group that does not exist: only outside of a group."""
    if generation_id < 0:
        return ErrorCode.NONE
    if api_version >= GROUP_ID_NOT_FOUND_FROM:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.ILLEGAL_GENERATION
