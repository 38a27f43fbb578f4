"""The quota on partitions that a client may create, add or delete: `controller_mutation_rate`.

Each topic of a request takes from the quota after all other checks, right before its decision. A
request counts even if it only validates, as in Kafka.

Owns the error. Never measures rates: the caller passes the quota (`broker.quotas`).
Follows KIP-599 and Kafka's `ControllerRequestContext`.
"""

from __future__ import annotations

from typing import Protocol

from protocol.errors import ApiError, ErrorCode

QUOTA_EXCEEDED = ApiError(
    ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded."
)


class MutationQuota(Protocol):
    """The quota of the client that sent a request."""

    def take_partitions(self, count: int) -> bool:
        """Return whether the quota allows that `count` partitions are created or deleted; if so,
        count them."""


def quota_fault(quota: MutationQuota | None, partitions: int) -> ApiError | None:
    """Take so many partitions from the quota. Return QUOTA_EXCEEDED if it does not have them; None
    if it does, or there is no quota."""
    if quota is None or quota.take_partitions(partitions):
        return None
    return QUOTA_EXCEEDED
