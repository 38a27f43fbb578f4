"""A port of the replica manager: the fetchers that copy partitions from other brokers.

`broker.replication.replica_fetcher_manager` implements it. Owns nothing.
"""

from __future__ import annotations

from typing import Protocol

from broker.replication.partition import Partition


class Fetchers(Protocol):
    """The fetchers of the partitions that other brokers lead (`ReplicaFetcherManager`)."""

    def follow(self, partition: Partition) -> None:
        """Copy `partition` from its current leader, under its current leader epoch."""

    def stop(self, partition: Partition) -> None:
        """Stop copying `partition`; do nothing if it is not copied."""

    def close_idle(self) -> None:
        """Close the fetchers without partitions, after all changes of an image are applied."""

    def brokers_changed(self) -> None:
        """Reconnect to leaders that have a new address, and copy the partitions of leaders that had
        none."""

    def log_start_moved(self, partition: Partition) -> None:
        """Report to the leader, in the next fetch, a log start that retention on this broker has
        moved."""
