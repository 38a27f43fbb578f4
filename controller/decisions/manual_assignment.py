"""Checks of the replicas that a request assigns itself.

Follows Kafka's `ReplicationControlManager.validateManualPartitionAssignment`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.metadata.image import MetadataImage
from protocol.errors import ApiError, ErrorCode


def assignment_fault(
    image: MetadataImage, index: int, replicas: Sequence[int], replication_factor: int | None
) -> ApiError | None:
    """Return the INVALID_REPLICA_ASSIGNMENT error if partition `index` may not have `replicas`;
    None if it may.

    `replication_factor` is that of the earlier partitions, None for the first one.
    """
    text = list_fault(image, replicas, replication_factor)
    if text is None and not any(image.brokers[replica].active for replica in replicas):
        text = (
            f"All brokers specified in the manual partition assignment for partition {index} "
            "are fenced or in controlled shutdown."
        )
    return None if text is None else ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)


def list_fault(
    image: MetadataImage, replicas: Sequence[int], replication_factor: int | None
) -> str | None:
    """Return the error text for a list of replicas, None if it is valid. It is checked like
    `assignment_fault`, but the brokers may all be fenced."""
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    ordered = sorted(replicas)
    for position, replica in enumerate(ordered):
        if replica not in image.brokers:
            return (
                f"The manual partition assignment includes broker {replica}, "
                "but no such broker is registered."
            )
        if position and ordered[position - 1] == replica:
            return f"The manual partition assignment includes the broker {replica} more than once."
    if replication_factor is not None and len(replicas) != replication_factor:
        return (
            f"The manual partition assignment includes a partition with {len(replicas)} "
            "replica(s), but this is not consistent with previous partitions, which have "
            f"{replication_factor} replica(s)."
        )
    return None


def consecutive_fault(assigned: Mapping[int, object]) -> ApiError | None:
    """Return the INVALID_REPLICA_ASSIGNMENT error if the partitions are not numbered 0, 1, 2 …;
    None if they are."""
    if all(index in assigned for index in range(len(assigned))):
        return None
    text = "partitions should be a consecutive 0-based integer sequence"
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
