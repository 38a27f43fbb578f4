"""What one client's use is measured by: a rate, or a bucket of tokens, with what it tells.

Owns how long somebody over its quota has to wait, for each of the two. Never knows whose it is.

Follows Kafka's `QuotaUtils` and `ControllerMutationQuotaManager`.
"""

from __future__ import annotations

from math import floor
from typing import Protocol

from broker.quotas.sampled_rate import SampledRate, Window
from broker.quotas.token_bucket import TokenBucket

MOST_MS = 2**31 - 1
UNLIMITED = float(2**63 - 1)
"""A second: what counts where no quota does."""


class Measured(Protocol):
    """One client's use. `limit` is what it may take a second."""

    def record(self, value: float, now_ms: float, limit: float) -> None:
        """So much more was taken."""

    def throttle_ms(self, now_ms: float, limit: float) -> int:
        """How long it has to wait; 0 where it is not over its quota."""

    def level(self, now_ms: float, limit: float) -> float:
        """What the measurement is."""

    def idle(self, now_ms: float, limit: float) -> bool:
        """Whether a new one would tell the same."""


class MeasuredRate:
    """By a rate: somebody is over its quota when the rate is."""

    __slots__ = ("_last_ms", "_most_ms", "_rate", "_window")

    def __init__(self, window: Window, most_ms: float | None = None) -> None:
        """`most_ms`: nobody waits for longer."""
        self._window = window
        self._most_ms = most_ms
        self._rate = SampledRate()
        self._last_ms = 0.0

    def record(self, value: float, now_ms: float, limit: float) -> None:
        self._rate.record(value, now_ms, self._window)
        self._last_ms = now_ms

    def throttle_ms(self, now_ms: float, limit: float) -> int:
        per_second = self._rate.per_second(now_ms, self._window)
        if per_second <= limit:
            return 0
        span_ms = self._rate.span_ms(now_ms, self._window)
        wait_ms = _rounded((per_second - limit) / limit * span_ms)
        return wait_ms if self._most_ms is None else int(min(wait_ms, self._most_ms))

    def level(self, now_ms: float, limit: float) -> float:
        return self._rate.per_second(now_ms, self._window)

    def idle(self, now_ms: float, limit: float) -> bool:
        return now_ms - self._last_ms >= self._window.num * self._window.size_ms


class MeasuredTokens:
    """By a bucket: somebody is over its quota when it owes tokens."""

    __slots__ = ("_bucket", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._bucket = TokenBucket()

    def record(self, value: float, now_ms: float, limit: float) -> None:
        self._bucket.take(value, now_ms, limit, self._window)

    def throttle_ms(self, now_ms: float, limit: float) -> int:
        level = self._bucket.level(now_ms, limit, self._window)
        return _rounded(-level / limit * 1000) if level < 0 else 0

    def level(self, now_ms: float, limit: float) -> float:
        return self._bucket.level(now_ms, limit, self._window)

    def idle(self, now_ms: float, limit: float) -> bool:
        return self._bucket.level(now_ms, limit, self._window) >= limit * self._window.seconds


def _rounded(value: float) -> int:
    """As Java rounds, up to its largest int: beyond that Kafka's wait is negative."""
    return floor(min(value, MOST_MS) + 0.5)
