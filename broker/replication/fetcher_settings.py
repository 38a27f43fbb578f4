"""What every fetcher of a broker is told: Kafka's `replica.fetch.*` configs, and who fetches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker.replication.partition import Partition
from broker.requests.tracer import Tracer


@dataclass(frozen=True, slots=True)
class FetcherSettings:
    """Configs of the fetchers, under Kafka's names, and who fetches."""

    node_id: int
    replica_fetch_max_bytes: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_fetch_backoff_ms: int
    replica_socket_timeout_ms: int
    broker_epoch: Callable[[], int]
    is_throttled: Callable[[Partition], bool]
    """Whether a partition that lags must wait for the follower's replication quota."""
    count_bytes: Callable[[Partition, int], None]
    """Told of every part of a response with records: for metrics and the quota."""
    refused_by: Callable[[int, str], None]
    """Told of each leader, by its id, that does not let this broker fetch."""
    truncated: Callable[[], None]
    """Told after a log was cut: recovery points on disk must not lie beyond it for long."""
    tracer: Tracer | None = None
    """Told of each append; None: nobody asks."""
