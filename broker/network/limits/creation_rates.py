"""The limit on new connections per second, of a node or of a listener.

A connection is counted when it arrives. If it exceeds the limit, it waits until the rate is within
the limit again, for one slice of the window at most. So a burst of as many connections as a whole
window allows passes at once.

Owns: the measured rate. Never: sockets, or a clock. Follows `max.connection.creation.rate`
in Kafka's `ConnectionQuotas` (KIP-402, KIP-612).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from broker.quotas.measured import MeasuredRate
from broker.quotas.sampled_rate import Window

IpConnectionDelay = Callable[[str, float], float]
"""A function of an address and the time in monotonic milliseconds that counts a new connection. It
returns 0 if the address is within its quota, else the milliseconds after which the connection is
to be closed. See `broker.quotas.ip_connection_rates.IpConnectionRates.opened`."""

UNLIMITED_RATE: Final = 2**31 - 1
"""The connections per second that mean no limit: Kafka's default."""


def no_ip_delay(_address: str, _now_ms: float) -> float:
    """Return 0: no address has a quota on this node."""
    return 0.0


class CreationRate:
    """A limit on the connection rate, and the measured rate. Times are monotonic milliseconds."""

    __slots__ = ("_measured", "_slice_ms", "limit")

    def __init__(self, window: Window, limit: float = UNLIMITED_RATE) -> None:
        """Create the limit of `limit` connections a second, measured over `window`."""
        self.limit = limit
        self._slice_ms = window.size_ms
        self._measured = MeasuredRate(window, window.size_ms)

    def set_limit(self, limit: float) -> None:
        """Set the limit, in connections a second."""
        self.limit = limit

    def count(self, now_ms: float) -> float:
        """Count a connection. Return the milliseconds it must wait, 0 if it is within the rate."""
        self._measured.record(1, now_ms, self.limit)
        if self.limit <= 0:
            return self._slice_ms
        return self._measured.throttle_ms(now_ms, self.limit)

    def take_back(self, now_ms: float) -> None:
        """Undo a `count`, because that connection is rejected for another reason."""
        self._measured.record(-1, now_ms, self.limit)
