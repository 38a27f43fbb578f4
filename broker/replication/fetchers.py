"""What the replica manager asks of those who copy partitions from other brokers: a port.

`broker.replication.replica_fetcher_manager` fills it. Owns nothing.
"""

from __future__ import annotations

from typing import Protocol

from broker.replication.partition import Partition


class Fetchers(Protocol):
    """What copies the partitions that other brokers lead (`ReplicaFetcherManager`)."""

    def follow(self, partition: Partition) -> None:
        """Copy it from the leader that it has now, under the epoch that it has now."""

    def stop(self, partition: Partition) -> None:
        """Copy it no more; nothing to do where it was not."""

    def close_idle(self) -> None:
        """All changes of one image were told."""

    def brokers_changed(self) -> None:
        """Some brokers have other addresses."""

    def log_start_moved(self, partition: Partition) -> None:
        """By retention here, not by its leader: the leader is to hear of it."""
