"""The counts of share groups at a partition leader, and their registration as metrics.

Owns the counts since the start, by group and share-partition, which are dropped with the last
share-partition of a group. Never decides. Follows Kafka's `ShareGroupMetrics`,
`SharePartitionMetrics`, `ShareSessionCache` and `DelayedShareFetch`. Kafka's times and ratios of
the fetch lock are missing: one loop serves all fetches, so no fetch waits for such a lock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from broker.metrics import Sample
from broker.share.delivery.share_partition import AcknowledgedBatch
from broker.share.record_state import AcknowledgeType
from broker.share.state.share_log import SharePartitionKey

MS_BOUNDS = (1, 5, 10, 50, 100, 500, 1_000, 5_000, 30_000)
PERCENT_BOUNDS = (0, 25, 50, 75, 99, 100)


class Distribution:
    """The number of values in each bucket, and their sum."""

    __slots__ = ("_bounds", "_counts", "_sum")

    def __init__(self, bounds: Sequence[int]) -> None:
        """Create an empty distribution; `bounds` are the buckets' upper bounds."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def note(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def samples(self, labels: dict[str, str]) -> Iterator[Sample]:
        """Yield the samples of a histogram (`broker.metrics.Kind.HISTOGRAM`)."""
        total = 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            yield {**labels, "le": bound}, float(total)
        yield labels, self._sum


class ShareGroupMetrics:
    """The counts of a broker's share groups."""

    def __init__(self) -> None:
        """Create counts of zero."""
        self.acknowledged = dict.fromkeys(AcknowledgeType, 0)
        """The acknowledged records by type."""
        self.load_ms = Distribution(MS_BOUNDS)
        """The times of loads of share-partitions."""
        self.fetched_percent: dict[str, Distribution] = {}
        """By group, the partitions that a fetch could acquire from, per cent of the requested."""
        self.acquire_ms: dict[str, Distribution] = {}
        """By group, the time of a fetch until it could acquire."""
        self.expired_locks: dict[SharePartitionKey, int] = {}
        """The records whose lock expired, by share-partition."""
        self.evicted_sessions = 0
        """The sessions that ended with their connection."""
        self.expired_fetches = 0
        """The fetches that waited until their time was over."""

    def records_acknowledged(self, batches: Sequence[AcknowledgedBatch]) -> None:
        """Count the records of acknowledgements that were written."""
        for batch in batches:
            if len(batch.types) == 1:
                self.acknowledged[batch.types[0]] += batch.last - batch.first + 1
                continue
            for kind in batch.types:
                self.acknowledged[kind] += 1

    def loaded(self, elapsed_ms: float) -> None:
        """Count a load of a share-partition, also one that failed."""
        self.load_ms.note(elapsed_ms)

    def fetched(self, group_id: str, requested: int, acquirable: int, elapsed_ms: float) -> None:
        """Count a fetch that is complete: of how many of its partitions it could acquire."""
        percent = 100 * acquirable // requested if requested else 0
        self.fetched_percent.setdefault(group_id, Distribution(PERCENT_BOUNDS)).note(percent)
        self.acquire_ms.setdefault(group_id, Distribution(MS_BOUNDS)).note(elapsed_ms)

    def locks_expired(self, key: SharePartitionKey, records: int) -> None:
        """Count records whose lock expired."""
        self.expired_locks[key] = self.expired_locks.get(key, 0) + records

    def session_evicted(self) -> None:
        """Count a session that ended with its connection."""
        self.evicted_sessions += 1

    def fetch_expired(self) -> None:
        """Count a fetch whose time is over."""
        self.expired_fetches += 1

    def forget_group(self, group_id: str) -> None:
        """Drop the counts of a group that has no member here any more."""
        self.fetched_percent.pop(group_id, None)
        self.acquire_ms.pop(group_id, None)
        for key in [key for key in self.expired_locks if key.group_id == group_id]:
            del self.expired_locks[key]
