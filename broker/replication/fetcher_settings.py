"""The settings that all fetchers of a broker share: `replica.fetch.*` configs and callbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker.replication.partition import Partition
from broker.requests.tracer import Tracer


@dataclass(frozen=True, slots=True)
class FetcherSettings:
    """The configs of the fetchers, under Kafka's names, this broker's identity, and callbacks."""

    node_id: int
    replica_fetch_max_bytes: int
    replica_fetch_min_bytes: int
    replica_fetch_response_max_bytes: int
    replica_fetch_wait_max_ms: int
    replica_fetch_backoff_ms: int
    replica_socket_timeout_ms: int
    broker_epoch: Callable[[], int]
    is_throttled: Callable[[Partition], bool]
    """Returns whether a lagging partition must wait for the follower's replication quota."""
    count_bytes: Callable[[Partition, int], None]
    """Runs for every part of a response with records, for metrics and the quota."""
    refused_by: Callable[[int, str], None]
    """Runs with a leader's id and a request's name if that leader denies it to this broker."""
    truncated: Callable[[], None]
    """Runs after a truncation: recovery points on disk must soon be below the log's end."""
    tracer: Tracer | None = None
    """Records each append; None if there is no tracing."""
