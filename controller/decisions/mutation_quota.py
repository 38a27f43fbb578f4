"""How many partitions a client may still create, add or delete: `controller_mutation_rate`.

Each topic of a request is asked about right before it would be decided, as the last of all checks;
what was asked about counts, also where the request only validates, as in Kafka.

Owns the words of the refusal. Never measures: who asks brings the quota along (`broker.quotas`).
Follows KIP-599 and Kafka's `ControllerRequestContext`.
"""

from __future__ import annotations

from typing import Protocol

from protocol.errors import ApiError, ErrorCode

QUOTA_EXCEEDED = ApiError(
    ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded."
)


class MutationQuota(Protocol):
    """Of one request's sender."""

    def take_partitions(self, count: int) -> bool:
        """Whether so many may be created or deleted; then they count."""


def quota_fault(quota: MutationQuota | None, partitions: int) -> ApiError | None:
    """Why a topic of a request must not change so many partitions; None: it may."""
    if quota is None or quota.take_partitions(partitions):
        return None
    return QUOTA_EXCEEDED
