"""The counters of a broker's share coordinator.

Owns the number of writes and their latencies of about the last minute, in two windows as Kafka's
`Avg` and `Max` have them. Follows Kafka's `ShareCoordinatorMetrics`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

WINDOW_MS = 30_000.0


@dataclass(slots=True)
class _Window:
    """The values that were recorded from `begin_ms` on."""

    begin_ms: float = -math.inf
    count: int = 0
    total_ms: float = 0.0
    highest_ms: float = -math.inf

    def add(self, value_ms: float) -> None:
        """Add a value."""
        self.count += 1
        self.total_ms += value_ms
        self.highest_ms = max(self.highest_ms, value_ms)


class RecentTimes:
    """The average and the highest of the durations that were recorded of late."""

    def __init__(self) -> None:
        self._windows = _Window(), _Window()

    def record(self, now_ms: float, value_ms: float) -> None:
        """Add a duration that ended at `now_ms`."""
        self._current(now_ms).add(value_ms)

    def average_ms(self, now_ms: float) -> float:
        """Return the average of the last 30 to 60 seconds, NaN without a value."""
        self._current(now_ms)
        count = sum(window.count for window in self._windows)
        return sum(window.total_ms for window in self._windows) / count if count else math.nan

    def highest_ms(self, now_ms: float) -> float:
        """Return the highest value of the last 30 to 60 seconds, NaN without a value."""
        self._current(now_ms)
        highest = max(window.highest_ms for window in self._windows)
        return math.nan if highest == -math.inf else highest

    def _current(self, now_ms: float) -> _Window:
        """Return the window that has `now_ms`, after dropping windows that are too old."""
        earlier, current = self._windows
        if now_ms - current.begin_ms >= WINDOW_MS:
            is_next = now_ms - current.begin_ms < 2 * WINDOW_MS
            self._windows = current if is_next else _Window(), _Window(now_ms)
        return self._windows[1]


class ShareMetrics:
    """The counts of all share-partitions of a broker since its start."""

    def __init__(self) -> None:
        self.writes = 0
        """The writes of states, and the reads that wrote a new leader's epoch."""
        self.write_times = RecentTimes()
        """The time of each write until its answer, with its commit."""

    def wrote(self) -> None:
        """Count a write."""
        self.writes += 1
