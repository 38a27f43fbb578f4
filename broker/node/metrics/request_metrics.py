"""Metrics of requests by API: their number, and the time of each stage, under Kafka's names.

The histograms since the start are Ottla's own, in seconds. Beside them are quantiles of about the
last minute in milliseconds, as in Kafka's MBeans and as both families of dashboards need them. They
are estimates from the histogram's buckets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from broker.metrics import RecentCounts, Sample
from broker.requests.request_times import BOUNDS_S, STAGES, RequestMetrics, Stage, Times
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from broker.metrics import Metrics
    from broker.requests.request_handler import RequestHandler

_NAME = "kafka_network_requestmetrics"
_QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
"""The quantiles of Kafka's MBeans."""
_TEXTS = {
    Stage.REQUEST_QUEUE: "How long requests waited for a handler",
    Stage.LOCAL: "How long handlers of requests ran",
    Stage.REMOTE: "How long requests waited for other brokers, records or the disk",
    Stage.RESPONSE_QUEUE: "How long answers waited until they were sent",
    Stage.RESPONSE_SEND: "How long answers were being sent",
    Stage.THROTTLE: "For how long clients were held back by a quota behind their answers",
    Stage.TOTAL: "How long requests took, from their last byte to that of the answer",
}

_Named = tuple[str, tuple[RequestMetrics, ...]]


def register_request_metrics(
    metrics: Metrics, requests: RequestHandler, now_s: Callable[[], float]
) -> None:
    """Register metrics of a request handler.

    `now_s()` returns the seconds of a clock that never goes back.
    """
    metrics.counters(
        f"{_NAME}_requests",
        "Requests by API",
        partial(_counts, requests, lambda metrics_of_api: metrics_of_api.requests),
    )
    metrics.counters(
        f"{_NAME}_errors",
        "Requests that failed by a fault of ours",
        partial(_counts, requests, lambda metrics_of_api: metrics_of_api.errors),
    )
    for stage in STAGES:
        name, text = f"{_NAME}_{stage.value}", _TEXTS[stage]
        metrics.histogram(f"{name}_seconds", text, partial(_histograms, requests, stage))
        quantiles = _Quantiles(requests, stage, now_s)
        metrics.gauges(f"{name}ms", f"{text}, lately, in milliseconds", quantiles.read)


def _named(requests: RequestHandler) -> Iterator[_Named]:
    """Yield each API; Kafka counts fetches of consumers and followers both apart and together."""
    for key, own in requests.metrics.items():
        name, of_followers = _kafka_name(ApiKey(key)), requests.follower_fetches
        if key != ApiKey.FETCH or of_followers is None:
            yield name, (own,)
            continue
        yield name, (own, of_followers)
        yield f"{name}Consumer", (own,)
        yield f"{name}Follower", (of_followers,)


def _counts(requests: RequestHandler, read: Callable[[RequestMetrics], int]) -> Iterator[Sample]:
    """Yield the sum of a count for each kind of request."""
    for name, counted in _named(requests):
        yield {"request": name}, float(sum(map(read, counted)))


def _times(requests: RequestHandler, stage: Stage) -> Iterator[tuple[str, Times]]:
    """Yield the times of each API that has had a request."""
    for name, counted in _named(requests):
        if any(part.requests for part in counted):
            times = Times()
            for part in counted:
                times.add(part.times(stage))
            yield name, times


def _histograms(requests: RequestHandler, stage: Stage) -> Iterator[Sample]:
    """Yield each request's times in a stage: the counts up to each bound, then the sum, in s."""
    for name, times in _times(requests, stage):
        bounds = (*map(repr, BOUNDS_S), "+Inf")
        for bound, count in zip(bounds, times.up_to(), strict=True):
            yield {"request": name, "le": bound}, float(count)
        yield {"request": name}, times.sum_s


class _Quantiles:
    """The quantiles of a stage, by API."""

    def __init__(self, requests: RequestHandler, stage: Stage, now_s: Callable[[], float]) -> None:
        self._requests = requests
        self._stage = stage
        self._now_s = now_s
        self._recent: dict[str, RecentCounts] = {}

    def read(self) -> Iterator[Sample]:
        """Yield the quantiles of each request's recent times, in ms.

        Each call moves the recent times on.
        """
        for name, times in _times(self._requests, self._stage):
            recent = self._recent.get(name)
            if recent is None:
                recent = self._recent[name] = RecentCounts(BOUNDS_S)
            counts = recent.read(self._now_s(), times.counts)
            for share in _QUANTILES:
                labels = {"request": name, "quantile": repr(share)}
                yield labels, 1000 * recent.quantile(counts, share)


def _kafka_name(key: ApiKey) -> str:
    """Return an API's name in `kafka.network:type=RequestMetrics`, such as OffsetCommit."""
    return key.name.title().replace("_", "")
