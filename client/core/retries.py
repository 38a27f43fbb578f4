"""Which errors pass by themselves, and when to ask again: the one table of all clients.

Follows the retriable errors of Kafka's `Errors`, by what they mean for who asked.
"""

from __future__ import annotations

from protocol.errors import ErrorCode

PAUSE_S = 0.05
"""Between two tries of a command."""
LEADERS_WITHIN_S = 10.0
"""How long a partition without a leader is waited for: an election takes less."""

COORDINATOR = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
"""The coordinator is not there yet, or loads, or is another broker."""

LEADER = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
"""The leader is another broker, or does not know yet that it leads."""

NOT_WRITTEN = (*LEADER, ErrorCode.NOT_ENOUGH_REPLICAS)
"""A batch is not in the log."""

MAYBE_DONE = (
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
)
"""What was asked for may have been done, or be done yet: so only what may be done twice is asked
for again, such as a batch of an idempotent producer."""

ANY = (
    *NOT_WRITTEN,
    *MAYBE_DONE,
    *COORDINATOR,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
)
"""The errors after which client libraries retry."""
