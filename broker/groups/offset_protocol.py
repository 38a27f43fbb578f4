"""Who may commit, read and delete a group's offsets, and when offsets grow old.

Owns the checks of a request against the group's state, generation and members, and Kafka's rules
of expiry (KIP-211). The offsets themselves are in `offset_store`. Follows `ClassicGroup` and
`OffsetMetadataManager` of Kafka.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.groups.classic_group import ClassicGroup
from broker.groups.classic_group_state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    STABLE,
)
from broker.groups.committed_offset import CommittedOffset
from protocol.errors import ErrorCode

GROUP_ID_NOT_FOUND_FROM = 9
"""OffsetCommit from this version on says GROUP_ID_NOT_FOUND, earlier ILLEGAL_GENERATION."""


def commit_error_without_group(generation_id: int, api_version: int) -> ErrorCode:
    """Whether offsets may be committed to a group that does not exist: only outside of a group."""
    if generation_id < 0:
        return ErrorCode.NONE
    if api_version >= GROUP_ID_NOT_FOUND_FROM:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.ILLEGAL_GENERATION


def commit_error(
    group: ClassicGroup,
    member_id: str,
    instance_id: str | None,
    generation_id: int,
    *,
    is_transactional: bool = False,
) -> ErrorCode:
    """Whether this member, in this generation, may commit offsets.

    Generation −1 and no member id is an administrator or a consumer outside of group management:
    accepted while the group is empty (transactional commits of old clients always).
    """
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if generation_id < 0 and group.state is EMPTY:
        return ErrorCode.NONE
    if generation_id >= 0 or member_id or instance_id is not None:
        error = group.validate_member(member_id, instance_id)
        if error is not ErrorCode.NONE:
            return error
        if generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
    elif not is_transactional:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.state is COMPLETING_REBALANCE and not is_transactional:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def delete_offsets_error(group: ClassicGroup) -> ErrorCode:
    """Whether offsets may be deleted: of a group with members only topic by topic, if consumers."""
    if group.state is DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not EMPTY and not group.uses_consumer_protocol:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE


def delete_group_error(group: ClassicGroup) -> ErrorCode:
    """Whether the whole group may be deleted."""
    if group.state is DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NONE if group.state is EMPTY else ErrorCode.NON_EMPTY_GROUP


def expiry_clock(group: ClassicGroup) -> Callable[[CommittedOffset], int] | None:
    """From when an offset's retention counts (ms since the epoch); None: nothing expires now.

    * no member ever (simple consumer): since the offset's commit
    * Empty: since the group became so; since the commit where the record does not say when
    * Stable consumers: since the commit, for topics nobody is subscribed to
    """
    if group.is_simple:
        return _committed_at
    if group.state is EMPTY:
        since = group.state_timestamp_ms
        return _committed_at if since == -1 else lambda committed: since
    knows_topics = group.uses_consumer_protocol and group.subscribed_topics is not None
    return _committed_at if group.state is STABLE and knows_topics else None


def _committed_at(committed: CommittedOffset) -> int:
    return committed.commit_timestamp_ms
