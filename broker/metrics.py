"""What a node counts, under the names that Kafka's MBeans have in Prometheus.

Counters are plain integers on small objects, so that the hot path pays an addition. Gauges are read
from their owners only when somebody asks: an owner registers a function. `families()` gives
everything as values; `broker.process.metrics_server` puts them on the wire.

Values of each partition may be ten thousand. They are read in slices (`steps()`), with all else of
the loop in between, so who gives them out must bear that others change meanwhile.

It never runs by itself and knows nothing of Prometheus' format. Topics are forgotten when they are
deleted, so its size follows the topics of the node.

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
"""Name, help text, and how a thing's value is read; None where it has none."""

SAMPLES_A_SLICE = 200
"""Values that are read before the loop may do all else: some 0.3 ms."""


class Kind(Enum):
    """What the samples of a metric are."""

    GAUGE = auto()
    COUNTER = auto()
    HISTOGRAM = auto()
    """Of each bucket, by the label `le`, how many were up to that; `+Inf` last. Then, without that
    label, the sum of all values. The same for each combination of further labels."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: all its samples. `name` is without the suffix `_total` of a counter."""

    name: str
    kind: Kind
    help: str
    samples: tuple[Sample, ...]


@dataclass(slots=True)
class TopicMetrics:
    """What went in and out of one topic here, or of all; counts since the start."""

    messages_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    bytes_rejected: int = 0
    total_produce_requests: int = 0
    total_fetch_requests: int = 0
    failed_produce_requests: int = 0
    failed_fetch_requests: int = 0

    def produced(self, records: int, size: int) -> None:
        """A partition took `records` of a producer, `size` bytes of batches."""
        self.total_produce_requests += 1
        self.messages_in += records
        self.bytes_in += size

    def fetched(self, size: int = 0, failed: bool = False) -> None:
        """A partition was read: by a consumer, which got `size` bytes, or by a follower."""
        self.total_fetch_requests += 1
        self.failed_fetch_requests += failed
        self.bytes_out += size

    def produce_failed(self, size: int) -> None:
        """A partition refused so many bytes of a producer."""
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
)


class RecentShare:
    """What share of about the last minute something took, of a sum of seconds that only grows.

    It compares with what was read before, so that nothing has to run while nobody asks.
    """

    def __init__(self, now_s: float, sum_s: float, window_s: float = 60.0) -> None:
        """`now_s`: seconds of a clock that never goes back; `sum_s`: the sum then."""
        self._window_s = window_s
        # When, and the sum then; at most one a second.
        self._read: list[tuple[float, float]] = [(now_s, sum_s)]

    def read(self, now_s: float, sum_s: float) -> float:
        """From 0 to 1, and more where several things count together."""
        readings = self._read
        while len(readings) > 1 and readings[1][0] <= now_s - self._window_s:
            del readings[0]
        began_s, before_s = readings[0]
        if now_s - readings[-1][0] >= 1.0:
            readings.append((now_s, sum_s))
        elapsed_s = now_s - began_s
        return max(0.0, (sum_s - before_s) / elapsed_s) if elapsed_s > 0 else 0.0


class RecentCounts:
    """How values of about the last minute were, of counts by bucket that only grow.

    It compares with what was read before, as `RecentShare` does.
    """

    def __init__(self, bounds: Sequence[float], window_s: float = 60.0) -> None:
        """`bounds`: the upper ones of the buckets; a last bucket has all above them."""
        self._bounds = bounds
        self._window_s = window_s
        # When, and the counts then; at most one in five seconds. At first there was nothing.
        self._read: list[tuple[float, list[int]]] = [(-math.inf, [0] * (len(bounds) + 1))]

    def read(self, now_s: float, counts: list[int]) -> list[int]:
        """By bucket, of values since about a minute ago. `now_s`: seconds of a clock that never
        goes back."""
        readings = self._read
        while len(readings) > 1 and readings[1][0] <= now_s - self._window_s:
            del readings[0]
        if now_s - readings[-1][0] >= self._window_s / 12:
            readings.append((now_s, counts))
        return [now - before for now, before in zip(counts, readings[0][1], strict=True)]

    def quantile(self, recent: list[int], share: float) -> float:
        """The value that this share of them does not exceed, taken as evenly spread within its
        bucket. Above the last bound it is that bound; 0 where there were none."""
        wanted, below = share * sum(recent), 0.0
        for place, count in enumerate(recent[:-1]):
            if below + count >= wanted and count:
                least = self._bounds[place - 1] if place else 0.0
                return least + (self._bounds[place] - least) * (wanted - below) / count
            below += count
        return self._bounds[-1] if sum(recent) else 0.0


class Metrics:
    """Everything that one node counts."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicMetrics] = {}
        self._read: dict[str, tuple[Kind, str, Read]] = {}
        self._many: list[tuple[Sequence[OfEach[Any]], Things[Any]]] = []
        self._shows: Callable[[str], bool] = _all

    def topic(self, name: str) -> TopicMetrics:
        """The counters of one topic; made when first asked for."""
        found = self.topics.get(name)
        if found is None:
            found = self.topics[name] = TopicMetrics()
        return found

    def forget_topic(self, name: str) -> None:
        """The topic was deleted."""
        self.topics.pop(name, None)

    def show_topics(self, shows: Callable[[str], bool]) -> None:
        """Only those of which `shows(name)` is true have values of their own."""
        self._shows = shows

    def shows(self, topic: str) -> bool:
        """Whether the topic has values of its own."""
        return self._shows(topic)

    def gauge(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """A value that `read` gives when somebody asks."""
        self._read[name] = (Kind.GAUGE, help_text, lambda: ((_NO_LABELS, read()),))

    def gauges(self, name: str, help_text: str, read: Read) -> None:
        """Values with labels, such as one a partition."""
        self._read[name] = (Kind.GAUGE, help_text, read)

    def many(self, families: Sequence[OfEach[T]], things: Things[T]) -> None:
        """Values of things of which there may be thousands, such as partitions. `things` gives each
        with its labels; they may go, and others may come, while they are read."""
        self._many.append((families, things))

    def counter(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        """Register a counter without labels, read by `read()`. `name` is without `_total`."""
        self._read[name] = (Kind.COUNTER, help_text, lambda: ((_NO_LABELS, float(read())),))

    def counters(self, name: str, help_text: str, read: Read) -> None:
        """Register a counter with labels, read by `read()`. `name` is without `_total`."""
        self._read[name] = (Kind.COUNTER, help_text, read)

    def histogram(self, name: str, help_text: str, read: Read) -> None:
        """How many values were how large, as somebody else counts them; see `Kind`."""
        self._read[name] = (Kind.HISTOGRAM, help_text, read)

    def families(self) -> Iterator[Family]:
        """All metrics in a fixed order, each as it is when it is its turn."""
        for step in self.steps():
            if step is not None:
                yield step

    def steps(self) -> Iterator[Family | None]:
        """The same, and None between the slices of one that is long."""
        for attribute, word, help_text in _TOPIC_COUNTERS:
            name = f"kafka_server_brokertopicmetrics_{word}"
            total, samples = 0.0, []
            for topic, counts in self.topics.items():
                value = float(getattr(counts, attribute))
                total += value
                if self._shows(topic):
                    samples.append(({"topic": topic}, value))
            yield Family(name, Kind.COUNTER, help_text, (({}, total), *samples))
        for name, (kind, help_text, read) in list(self._read.items()):
            yield Family(name, kind, help_text, tuple(read()))
        for families, things in list(self._many):
            yield from _of_each(families, things)


def _of_each(families: Sequence[OfEach[T]], things: Things[T]) -> Iterator[Family | None]:
    """One family after the other, so that few values are held; they share a thing's labels."""
    listed: list[tuple[Labels, T]] = []
    for some in _slices(things()):
        listed += some
        yield None
    for name, help_text, read in families:
        samples: list[Sample] = []
        for some in _slices(listed):
            read_here = ((labels, read(thing)) for labels, thing in some)
            samples += [(labels, value) for labels, value in read_here if value is not None]
            yield None
        yield Family(name, Kind.GAUGE, help_text, tuple(samples))


def _slices(items: Iterable[T]) -> Iterator[tuple[T, ...]]:
    rest = iter(items)
    while some := tuple(islice(rest, SAMPLES_A_SLICE)):
        yield some


def _all(_topic: str) -> bool:
    return True


_NO_LABELS: Labels = {}
STARTING = "starting"
"""Why a node is not ready whose values cannot be read yet."""
