from __future__ import annotations

from broker.requests.context import RequestMetrics


def test_requests_and_bugs_are_counted_apart() -> None:
    metrics = RequestMetrics()
    for count in (metrics.begun, metrics.begun, metrics.failed):
        count()
    assert (metrics.requests, metrics.errors) == (2, 1)
