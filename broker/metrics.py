"""The metrics of a node, under the names that Kafka's MBeans have in Prometheus.

Counters are plain integers on small objects, so that the hot path pays an addition. Gauges are read
from their owners only for a scrape: an owner registers a function. `families()` returns all values;
`broker.process.metrics_server` serves them.

There may be ten thousand values of partitions. They are read in slices (`steps()`), between which
the loop does other work, so their owners' functions must allow partitions to change meanwhile.

Owns: the counters of topics, and the registered functions. Never: runs by itself, or knows
Prometheus' format. The counters of a topic are removed when it is deleted, so the size follows the
topics of the node.

Names: `kafka.server:type=BrokerTopicMetrics,name=MessagesInPerSec,topic=t` is
`kafka_server_brokertopicmetrics_messagesin_total{topic="t"}`, as the exporter configurations in
common use write it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import Any, TypeVar

Labels = dict[str, str]
Sample = tuple[Labels, float]
Read = Callable[[], Iterable[Sample]]
T = TypeVar("T")
Things = Callable[[], Iterable[tuple[Labels, T]]]
OfEach = tuple[str, str, Callable[[T], "float | None"]]
"""The name, the help text, and the function that returns a thing's value, None if it has none."""

SAMPLES_A_SLICE = 200
"""The values that are read before the loop may do other work: some 0.3 ms."""


class Kind(Enum):
    """The kinds of metrics."""

    GAUGE = auto()
    COUNTER = auto()
    HISTOGRAM = auto()
    """A histogram. For each bucket, by the label `le`, its samples have the count of values up to
    that bound, `+Inf` last; then, without that label, the sum of all values. The same for each
    combination of further labels."""


@dataclass(frozen=True, slots=True)
class Family:
    """A metric with all its samples. `name` is without the suffix `_total` of a counter."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


@dataclass(slots=True)
class TopicMetrics:
    """The counts of one topic on this node, since the start."""

    messages_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    bytes_rejected: int = 0
    total_produce_requests: int = 0
    total_fetch_requests: int = 0
    failed_produce_requests: int = 0
    failed_fetch_requests: int = 0
    total_share_fetch_requests: int = 0
    failed_share_fetch_requests: int = 0
    total_share_acknowledgement_requests: int = 0
    failed_share_acknowledgement_requests: int = 0

    def produced(self, records: int, size: int) -> None:
        """Count an append of `records`, `size` bytes of batches, by a producer to a partition."""
        self.total_produce_requests += 1
        self.messages_in += records
        self.bytes_in += size

    def fetched(self, size: int = 0, failed: bool = False) -> None:
        """Count a read of a partition: by a consumer, which got `size` bytes, or by a follower,
        with 0 bytes."""
        self.total_fetch_requests += 1
        self.failed_fetch_requests += failed
        self.bytes_out += size

    def share_fetched(self, failed: bool) -> None:
        """Count a ShareFetch for partitions of the topic; `failed` if one had an error."""
        self.total_share_fetch_requests += 1
        self.failed_share_fetch_requests += failed

    def share_sent(self, size: int) -> None:
        """Count bytes of records that a ShareFetch got."""
        self.bytes_out += size

    def share_acknowledged(self, failed: bool) -> None:
        """Count a request with acknowledgements for the topic; `failed` if a partition's failed."""
        self.total_share_acknowledgement_requests += 1
        self.failed_share_acknowledgement_requests += failed

    def produce_failed(self, size: int) -> None:
        """Count an append of `size` bytes that a partition rejected."""
        self.total_produce_requests += 1
        self.failed_produce_requests += 1
        self.bytes_rejected += size


_TOPIC_COUNTERS = (
    ("messages_in", "messagesin", "Records appended by producers"),
    ("bytes_in", "bytesin", "Bytes of record batches appended by producers"),
    ("bytes_out", "bytesout", "Bytes of record batches sent to consumers"),
    ("bytes_rejected", "bytesrejected", "Bytes of record batches refused"),
    ("total_produce_requests", "totalproducerequests", "Partitions in Produce requests"),
    ("total_fetch_requests", "totalfetchrequests", "Partitions in Fetch requests"),
    ("failed_produce_requests", "failedproducerequests", "Partitions whose append failed"),
    ("failed_fetch_requests", "failedfetchrequests", "Partitions whose read failed"),
    (
        "total_share_fetch_requests",
        "totalsharefetchrequests",
        "ShareFetch requests for a topic",
    ),
    (
        "failed_share_fetch_requests",
        "failedsharefetchrequests",
        "ShareFetch requests that failed for a partition of a topic",
    ),
    (
        "total_share_acknowledgement_requests",
        "totalshareacknowledgementrequests",
        "Requests with acknowledgements for a topic",
    ),
    (
        "failed_share_acknowledgement_requests",
        "failedshareacknowledgementrequests",
        "Requests whose acknowledgements failed for a partition of a topic",
    ),
)


class RecentShare:
    """The share of about the last minute by which a growing sum of seconds has increased.

    It compares with earlier readings, so that nothing has to run between scrapes.
    """

    def __init__(self, now_s: float, sum_s: float, window_s: float = 60.0) -> None:
        """Begin with the sum `sum_s` at `now_s`, in seconds of a clock that never goes back."""
        self._window_s = window_s
        # The times and sums of readings, at most one a second.
        self._read: list[tuple[float, float]] = [(now_s, sum_s)]

    def read(self, now_s: float, sum_s: float) -> float:
        """Return how much the sum grew in about the last minute, divided by that time in seconds.

        It is 0 if no time has passed, and above 1 only if the sum adds up concurrent activities.
        This reading is kept for later calls, unless the last kept one is less than a second old.
        """
        readings = self._read
        while len(readings) > 1 and readings[1][0] <= now_s - self._window_s:
            del readings[0]
        began_s, before_s = readings[0]
        if now_s - readings[-1][0] >= 1.0:
            readings.append((now_s, sum_s))
        elapsed_s = now_s - began_s
        return max(0.0, (sum_s - before_s) / elapsed_s) if elapsed_s > 0 else 0.0


class RecentCounts:
    """The distribution of values of about the last minute, from growing counts by bucket.

    It compares with earlier readings, as `RecentShare` does.
    """

    def __init__(self, bounds: Sequence[float], window_s: float = 60.0) -> None:
        """Create a distribution with the buckets' upper `bounds`; a last bucket has all values
        above them."""
        self._bounds = bounds
        self._window_s = window_s
        # The times and counts of readings, at most one in five seconds; zero counts at the start.
        self._read: list[tuple[float, list[int]]] = [(-math.inf, [0] * (len(bounds) + 1))]

    def read(self, now_s: float, counts: list[int]) -> list[int]:
        """Return the counts by bucket of values since about a minute ago. `now_s` is in seconds of
        a clock that never goes back. `counts`, the totals since the start, are kept for later calls
        every 5 s."""
        readings = self._read
        while len(readings) > 1 and readings[1][0] <= now_s - self._window_s:
            del readings[0]
        if now_s - readings[-1][0] >= self._window_s / 12:
            readings.append((now_s, counts))
        return [now - before for now, before in zip(counts, readings[0][1], strict=True)]

    def quantile(self, recent: list[int], share: float) -> float:
        """Return the value that this share of the `recent` values does not exceed.

        Values count as evenly spread within their bucket. Returns the last bound for a value above
        it, and 0 if there are no values."""
        target, below = share * sum(recent), 0.0
        for bucket, count in enumerate(recent[:-1]):
            if below + count >= target and count:
                lower_bound = self._bounds[bucket - 1] if bucket else 0.0
                return lower_bound + (self._bounds[bucket] - lower_bound) * (target - below) / count
            below += count
        return self._bounds[-1] if sum(recent) else 0.0


class Metrics:
    """The metrics of one node."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicMetrics] = {}
        self._read: dict[str, tuple[Kind, str, Read]] = {}
        self._gauges_of_many: list[tuple[Sequence[OfEach[Any]], Things[Any]]] = []
        self._shows: Callable[[str], bool] = _all

    def topic(self, name: str) -> TopicMetrics:
        """Return the counters of a topic, which are created at the first call."""
        counters = self.topics.get(name)
        if counters is None:
            counters = self.topics[name] = TopicMetrics()
        return counters

    def forget_topic(self, name: str) -> None:
        """Remove the counters of a deleted topic."""
        self.topics.pop(name, None)

    def show_topics(self, shows: Callable[[str], bool]) -> None:
        """Show values by topic only for topics whose `shows(name)` is true."""
        self._shows = shows

    def shows(self, topic: str) -> bool:
        """Return whether values by topic are shown for this topic, as `show_topics` set it; true by
        default."""
        return self._shows(topic)

    def gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Register a gauge without labels, read by `read()` at each scrape."""
        self._read[name] = (Kind.GAUGE, help_text, lambda: ((_NO_LABELS, read()),))

    def gauges(self, name: str, help_text: str, read: Read) -> None:
        """Register a gauge with labels, such as one value a partition, read by `read()`."""
        self._read[name] = (Kind.GAUGE, help_text, read)

    def many(self, families: Sequence[OfEach[T]], things: Things[T]) -> None:
        """Register gauges of things of which there may be thousands, such as partitions. `things`
        returns each with its labels; it may change while it is read."""
        self._gauges_of_many.append((families, things))

    def counter(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Register a counter without labels, read by `read()`. `name` is without `_total`."""
        self._read[name] = (Kind.COUNTER, help_text, lambda: ((_NO_LABELS, float(read())),))

    def counters(self, name: str, help_text: str, read: Read) -> None:
        """Register a counter with labels, read by `read()`. `name` is without `_total`."""
        self._read[name] = (Kind.COUNTER, help_text, read)

    def histogram(self, name: str, help_text: str, read: Read) -> None:
        """Register a histogram, whose samples `read()` returns in the form of `Kind.HISTOGRAM`."""
        self._read[name] = (Kind.HISTOGRAM, help_text, read)

    def families(self) -> Iterator[Family]:
        """Yield all metrics in a fixed order, each read when it is its turn."""
        for step in self.steps():
            if step is not None:
                yield step

    def steps(self) -> Iterator[Family | None]:
        """Yield each metric as `families` does, and None between the slices of a long metric."""
        for attribute, suffix, help_text in _TOPIC_COUNTERS:
            name = f"kafka_server_brokertopicmetrics_{suffix}"
            total, samples = 0.0, []
            for topic, counts in self.topics.items():
                value = float(getattr(counts, attribute))
                total += value
                if self._shows(topic):
                    samples.append(({"topic": topic}, value))
            yield Family(name, Kind.COUNTER, help_text, (({}, total), *samples))
        for name, (kind, help_text, read) in list(self._read.items()):
            yield Family(name, kind, help_text, tuple(read()))
        for families, things in list(self._gauges_of_many):
            yield from _of_each(families, things)


def _of_each(families: Sequence[OfEach[T]], things: Things[T]) -> Iterator[Family | None]:
    """Yield a gauge for each name, with the value of each thing that has one; yield None after each
    slice of things.

    The gauges come one after the other, so that few values are held at once. They share the labels
    of each thing.
    """
    listed: list[tuple[Labels, T]] = []
    for batch in _slices(things()):
        listed += batch
        yield None
    for name, help_text, read in families:
        samples: list[Sample] = []
        for batch in _slices(listed):
            read_here = ((labels, read(thing)) for labels, thing in batch)
            samples += [(labels, value) for labels, value in read_here if value is not None]
            yield None
        yield Family(name, Kind.GAUGE, help_text, tuple(samples))


def _slices(items: Iterable[T]) -> Iterator[tuple[T, ...]]:
    """Yield the items in order, in tuples of at most SAMPLES_A_SLICE."""
    rest = iter(items)
    while batch := tuple(islice(rest, SAMPLES_A_SLICE)):
        yield batch


def _all(_topic: str) -> bool:
    """Return True: values are shown for each topic."""
    return True


_NO_LABELS: Labels = {}
STARTING = "starting"
"""The reason why a node is not ready before its metrics can be read."""
