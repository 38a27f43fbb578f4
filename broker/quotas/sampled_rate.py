"""A rate over slices of time, as byte and request quotas are measured.

Owns the slices of one client: at most `num` + 1 of them. The rate is what all slices that are kept
amount to, over the time since the oldest began; that counts as `num` - 1 whole slices at least, so
that a client may spend at once what it may in that time. Never looks at a clock, or at a quota.

Follows Kafka's `Rate` and `SampledStat`.
"""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """`quota.window.num` slices of `quota.window.size.seconds` each, or the controller's."""

    num: int
    """At least 1."""
    size_ms: int

    @property
    def seconds(self) -> float:
        """All of them together."""
        return self.num * self.size_ms / 1000


class SampledRate:
    """One client's. Times are monotonic milliseconds that never go back."""

    __slots__ = ("_begun_ms", "_current", "_last_ms", "_values")

    def __init__(self) -> None:
        # One entry a slice; the slots are used in turn.
        self._begun_ms: list[float] = []
        self._last_ms: list[float] = []
        self._values: list[float] = []
        self._current = 0

    def record(self, value: float, now_ms: float, window: Window) -> None:
        """So much more was taken; less where it is negative."""
        if not self._values:
            self._put(0, now_ms)
        elif now_ms - self._begun_ms[self._current] >= window.size_ms:
            # One slice more than the window has: the oldest one may lie in it in part.
            self._current = (self._current + 1) % (window.num + 1)
            self._put(self._current, now_ms)
        self._values[self._current] += value
        self._last_ms[self._current] = now_ms

    def per_second(self, now_ms: float, window: Window) -> float:
        """The rate. What nothing was added to for a whole window counts no more."""
        self._forget(now_ms, window)
        return sum(self._values) / (self.span_ms(now_ms, window) / 1000)

    def span_ms(self, now_ms: float, window: Window) -> float:
        """The time that the rate is over; at least 1."""
        self._forget(now_ms, window)
        elapsed_ms = now_ms - min(self._begun_ms, default=now_ms)
        lacking = window.num - 1 - int(elapsed_ms / window.size_ms)
        if lacking > 0:
            elapsed_ms += lacking * window.size_ms
        return max(elapsed_ms, 1)

    def _forget(self, now_ms: float, window: Window) -> None:
        oldest_ms = now_ms - window.num * window.size_ms
        for i, last_ms in enumerate(self._last_ms):
            if last_ms <= oldest_ms:
                self._put(i, now_ms)

    def _put(self, i: int, now_ms: float) -> None:
        """An empty slice that begins now."""
        if i >= len(self._values):
            # Where the window has grown, its slices may be fewer than there are slots.
            i = self._current = len(self._values)
            self._begun_ms.append(now_ms)
            self._last_ms.append(now_ms)
            self._values.append(0.0)
        else:
            self._begun_ms[i] = self._last_ms[i] = now_ms
            self._values[i] = 0.0
