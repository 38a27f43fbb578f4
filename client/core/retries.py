"""The errors after which a client retries, and the pauses between tries: one table for all clients.

Follows the retriable errors of Kafka's `Errors`, grouped by what they mean for the client.
"""

from __future__ import annotations

from protocol.errors import ErrorCode

PAUSE_S = 0.05
"""The pause between two tries of a command."""
LEADERS_WITHIN_S = 10.0
"""The wait for the leader of a partition that has none: an election takes less."""

COORDINATOR = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
"""Errors after which to look the coordinator up again: it does not exist yet, loads, or moved."""

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
"""Errors after which to look the leader up again: it moved, or does not know yet that it leads."""

NOT_WRITTEN = (*LEADER, ErrorCode.NOT_ENOUGH_REPLICAS)
"""Errors of a batch that the leader has not appended."""

MAYBE_DONE = (
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
)
"""Errors of a request that may have been carried out, or may still be.

Only requests that do no harm if carried out twice are retried, such as an idempotent producer's
batch.
"""

ANY = (
    *NOT_WRITTEN,
    *MAYBE_DONE,
    *COORDINATOR,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
)
"""The errors after which client libraries retry."""
