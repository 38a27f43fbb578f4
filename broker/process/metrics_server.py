"""`/metrics`, `/live` and `/ready` over HTTP on a port of their own. Off by default.

`/metrics` is in Prometheus' text format, and includes metrics of the process. It is 503 until the
node has started. `/live` is 200 as long as the event loop answers, also during a recovery of
minutes. `/ready` is 200 while clients may use the node, else 503 with the reason: it is starting or
stopping, or the controller has fenced it.

The HTTP server is prometheus-client's and has threads of its own. The broker's state belongs to the
event loop, so each scrape asks the loop for the values and waits. The loop reads one metric after
the other, with other work in between.

Owns: the port and its thread. Never: changes what it reads.
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
from broker.process.metric_names import STRIMZI, with_further_names

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
    """The HTTP server of `metrics`, created on the event loop that owns them. Raises StartError if
    the port cannot be bound.

    `why_not_ready` is called on the loop, and returns None if clients may use the node. `names` is
    `ottla.metrics.names`.
    """

    def __init__(
        self,
        metrics: Metrics,
        host: str,
        port: int,
        why_not_ready: WhyNotReady = lambda: None,
        names: str = STRIMZI,
    ) -> None:
        """Bind the port, and serve `/metrics`, `/live` and `/ready` on a thread. Raises StartError
        if the port cannot be bound. Must be called on the event loop.

        `why_not_ready` is called on the loop, and returns None if clients may use the node. `names`
        is `ottla.metrics.names`.
        """
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
                f"{error.strerror or error}{_holder_clause(error, port)}"
            ) from error
        self._server.set_app(_Paths(make_wsgi_app(registry), loop, why_not_ready))
        self._server.get_request = _with_pause(self._server.get_request)  # type: ignore[method-assign]

    @property
    def port(self) -> int:
        """The bound port, which differs from the configured one if that is 0."""
        return int(self._server.server_port)

    def stop(self) -> None:
        """Close the port and end the thread. Must not be called while a scrape waits for the
        loop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _holder_clause(error: OSError, port: int) -> str:
    """Return the end of the error for a port that is in use: the process that holds it. Return ""
    for other errors, or if the process is unknown."""
    if error.errno != errno.EADDRINUSE:
        return ""
    from broker.process.port_holder import holder_of_port  # loaded only for an error

    holder = holder_of_port(port)
    return "" if holder is None else f"; it is held by {holder}"


def _with_pause(accept: Callable[[], Accepted]) -> Callable[[], Accepted]:
    """Return `accept` with a pause after an error, because a lack of descriptors would otherwise
    cause a busy loop."""

    def get_request() -> Accepted:
        """Accept a connection; after an error, block for a pause, and raise it."""
        try:
            return accept()
        except OSError:
            time.sleep(ACCEPT_PAUSE_S)
            raise

    return get_request


class _Paths:
    """The WSGI application that answers all paths."""

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
        """Answer `/metrics`, `/live` or `/ready`, on a thread of the HTTP server. Other paths get
        404; all get 503 if the event loop is too late."""
        path = environ["PATH_INFO"]
        if path not in ("/", "/metrics", "/live", "/ready"):
            return _text_response(
                start_response, _NOT_FOUND, "there are /metrics, /live and /ready"
            )
        try:
            reason = _on_loop(self._loop, self._why_not_ready)
        except NoAnswer:
            text = f"the event loop has not answered for {SCRAPE_TIMEOUT_S:.0f} s"
            return _text_response(start_response, _UNAVAILABLE, text)
        if path == "/live":
            return _text_response(start_response, _OK, "live")
        if path == "/ready":
            return _text_response(
                start_response, _UNAVAILABLE if reason else _OK, reason or "ready"
            )
        if reason == STARTING:
            return _text_response(start_response, _UNAVAILABLE, reason)
        return self._metrics(environ, start_response)


def _text_response(start_response: StartResponse, status: str, text: str) -> list[bytes]:
    """Begin a plain-text response, and return its body."""
    start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{text}\n".encode()]


def _on_loop(loop: asyncio.AbstractEventLoop, read: Callable[[], T]) -> T:
    """Call `read` on the loop's thread and return its result. Raises NoAnswer after
    SCRAPE_TIMEOUT_S."""

    async def read_on_loop() -> T:
        return read()

    return asyncio.run_coroutine_threadsafe(read_on_loop(), loop).result(SCRAPE_TIMEOUT_S)


class _LoopCollector(Collector):
    """A collector of prometheus-client that reads the metrics on the loop's thread."""

    def __init__(self, metrics: Metrics, loop: asyncio.AbstractEventLoop, names: str) -> None:
        self._metrics = metrics
        self._names = names
        self._loop = loop

    def describe(self) -> Iterator[Metric]:
        """Return no metrics: registering must not read values before the node has started."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the node's metrics, also under their further names. The loop reads them bit by bit.
        Raises TimeoutError if it is late."""
        steps = self._metrics.steps()
        while families := self._read_next(steps):
            while families:  # popped, so that this thread frees their values, not the loop's
                for family in with_further_names(families.pop(0), self._names):
                    yield _metric_of(family)

    def _read_next(self, steps: Iterator[Family | None]) -> list[Family]:
        """Return the next families. Blocks until the loop made them. Raises TimeoutError if it is
        late.
        """
        read = asyncio.run_coroutine_threadsafe(_read(steps), self._loop)
        return read.result(SCRAPE_TIMEOUT_S)


async def _read(steps: Iterator[Family | None]) -> list[Family]:
    """Return the next metrics, none if there are no more.

    The loop does other work in between, because a metric of ten thousand partitions takes tens of
    milliseconds. At most some HELD_VALUES values are returned, because Python's garbage collector
    traverses all held values on the loop's thread."""
    families: list[Family] = []
    values = 0
    began_s = time.perf_counter()
    for family in steps:
        if family is not None:
            families.append(family)
            values += len(family.samples)
            if values >= HELD_VALUES:
                break
        if time.perf_counter() - began_s >= SLICE_S:
            await asyncio.sleep(0)
            began_s = time.perf_counter()
    return families


def _metric_of(family: Family) -> Metric:
    """Return the family in the classes of prometheus-client."""
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
    """Return a histogram. Samples with `le` are its buckets, and that of `+Inf` is also its count;
    the other sample is its sum."""
    metric = HistogramMetricFamily(family.name, family.help)
    for labels, value in family.samples:
        if "le" in labels:
            metric.add_sample(f"{family.name}_bucket", labels, value)
            if labels["le"] == "+Inf":
                others = {label: text for label, text in labels.items() if label != "le"}
                metric.add_sample(f"{family.name}_count", others, value)
        else:
            metric.add_sample(f"{family.name}_sum", labels, value)
    return metric
