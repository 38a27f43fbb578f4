"""The average throttle time of the last minute: Kafka's metrics `…-throttle-time`.

Never reads a clock: the time is an argument. Follows Kafka's `Avg` over the two samples of
30 seconds that its metrics have by default.
"""

from __future__ import annotations

from broker.quotas.sampled_rate import SampledRate, Window

_WINDOW = Window(2, 30_000)


class ThrottleTimes:
    """The throttle times of one client, or of one listener."""

    __slots__ = ("_counts", "_times")

    def __init__(self) -> None:
        self._times = SampledRate()
        self._counts = SampledRate()

    def record(self, wait_ms: float, now_ms: float) -> None:
        """Add one throttle time."""
        self._times.record(wait_ms, now_ms, _WINDOW)
        self._counts.record(1, now_ms, _WINDOW)

    def average_ms(self, now_ms: float) -> float:
        """Return the average of the last minute; 0 if there was no throttle time."""
        counts = self._counts.per_second(now_ms, _WINDOW)
        return self._times.per_second(now_ms, _WINDOW) / counts if counts else 0.0
