"""`/metrics`, `/live` and `/ready` over HTTP on a port of their own. Off by default.

`/metrics` is Prometheus' text format, the process' own figures with it. `/live` is 200 as long as
the event loop answers: a node that recovers for minutes lives. `/ready` is 200 while clients may
use the node, and else 503 with the reason: it starts, it stops, the controller has fenced it.

The HTTP server is prometheus-client's and has threads of its own; the broker's state belongs to the
event loop, so each scrape asks the loop for the values and waits. They are read one metric after
the other, with all else in between.

Owns the port and its thread. It never changes what it reads.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import TimeoutError as NoAnswer
from typing import TYPE_CHECKING, Any, TypeVar

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import make_wsgi_app, start_http_server
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry

from broker.config.start_error import StartError
from broker.metrics import STARTING, Family, Kind, Metrics
from broker.process.metric_names import STRIMZI, spelled

if TYPE_CHECKING:
    from threading import Thread
    from wsgiref.simple_server import WSGIServer
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

SCRAPE_TIMEOUT_S = 5.0
ACCEPT_PAUSE_S = 0.5
SLICE_S = 0.002
HELD_VALUES = 1000
_OK, _UNAVAILABLE, _NOT_FOUND = "200 OK", "503 Service Unavailable", "404 Not Found"

Accepted = tuple[Any, Any]
WhyNotReady = Callable[[], str | None]
T = TypeVar("T")


class MetricsServer:
    """Serves `metrics`; made on the running event loop that owns them. Raises StartError.

    `why_not_ready()` is asked on the loop; None: clients may use the node.
    `names`: whose dashboards find theirs.
    """

    def __init__(
        self,
        metrics: Metrics,
        host: str,
        port: int,
        why_not_ready: WhyNotReady = lambda: None,
        names: str = STRIMZI,
    ) -> None:
        loop = asyncio.get_running_loop()
        registry = CollectorRegistry()
        registry.register(_LoopCollector(metrics, loop, names))
        ProcessCollector(registry=registry)
        self._server: WSGIServer
        self._thread: Thread
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            raise StartError(
                f"cannot serve metrics on {host}:{port} (ottla.metrics.port): "
                f"{error.strerror or error}{_held_by(error, port)}"
            ) from error
        self._server.set_app(_Paths(make_wsgi_app(registry), loop, why_not_ready))
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


def _held_by(error: OSError, port: int) -> str:
    """Behind what the system says of a port that is taken."""
    if error.errno != errno.EADDRINUSE:
        return ""
    from broker.process.port_holder import holder_of_port  # where it is needed alone

    holder = holder_of_port(port)
    return "" if holder is None else f"; it is held by {holder}"


def _unhurried(accept: Callable[[], Accepted]) -> Callable[[], Accepted]:
    """Without descriptors, a connection that cannot be accepted would be tried in a busy loop."""

    def get_request() -> Accepted:
        try:
            return accept()
        except OSError:
            time.sleep(ACCEPT_PAUSE_S)
            raise

    return get_request


class _Paths:
    """What each path answers."""

    def __init__(
        self,
        metrics: WSGIApplication,
        loop: asyncio.AbstractEventLoop,
        why_not_ready: WhyNotReady,
    ) -> None:
        self._metrics = metrics
        self._loop = loop
        self._why_not_ready = why_not_ready

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """One request, on a thread of the HTTP server."""
        path = environ["PATH_INFO"]
        if path not in ("/", "/metrics", "/live", "/ready"):
            return _say(start_response, _NOT_FOUND, "there are /metrics, /live and /ready")
        try:
            reason = _on_loop(self._loop, self._why_not_ready)
        except NoAnswer:
            text = f"the event loop has not answered for {SCRAPE_TIMEOUT_S:.0f} s"
            return _say(start_response, _UNAVAILABLE, text)
        if path == "/live":
            return _say(start_response, _OK, "live")
        if path == "/ready":
            return _say(start_response, _UNAVAILABLE if reason else _OK, reason or "ready")
        if reason == STARTING:
            return _say(start_response, _UNAVAILABLE, reason)
        return self._metrics(environ, start_response)


def _say(start_response: StartResponse, status: str, text: str) -> list[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{text}\n".encode()]


def _on_loop(loop: asyncio.AbstractEventLoop, read: Callable[[], T]) -> T:
    """What `read` gives on the loop's thread. Raises NoAnswer."""

    async def asked() -> T:
        return read()

    return asyncio.run_coroutine_threadsafe(asked(), loop).result(SCRAPE_TIMEOUT_S)


class _LoopCollector(Collector):
    """Reads on the loop's thread what a scrape on another thread asked for."""

    def __init__(self, metrics: Metrics, loop: asyncio.AbstractEventLoop, names: str) -> None:
        self._metrics = metrics
        self._names = names
        self._loop = loop

    def describe(self) -> Iterator[Metric]:
        """Nothing: registering must not read values before the node is up."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """One scrape."""
        steps = self._metrics.steps()
        while some := self._asked(steps):
            while some:  # what is written is let go of on this thread, not on the loop's
                for family in spelled(some.pop(0), self._names):
                    yield _metric(family)

    def _asked(self, steps: Iterator[Family | None]) -> list[Family]:
        read = asyncio.run_coroutine_threadsafe(_read(steps), self._loop)
        return read.result(SCRAPE_TIMEOUT_S)


async def _read(steps: Iterator[Family | None]) -> list[Family]:
    """The next metrics, with all else of the loop in between: one of ten thousand partitions takes
    tens of milliseconds. Never many values at once, since Python's collector of garbage would look
    through all of them on the loop's thread. Nothing where there are no more."""
    found: list[Family] = []
    values = 0
    began_s = time.perf_counter()
    for family in steps:
        if family is not None:
            found.append(family)
            values += len(family.samples)
            if values >= HELD_VALUES:
                break
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
    metric = HistogramMetricFamily(family.name, family.help)
    for labels, value in family.samples:
        if "le" in labels:
            metric.add_sample(f"{family.name}_bucket", labels, value)
            if labels["le"] == "+Inf":
                others = {label: of for label, of in labels.items() if label != "le"}
                metric.add_sample(f"{family.name}_count", others, value)
        else:
            metric.add_sample(f"{family.name}_sum", labels, value)
    return metric
