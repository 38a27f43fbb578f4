"""The counters of a node's group coordinator.

Owns plain integers: the code that decides adds to them, and their readers compute rates. A decision
counts even if its records are never committed. The number of groups in each state is not counted
here, but from the groups themselves (`GroupCoordinator.group_counts`). Follows Kafka's
`GroupCoordinatorMetricsShard`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class GroupMetrics:
    """The counts for all groups of a node since its start."""

    offset_commits: int = 0
    """The committed offsets of partitions, including those in transactions."""
    offset_deletions: int = 0
    """The offsets that OffsetDelete removed."""
    offset_expirations: int = 0
    completed_rebalances: int = 0
    """The generations of classic groups whose leader sent the assignments."""
    consumer_rebalances: int = 0
    """The new epochs of consumer groups, because of a heartbeat or because a regular expression
    matched other topics. As in Kafka, epochs because of members that left do not count."""
    share_rebalances: int = 0
    """The new epochs of share groups, also without those because of members that left."""

    def committed(self, offsets: int) -> None:
        """Add the number of committed offsets to `offset_commits`."""
        self.offset_commits += offsets

    def deleted(self, offsets: int) -> None:
        """Add the number of offsets that a request deletes to `offset_deletions`."""
        self.offset_deletions += offsets

    def expired(self) -> None:
        """Count an offset whose retention has ended in `offset_expirations`."""
        self.offset_expirations += 1

    def rebalance_completed(self) -> None:
        """Count a classic group's generation, whose leader sent the assignments, in
        `completed_rebalances`."""
        self.completed_rebalances += 1

    def rebalance_began(self) -> None:
        """Count a new epoch of a consumer group in `consumer_rebalances`."""
        self.consumer_rebalances += 1

    def share_rebalance_began(self) -> None:
        """Count a new epoch of a share group in `share_rebalances`."""
        self.share_rebalances += 1
