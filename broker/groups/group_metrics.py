"""What a node's group coordinator counts.

Owns plain integers, to which who decides adds; rates are made by who reads them. A decision counts,
whether its records are committed or not. How many groups there are of which state is not counted
here: whoever asks is told by the groups (`GroupCoordinator.group_counts`). Follows Kafka's
`GroupCoordinatorMetricsShard`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class GroupMetrics:
    """Counts since the start, of all groups of a node."""

    offset_commits: int = 0
    """Offsets of partitions that were committed, those of transactions too."""
    offset_deletions: int = 0
    """Offsets that OffsetDelete took away."""
    offset_expirations: int = 0
    completed_rebalances: int = 0
    """Of classic groups: how often a leader brought the assignments of a generation."""
    consumer_rebalances: int = 0
    """Of consumer groups: how often one got its next epoch by a heartbeat, or as an expression gave
    other topics. Not when members went, as in Kafka."""

    def committed(self, offsets: int) -> None:
        """So many partitions' offsets are committed."""
        self.offset_commits += offsets

    def deleted(self, offsets: int) -> None:
        """So many offsets are deleted by a request."""
        self.offset_deletions += offsets

    def expired(self) -> None:
        """An offset was kept long enough."""
        self.offset_expirations += 1

    def rebalance_completed(self) -> None:
        """The leader of a classic group has assigned."""
        self.completed_rebalances += 1

    def rebalance_began(self) -> None:
        """A consumer group has to be assigned anew."""
        self.consumer_rebalances += 1
