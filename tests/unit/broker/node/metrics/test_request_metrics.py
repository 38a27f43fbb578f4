"""A node's requests in its metrics: by API, by stage, and as dashboards ask for them."""

from __future__ import annotations

from typing import Any

from broker.metrics import Metrics
from broker.node.metrics.request_metrics import register_request_metrics
from broker.requests.context import Api
from broker.requests.request_handler import RequestHandler
from broker.requests.request_times import BOUNDS_S, RequestMetrics
from protocol.api_keys import ApiKey

NAME = "kafka_network_requestmetrics"


class Handler(RequestHandler):
    """Two APIs, and a clock."""

    def __init__(self) -> None:
        super().__init__(Api(key, 0, 1, _never) for key in (ApiKey.FETCH, ApiKey.OFFSET_COMMIT))
        self.shown = Metrics()
        self.now_s = 100.0
        register_request_metrics(self.shown, self, lambda: self.now_s)

    @property
    def of_followers(self) -> RequestMetrics:
        found = self.follower_fetches
        assert found is not None
        return found

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """By the values of the labels."""
        (found,) = [one for one in self.shown.families() if one.name == f"{NAME}_{name}"]
        return {tuple(labels.values()): value for labels, value in found.samples}


def _never(*_: Any) -> None:
    raise AssertionError


def test_fetches_count_together_and_apart() -> None:
    handler = Handler()
    handler.metrics[ApiKey.FETCH].begun()
    for _ in range(2):
        handler.of_followers.begun()
    assert handler.values("requests") == {
        ("Fetch",): 3,
        ("FetchConsumer",): 1,
        ("FetchFollower",): 2,
        ("OffsetCommit",): 0,
    }


def test_a_histogram_has_its_buckets_and_its_sum_for_each_api() -> None:
    handler = Handler()
    handler.metrics[ApiKey.OFFSET_COMMIT].begun()
    handler.metrics[ApiKey.OFFSET_COMMIT].at_once(0.25, 0.3)
    found = handler.values("localtime_seconds")
    assert len(found) == len(BOUNDS_S) + 2
    assert found[("OffsetCommit", "0.1")] == 0
    assert found[("OffsetCommit", "0.25")] == found[("OffsetCommit", "+Inf")] == 1
    assert found[("OffsetCommit",)] == 0.25
    assert handler.values("requestqueuetime_seconds")[("OffsetCommit", "0.0")] == 1


def test_quantiles_are_of_the_last_minute_and_in_milliseconds() -> None:
    handler = Handler()
    commits = handler.metrics[ApiKey.OFFSET_COMMIT]
    commits.begun()
    for _ in range(99):
        commits.at_once(0.0, 0.04)
    commits.at_once(0.0, 20.0)
    found = handler.values("totaltimems")
    assert 25 < found[("OffsetCommit", "0.5")] < found[("OffsetCommit", "0.95")] <= 50
    assert 5_000 <= found[("OffsetCommit", "0.999")] <= 30_000
    assert set(handler.values("throttletimems").values()) == {0.0}
    handler.now_s += 61
    commits.at_once(0.0, 0.004)
    found = handler.values("totaltimems")
    assert 2.5 <= found[("OffsetCommit", "0.999")] <= 5
    assert ("Fetch", "0.5") not in found
