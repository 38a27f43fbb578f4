"""The configs of a share group that decide how its records are delivered."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple


class DeliverySettings(NamedTuple):
    """The group's configs, or those of the broker where the group has none."""

    lock_duration_ms: int = 30_000
    """The time until an acquired record is available again: `share.record.lock.duration.ms`."""
    delivery_limit: int = 5
    """The most deliveries of a record: `share.delivery.count.limit`."""
    max_locks: int = 2_000
    """The length of the window that a leader fills: `share.partition.max.record.locks`."""
    may_renew: bool = True
    """True if members may renew locks: `share.renew.acknowledge.enable`."""
    has_dead_letters: bool = False
    """True if the group has a dead-letter topic and the cluster's `share.version` is 2."""

    @property
    def throttled_from(self) -> int:
        """The number of deliveries from which on a batch is delivered in ever smaller parts, to
        find the record that no member can process."""
        return max(2, ceil(self.delivery_limit / 2))
