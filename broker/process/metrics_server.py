"""`/metrics` over HTTP on a port of its own, in Prometheus' text format. Off by default.

The HTTP server is prometheus-client's and has threads of its own; the broker's state belongs to the
event loop, so each scrape asks the loop for the values and waits. They are read one metric after
the other, with all else in between.

Owns the port and its thread. It never changes what it reads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import start_http_server
from prometheus_client.registry import Collector, CollectorRegistry

from broker.config.start_error import StartError
from broker.metrics import Family, Kind, Metrics

if TYPE_CHECKING:
    from threading import Thread
    from wsgiref.simple_server import WSGIServer

SCRAPE_TIMEOUT_S = 5.0
ACCEPT_PAUSE_S = 0.5
SLICE_S = 0.002

Accepted = tuple[Any, Any]


class MetricsServer:
    """Serves `metrics`; made on the running event loop that owns them. Raises StartError."""

    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        registry = CollectorRegistry()
        registry.register(_LoopCollector(metrics, asyncio.get_running_loop()))
        self._server: WSGIServer
        self._thread: Thread
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            raise StartError(
                f"cannot serve metrics on {host}:{port} (ottla.metrics.port): "
                f"{error.strerror or error}"
            ) from error
        self._server.get_request = _unhurried(self._server.get_request)  # type: ignore[method-assign]

    @property
    def port(self) -> int:
        """The port that was bound, which differs from the configured one where that is 0."""
        return int(self._server.server_port)

    def stop(self) -> None:
        """Close the port and end the thread. Must not be called while a scrape waits for it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _unhurried(accept: Callable[[], Accepted]) -> Callable[[], Accepted]:
    """Without descriptors, a connection that cannot be accepted would be tried in a busy loop."""

    def get_request() -> Accepted:
        try:
            return accept()
        except OSError:
            time.sleep(ACCEPT_PAUSE_S)
            raise

    return get_request


class _LoopCollector(Collector):
    """Reads on the loop's thread what a scrape on another thread asked for."""

    def __init__(self, metrics: Metrics, loop: asyncio.AbstractEventLoop) -> None:
        self._metrics = metrics
        self._loop = loop

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not read values before the node is up."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """One scrape."""
        families = asyncio.run_coroutine_threadsafe(self._read(), self._loop)
        for family in families.result(SCRAPE_TIMEOUT_S):
            yield _metric(family)

    async def _read(self) -> list[Family]:
        """All that there is, with all else of the loop in between: a metric of ten thousand
        partitions takes milliseconds."""
        found: list[Family] = []
        began_s = time.perf_counter()
        for family in self._metrics.families():
            found.append(family)
            if time.perf_counter() - began_s >= SLICE_S:
                await asyncio.sleep(0)
                began_s = time.perf_counter()
        return found


def _metric(family: Family) -> Metric:
    if family.kind is Kind.HISTOGRAM:
        return _histogram(family)
    metric: Metric
    if family.kind is Kind.COUNTER:
        metric = CounterMetricFamily(family.name, family.help)
        name = f"{family.name}_total"
    else:
        metric = GaugeMetricFamily(family.name, family.help)
        name = family.name
    for labels, value in family.samples:
        metric.add_sample(name, labels, value)
    return metric


def _histogram(family: Family) -> Metric:
    *buckets, (_, sum_of) = family.samples
    up_to = [(labels["le"], count) for labels, count in buckets]
    return HistogramMetricFamily(family.name, family.help, up_to, sum_of)
