"""A bucket of tokens, as the quota of controller mutations is measured (KIP-599).

It fills by the quota each second, up to what a whole window of it would be, and may go below zero:
whoever asks while it is there has to wait until it is at zero. Never looks at a clock.

Follows Kafka's `TokenBucket`.
"""

from __future__ import annotations

from broker.quotas.sampled_rate import Window


class TokenBucket:
    """One client's; full when it is new. Times are monotonic milliseconds that never go back."""

    __slots__ = ("_tokens", "_updated_ms")

    def __init__(self) -> None:
        self._tokens = 0.0
        self._updated_ms: float | None = None

    def take(self, tokens: float, now_ms: float, limit: float, window: Window) -> None:
        """Take tokens, also such that are not there. `limit` is tokens a second."""
        self._tokens = min(limit * window.seconds, self.level(now_ms, limit, window) - tokens)

    def level(self, now_ms: float, limit: float, window: Window) -> float:
        """How many tokens there are; below zero, how many are owed."""
        capacity = limit * window.seconds
        if self._updated_ms is None:
            self._tokens = capacity
        else:
            gained = limit * ((now_ms - self._updated_ms) / 1000)
            self._tokens = min(capacity, self._tokens + gained)
        self._updated_ms = now_ms
        return self._tokens
