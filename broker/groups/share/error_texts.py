"""The texts of errors in answers about share groups, as clients of Kafka know them.

Owns only the texts of the errors that these answers can have. Follows Kafka's `Errors`.
"""

from __future__ import annotations

from collections.abc import Mapping

from protocol.errors import ErrorCode

_TEXTS: Mapping[ErrorCode, str] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing "
    "the request.",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.LEADER_NOT_AVAILABLE: "There is no leader for this topic-partition as we are in the "
    "middle of a leadership election.",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "For requests intended only for the leader, this error "
    "indicates that the broker is not the current leader. For requests intended for any replica, "
    "this error indicates that the broker is not a replica of the topic partition.",
    ErrorCode.REQUEST_TIMED_OUT: "The request timed out.",
    ErrorCode.NETWORK_EXCEPTION: "The server disconnected before a response was received.",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "The coordinator is loading and hence can't process "
    "requests.",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.NOT_COORDINATOR: "This is not the correct coordinator.",
    ErrorCode.INVALID_GROUP_ID: "The group id is invalid.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.UNSUPPORTED_VERSION: "The version of API is not supported.",
    ErrorCode.FENCED_STATE_EPOCH: "The share coordinator rejected the request because the "
    "share-group state epoch did not match.",
    ErrorCode.NON_EMPTY_GROUP: "The group is not empty.",
}


def text_of(error: ErrorCode) -> str:
    """Return the text of an error, or its name if this module has no text for it."""
    return _TEXTS.get(error, error.name)
