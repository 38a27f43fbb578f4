"""The validation of a ConsumerGroupHeartbeat before its group is known.

Owns the checks that need no group, and never reads a group. Follows KIP-848, and Kafka's
`GroupCoordinatorService.throwIfConsumerGroupHeartbeatRequestIsInvalid`, in its order.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.groups.reconciliation.position import (
    JOIN_EPOCH,
    LEAVE_GROUP_EPOCH,
    STATIC_LEAVE_EPOCH,
)
from protocol.errors import ApiError, ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

MEMBER_ID_REQUIRED_FROM = 1
"""The version from which on the client generates its member id (KIP-1082)."""
TOPICS_MAX = 10_000
"""The limit for a member's subscribed names, because a changed subscription is decided in one go.
"""


def heartbeat_fault(
    request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: Sequence[str]
) -> ApiError | None:
    """Return the error of an invalid request, INVALID_REQUEST or UNSUPPORTED_ASSIGNOR, or None.
    `assignors`: the configured names."""
    fault = _name_fault(request, api_version) or _length_fault(request) or _epoch_fault(request)
    if fault is not None:
        return fault
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return ApiError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )
    return None


def is_blank(text: str) -> bool:
    """Return whether a text has nothing but spaces and control characters, as Java trims them."""
    return all(character <= " " for character in text)


def _name_fault(request: ConsumerGroupHeartbeatRequest, api_version: int) -> ApiError | None:
    """Return the error if an id of the request is blank, or None."""
    joins = request.member_epoch == JOIN_EPOCH
    if is_blank(request.member_id) and (api_version >= MEMBER_ID_REQUIRED_FROM or not joins):
        return _invalid("MemberId can't be empty.")
    if is_blank(request.group_id):
        return _invalid("GroupId can't be empty.")
    if request.instance_id is not None and is_blank(request.instance_id):
        return _invalid("InstanceId can't be empty.")
    if request.rack_id is not None and is_blank(request.rack_id):
        return _invalid("RackId can't be empty.")
    return None


def _length_fault(request: ConsumerGroupHeartbeatRequest) -> ApiError | None:
    """Return the error if the request names more than TOPICS_MAX topics, or None."""
    count = len(request.subscribed_topic_names or ())
    if count <= TOPICS_MAX:
        return None
    return _invalid(
        f"SubscribedTopicNames has {count} names, more than {TOPICS_MAX}; "
        "subscribe by an expression instead."
    )


def _epoch_fault(request: ConsumerGroupHeartbeatRequest) -> ApiError | None:
    """Return the error of an invalid member epoch, or of a join that lacks a field, or None."""
    if request.member_epoch == JOIN_EPOCH:
        return _join_fault(request)
    if request.member_epoch == STATIC_LEAVE_EPOCH:
        return _invalid("InstanceId can't be null.") if request.instance_id is None else None
    if request.member_epoch < LEAVE_GROUP_EPOCH:
        return _invalid("MemberEpoch is invalid.")
    return None


def _join_fault(request: ConsumerGroupHeartbeatRequest) -> ApiError | None:
    """Return the error of a join that lacks a field or already owns partitions, or None."""
    if request.rebalance_timeout_ms == -1:
        return _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        return _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        return _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null.")
    return None


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)
