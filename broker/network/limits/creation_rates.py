"""How many connections a second may be made, on a node or on a listener.

A connection is counted when it comes; one that is too many waits until the rate is what it may be,
for one slice of the window at most. So a burst of what a whole window allows passes at once.

Owns the rate that was measured. Never: sockets, or a clock. Follows `max.connection.creation.rate`
in Kafka's `ConnectionQuotas` (KIP-402, KIP-612).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from broker.quotas.measured import MeasuredRate
from broker.quotas.sampled_rate import Window

OpenedFrom = Callable[[str, float], float]
"""Somebody connects from an address, at a time in monotonic milliseconds: 0, or for how many ms it
is to be left alone before its connection is closed, since the address makes too many. See
`broker.quotas.ip_connection_rates.IpConnectionRates.opened`."""

UNLIMITED_RATE: Final = 2**31 - 1
"""Connections a second: Kafka's default, and no limit."""


def from_anywhere(_address: str, _now_ms: float) -> float:
    """The OpenedFrom of a node where no address has a quota."""
    return 0.0


class CreationRate:
    """One limit, and what is measured under it. Times are monotonic milliseconds."""

    __slots__ = ("_measured", "_slice_ms", "limit")

    def __init__(self, window: Window, limit: float = UNLIMITED_RATE) -> None:
        """`limit` in connections a second."""
        self.limit = limit
        self._slice_ms = window.size_ms
        self._measured = MeasuredRate(window, window.size_ms)

    def set_limit(self, limit: float) -> None:
        """Connections a second from now on."""
        self.limit = limit

    def count(self, now_ms: float) -> float:
        """One more connection; for how many ms it must wait, 0 where it is within the rate."""
        self._measured.record(1, now_ms, self.limit)
        if self.limit <= 0:
            return self._slice_ms
        return self._measured.throttle_ms(now_ms, self.limit)

    def take_back(self, now_ms: float) -> None:
        """That connection is refused: it counts for nobody."""
        self._measured.record(-1, now_ms, self.limit)
