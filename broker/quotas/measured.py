"""The measurement of one client's usage: a rate, or a token bucket.

Owns the computation of the throttle time from either. Never knows the client.

Follows Kafka's `QuotaUtils` and `ControllerMutationQuotaManager`.
"""

from __future__ import annotations

from math import floor
from typing import Protocol

from broker.quotas.sampled_rate import SampledRate, Window
from broker.quotas.token_bucket import TokenBucket

MOST_MS = 2**31 - 1
UNLIMITED = float(2**63 - 1)
"""The limit per second of clients without a quota."""


class MeasuredUsage(Protocol):
    """The usage of one client. `limit` is what it may use per second."""

    def record(self, value: float, now_ms: float, limit: float) -> None:
        """Add `value` to the usage."""

    def throttle_ms(self, now_ms: float, limit: float) -> int:
        """Return the milliseconds that the client must wait; 0 if it is not over its quota."""

    def level(self, now_ms: float, limit: float) -> float:
        """Return the measured value, for metrics."""

    def idle(self, now_ms: float, limit: float) -> bool:
        """Return whether a new measurement would be the same as this one."""


class MeasuredRate:
    """A usage measured as a rate: the client is over its quota if the rate is above the limit."""

    __slots__ = ("_last_ms", "_most_ms", "_rate", "_window")

    def __init__(self, window: Window, most_ms: float | None = None) -> None:
        """`most_ms` is the longest wait; None does not limit it."""
        self._window = window
        self._most_ms = most_ms
        self._rate = SampledRate()
        self._last_ms = 0.0

    def record(self, value: float, now_ms: float, limit: float) -> None:
        """Add `value` to the rate."""
        self._rate.record(value, now_ms, self._window)
        self._last_ms = now_ms

    def throttle_ms(self, now_ms: float, limit: float) -> int:
        """Return the milliseconds that the client must wait to get down to the limit; 0 if it is
        not above."""
        per_second = self._rate.per_second(now_ms, self._window)
        if per_second <= limit:
            return 0
        span_ms = self._rate.span_ms(now_ms, self._window)
        wait_ms = _rounded((per_second - limit) / limit * span_ms)
        return wait_ms if self._most_ms is None else int(min(wait_ms, self._most_ms))

    def level(self, now_ms: float, limit: float) -> float:
        """Return the rate per second."""
        return self._rate.per_second(now_ms, self._window)

    def idle(self, now_ms: float, limit: float) -> bool:
        """Return True if nothing was recorded for a whole window."""
        return now_ms - self._last_ms >= self._window.num * self._window.size_ms


class MeasuredTokens:
    """A usage measured by a token bucket: the client is over its quota if it owes tokens."""

    __slots__ = ("_bucket", "_window")

    def __init__(self, window: Window) -> None:
        self._window = window
        self._bucket = TokenBucket()

    def record(self, value: float, now_ms: float, limit: float) -> None:
        """Take `value` tokens from the bucket, even if it has fewer."""
        self._bucket.take(value, now_ms, limit, self._window)

    def throttle_ms(self, now_ms: float, limit: float) -> int:
        """Return the milliseconds until no token is owed; 0 if none is owed now."""
        level = self._bucket.level(now_ms, limit, self._window)
        return _rounded(-level / limit * 1000) if level < 0 else 0

    def level(self, now_ms: float, limit: float) -> float:
        """Return the number of tokens; below zero, the number that is owed."""
        return self._bucket.level(now_ms, limit, self._window)

    def idle(self, now_ms: float, limit: float) -> bool:
        """Return True if the bucket is full."""
        return self._bucket.level(now_ms, limit, self._window) >= limit * self._window.seconds


def _rounded(value: float) -> int:
    """Return the value rounded as Java does, and at most Java's largest int.

    For larger values, Kafka's wait would become negative.
    """
    return floor(min(value, MOST_MS) + 0.5)
