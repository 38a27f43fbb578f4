"""The regular look for followers that have fallen behind: they leave the ISR.

Owns its timer: twice in `replica.lag.time.max.ms`, so that a follower which lags is proposed to
leave within one and a half times that. Only leaders with followers are looked into, and of those
only replicas that miss something. Never decides who is late; the partition does.

Follows Kafka's `isr-expiration` task of `ReplicaManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from broker.replication.partition import Partition
from storage.ports import Scheduler, Timer


class IsrExpiration:
    """One broker's look at all its partitions."""

    def __init__(
        self,
        scheduler: Scheduler,
        lag_max_ms: float,
        partitions: Callable[[], Iterable[Partition]],
    ) -> None:
        self._scheduler = scheduler
        self._interval_ms = lag_max_ms / 2
        self._partitions = partitions
        self._timer: Timer | None = None

    def start(self) -> None:
        """Look for the first time half a lag from now."""
        self._timer = self._scheduler.call_later(self._interval_ms, self._look)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self.start()
        for partition in self._partitions():
            if partition.followers is not None:
                partition.shrink_isr()
