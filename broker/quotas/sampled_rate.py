"""A rate over slices of time, by which byte and request quotas are measured.

Owns the slices of one client: at most `num` + 1 of them. The rate is the sum of all kept slices
over the time since the oldest began. That time counts as at least `num` - 1 whole slices, so that a
client may use at once what it is allowed in that time. Never reads a clock or a quota.

Follows Kafka's `Rate` and `SampledStat`.
"""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """The number and length of a rate's slices.

    From `quota.window.num` and `quota.window.size.seconds`, or the controller's keys.
    """

    num: int
    """The number of slices, at least 1."""
    size_ms: int

    @property
    def seconds(self) -> float:
        """The length of all slices together."""
        return self.num * self.size_ms / 1000


class SampledRate:
    """The rate of one client. Times are monotonic milliseconds that never go back."""

    __slots__ = ("_begun_ms", "_current", "_last_ms", "_values")

    def __init__(self) -> None:
        # One entry per slice; the slots are used in rotation.
        self._begun_ms: list[float] = []
        self._last_ms: list[float] = []
        self._values: list[float] = []
        self._current = 0

    def record(self, value: float, now_ms: float, window: Window) -> None:
        """Add `value` to the current slice, or to a new slice if that is over. A negative value is
        subtracted."""
        if not self._values:
            self._put(0, now_ms)
        elif now_ms - self._begun_ms[self._current] >= window.size_ms:
            # One slice more than the window has, because the oldest may be partly within it.
            self._current = (self._current + 1) % (window.num + 1)
            self._put(self._current, now_ms)
        self._values[self._current] += value
        self._last_ms[self._current] = now_ms

    def per_second(self, now_ms: float, window: Window) -> float:
        """Return the rate. Slices to which nothing was added for a whole window are
        emptied first."""
        self._restart_old_samples(now_ms, window)
        return sum(self._values) / (self.span_ms(now_ms, window) / 1000)

    def span_ms(self, now_ms: float, window: Window) -> float:
        """Return the milliseconds since the oldest slice began, with at least `num` - 1 whole
        slices counted, and at least 1."""
        self._restart_old_samples(now_ms, window)
        elapsed_ms = now_ms - min(self._begun_ms, default=now_ms)
        lacking = window.num - 1 - int(elapsed_ms / window.size_ms)
        if lacking > 0:
            elapsed_ms += lacking * window.size_ms
        return max(elapsed_ms, 1)

    def _restart_old_samples(self, now_ms: float, window: Window) -> None:
        """Empty each slice to which nothing was added for a whole window, and let it begin now."""
        oldest_ms = now_ms - window.num * window.size_ms
        for i, last_ms in enumerate(self._last_ms):
            if last_ms <= oldest_ms:
                self._put(i, now_ms)

    def _put(self, i: int, now_ms: float) -> None:
        """Begin an empty slice in slot `i`. If there are fewer slots, append a slot and make it the
        current one."""
        if i >= len(self._values):
            # Fewer slots exist than the window allows, at first and after it has grown: add one.
            i = self._current = len(self._values)
            self._begun_ms.append(now_ms)
            self._last_ms.append(now_ms)
            self._values.append(0.0)
        else:
            self._begun_ms[i] = self._last_ms[i] = now_ms
            self._values[i] = 0.0
