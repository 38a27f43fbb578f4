"""The metrics of dead letters of share groups, by group.

They are registered when the writer of dead letters is created, so that a start does not load this
module. Follows the meters of Kafka's `ShareGroupMetrics` (KIP-1191).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from broker.metrics import Metrics, Sample
from broker.share.dead_letters.letter_counts import GroupCounts, LetterCounts

_PREFIX = "kafka_server_sharegroupmetrics_deadletterqueue"
_COUNTS: tuple[tuple[str, str, Callable[[GroupCounts], int]], ...] = (
    ("recordcount", "Records that were written as dead letters", lambda counts: counts.records),
    ("totalproducerequests", "Dead letters in Produce requests", lambda counts: counts.requests),
    ("failedproducerequests", "Dead letters whose Produce failed", lambda counts: counts.failed),
)


def register_letter_metrics(metrics: Metrics, counts: LetterCounts) -> None:
    """Register the counters of the dead letters of each group."""
    for suffix, help_text, read in _COUNTS:
        metrics.counters(f"{_PREFIX}{suffix}", help_text, partial(_by_group, counts, read))


def _by_group(counts: LetterCounts, read: Callable[[GroupCounts], int]) -> Iterator[Sample]:
    """Yield the value of each group."""
    for group_id, group in counts.groups.items():
        yield {"group": group_id}, float(read(group))
