"""A token bucket, by which the quota of controller mutations is measured (KIP-599).

The quota's tokens are added each second, up to those of a whole window. The level may fall below
zero; then the client must wait until it is zero again. Never reads a clock.

Follows Kafka's `TokenBucket`.
"""

from __future__ import annotations

from broker.quotas.sampled_rate import Window


class TokenBucket:
    """The bucket of one client, full when it is new.

    Times are monotonic milliseconds that never go back.
    """

    __slots__ = ("_tokens", "_updated_ms")

    def __init__(self) -> None:
        """Create a bucket that is full at its first use."""
        self._tokens = 0.0
        self._updated_ms: float | None = None

    def take(self, tokens: float, now_ms: float, limit: float, window: Window) -> None:
        """Take tokens, even if there are not enough. `limit` is tokens per second."""
        self._tokens = min(limit * window.seconds, self.level(now_ms, limit, window) - tokens)

    def level(self, now_ms: float, limit: float, window: Window) -> float:
        """Add the tokens of the time since the last call, and return their number; below zero, the
        number that is owed."""
        capacity = limit * window.seconds
        if self._updated_ms is None:
            self._tokens = capacity
        else:
            gained = limit * ((now_ms - self._updated_ms) / 1000)
            self._tokens = min(capacity, self._tokens + gained)
        self._updated_ms = now_ms
        return self._tokens
