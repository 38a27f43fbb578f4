"""The write rates of the last minutes, and the groups with the most lag, from samples of a cluster.

Owns the history and its limits. Pure: times come with the samples.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from client.live.rates import GroupRate, Sample, TopicRate, group_rates, topic_rates
from console.groups.answers import WithoutCommit

POINTS_MAX = 300
SHOWN_S = 600.0
"""The time that the charts cover: 60 of the samples that no tab asks for."""
BUSIEST = 8
GROUPS_SHOWN = 8
STALE_S = 30.0
"""The longest time between two samples whose difference is a rate of now."""


class _Point(NamedTuple):
    """The rates at a time (seconds since 1970); None after a pause without samples."""

    at: float
    records: float | None
    bytes: float | None
    by_topic: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class RatePoints:
    """The rates of the last minutes: times in seconds since 1970, and values per second.

    A value is None after a pause without samples.
    """

    at: list[float]
    records: list[float | None]
    bytes: list[float | None]


@dataclass(frozen=True, slots=True)
class BusyTopic:
    """The write rates of a topic; `spark`: records per second in the last samples."""

    topic: str
    records_per_s: float | None
    bytes_per_s: float | None
    partitions: int
    records: int
    bytes: int | None
    spark: list[float | None]


@dataclass(frozen=True, slots=True)
class LateGroup:
    """The lag of a group, its change, and the records of partitions without a commit."""

    group: str
    lag: int | None
    change_per_s: float | None
    read_per_s: float | None
    partitions_without_lag: int
    uncommitted: WithoutCommit


@dataclass(frozen=True, slots=True)
class LiveOverview:
    """The live rates of a cluster. Rates are None before the second sample.

    Bytes are None for a login that may not see the sizes of logs.
    """

    at: float | None
    records_per_s: float | None
    bytes_per_s: float | None
    records: int
    bytes: int | None
    points: RatePoints
    topics: list[BusyTopic]
    groups: list[LateGroup]
    groups_known: int
    groups_left_out: int
    hides_groups: bool


class LiveRates:
    """The samples of the last minutes; `add` appends one, `shown` returns the overview."""

    def __init__(self) -> None:
        self._before: Sample | None = None
        self._points: deque[_Point] = deque(maxlen=POINTS_MAX)
        self._internal: Collection[str] = ()
        self._stale_s = STALE_S
        self.topics: list[TopicRate] = []
        """All topics, internal ones too, the busiest first."""
        self.groups: list[GroupRate] = []
        self.looked_at: float | None = None

    def expect_every(self, seconds: float) -> None:
        """Take two samples for neighbours if they are at most three such intervals apart."""
        self._stale_s = 3 * seconds

    def add(
        self,
        sample: Sample,
        at: float,
        internal: Collection[str],
        *,
        with_groups: bool = True,
    ) -> None:
        """Append a sample of the time `at` (seconds since 1970).

        `internal` names the internal topics. The groups stay as they were unless `with_groups`.
        """
        before = self._before
        if before is not None and sample.at - before.at > self._stale_s:
            before = None
        since = before or Sample(sample.at)
        self.topics = topic_rates(since, sample)
        if with_groups:
            self.groups = group_rates(since, sample)
        self._internal = internal
        self._points.append(self._point(at, is_first=before is None))
        self._before, self.looked_at = sample, at

    def _point(self, at: float, *, is_first: bool) -> _Point:
        if is_first:
            return _Point(at, None, None, {})
        own = self._own()
        return _Point(
            at,
            _known_sum([topic.records_per_s for topic in own]),
            _known_sum([topic.bytes_per_s for topic in own]),
            {topic.topic: topic.records_per_s for topic in own[: 3 * BUSIEST]},
        )

    def _own(self) -> list[TopicRate]:
        return [topic for topic in self.topics if topic.topic not in self._internal]

    def shown(self, groups_left_out: int = 0, *, hides_groups: bool = False) -> LiveOverview:
        """Return the overview's rates. Internal topics are left out."""
        own = self._own()
        sizes = [topic.bytes for topic in own if topic.bytes is not None]
        last = self._points[-1] if self._points else None
        points = (
            []
            if last is None
            else [point for point in self._points if point.at > last.at - SHOWN_S]
        )
        return LiveOverview(
            at=self.looked_at,
            records_per_s=None if last is None else last.records,
            bytes_per_s=None if last is None else last.bytes,
            records=sum(topic.records for topic in own),
            bytes=None if own and not sizes else sum(sizes),
            points=RatePoints(
                [point.at for point in points],
                [point.records for point in points],
                [point.bytes for point in points],
            ),
            topics=[BusyTopic(*topic, self._spark(topic.topic)) for topic in own[:BUSIEST]],
            groups=[_late_group(group) for group in self.groups[:GROUPS_SHOWN]],
            groups_known=len(self.groups),
            groups_left_out=groups_left_out,
            hides_groups=hides_groups,
        )

    def _spark(self, topic: str) -> list[float | None]:
        """Return the rate of a topic at each of the last 60 samples."""
        last = list(self._points)[-60:]
        return [None if point.records is None else point.by_topic.get(topic, 0.0) for point in last]


def _known_sum(rates: list[float | None]) -> float | None:
    """Return the sum of the rates that are known; None if there are rates, but none is known."""
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known or not rates else None


def _late_group(rate: GroupRate) -> LateGroup:
    """Return a group's row of the overview."""
    return LateGroup(*rate[:5], uncommitted=WithoutCommit(*rate.uncommitted))
