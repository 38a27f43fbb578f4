"""What went on in the last minutes, out of looks at the cluster: for all tabs the same.

Owns the history and its limits. Pure: times come with the looks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from client.live.rates import GroupRate, Sample, TopicRate, group_rates, topic_rates

POINTS_MAX = 300
BUSIEST = 8
GROUPS_SHOWN = 8
STALE_S = 30.0
"""After so long without a look, what came meanwhile would be told as a rate of now."""


class _Point(NamedTuple):
    """A moment (seconds since 1970); None: not known, as where there was no look just before."""

    at: float
    records: float | None
    bytes: float | None
    by_topic: dict[str, float]


@dataclass(frozen=True, slots=True)
class RatePoints:
    """The last minutes: moments in seconds since 1970, and what came a second; None: not known."""

    at: list[float]
    records: list[float | None]
    bytes: list[float | None]


@dataclass(frozen=True, slots=True)
class BusyTopic:
    """What goes on in a topic; `spark`: records a second, as in the last points."""

    topic: str
    records_per_s: float | None
    bytes_per_s: float | None
    partitions: int
    records: int
    bytes: int | None
    spark: list[float | None]


@dataclass(frozen=True, slots=True)
class LateGroup:
    """How far a group is behind, and how that changes."""

    group: str
    lag: int | None
    change_per_s: float | None
    read_per_s: float | None
    partitions_without_lag: int


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


class LiveRates:
    """`rates.add(sample, at)` after each look; the rest tells what is known."""

    def __init__(self) -> None:
        self._before: Sample | None = None
        self._points: deque[_Point] = deque(maxlen=POINTS_MAX)
        self._internal: Collection[str] = ()
        self.topics: list[TopicRate] = []
        """Internal ones, too; the busiest first."""
        self.groups: list[GroupRate] = []
        self.looked_at: float | None = None

    def add(self, sample: Sample, at: float, internal: Collection[str]) -> None:
        """Note a look; `at` in seconds since 1970, `internal` names topics of the cluster's own."""
        before = self._before
        if before is not None and sample.at - before.at > STALE_S:
            before = None
        since = before or Sample(sample.at)
        self.topics = topic_rates(since, sample)
        self.groups = group_rates(since, sample)
        self._internal = internal
        self._points.append(self._point(at, is_first=before is None))
        self._before, self.looked_at = sample, at

    def _point(self, at: float, *, is_first: bool) -> _Point:
        if is_first:
            return _Point(at, None, None, {})
        own = self._own()
        of_bytes = [one.bytes_per_s for one in own if one.bytes_per_s is not None]
        return _Point(
            at,
            sum(one.records_per_s or 0.0 for one in own),
            sum(of_bytes) if of_bytes or not own else None,
            {one.topic: one.records_per_s or 0.0 for one in own[: 3 * BUSIEST]},
        )

    def _own(self) -> list[TopicRate]:
        return [one for one in self.topics if one.topic not in self._internal]

    def shown(self, groups_left_out: int = 0) -> LiveOverview:
        """Return what the overview gets."""
        own = self._own()
        held = [one.bytes for one in own if one.bytes is not None]
        last = self._points[-1] if self._points else None
        return LiveOverview(
            at=self.looked_at,
            records_per_s=None if last is None else last.records,
            bytes_per_s=None if last is None else last.bytes,
            records=sum(one.records for one in own),
            bytes=None if own and not held else sum(held),
            points=RatePoints(
                [one.at for one in self._points],
                [one.records for one in self._points],
                [one.bytes for one in self._points],
            ),
            topics=[BusyTopic(*one, self._spark(one.topic)) for one in own[:BUSIEST]],
            groups=[LateGroup(*one) for one in self.groups[:GROUPS_SHOWN]],
            groups_known=len(self.groups),
            groups_left_out=groups_left_out,
        )

    def _spark(self, topic: str) -> list[float | None]:
        last = list(self._points)[-60:]
        return [None if one.records is None else one.by_topic.get(topic, 0.0) for one in last]
