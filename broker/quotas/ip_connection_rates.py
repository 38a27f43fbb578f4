"""The quota of connections per second from one address: `connection_creation_rate` (KIP-612).

Owns the connection rate of each address with a quota, and drops it after a window without a new
connection. A connection over the quota does not count, and is closed after a wait of at most one
slice of the window.

Never reads a clock or a socket. Follows Kafka's `ConnectionQuotas`.
"""

from __future__ import annotations

from collections.abc import Mapping

from broker.quotas.measured import MeasuredRate
from broker.quotas.sampled_rate import Window

_SWEEP_AT_ONCE = 4


class IpConnectionRates:
    """The connection rates of one node. Times are monotonic milliseconds."""

    def __init__(self, window: Window, max_addresses: int = 100_000) -> None:
        self._window = window
        self._max_addresses = max_addresses
        self._limits: dict[str | None, float] = {}
        # The least recently used address comes first.
        self._rates: dict[str, MeasuredRate] = {}

    @property
    def enabled(self) -> bool:
        """Whether any address may be limited."""
        return bool(self._limits)

    @property
    def limits(self) -> Mapping[str | None, float]:
        """The limits that are set, by address; None is the default."""
        return self._limits

    def put(self, address: str | None, limit: float | None) -> None:
        """Set the connections per second of an address, or with None of all others.

        The limit None removes the quota.
        """
        if limit is None:
            self._limits.pop(address, None)
        else:
            self._limits[address] = limit

    def opened(self, address: str, now_ms: float) -> int:
        """Record a new connection from an address.

        Return 0 if it is accepted, otherwise the milliseconds after which it must be closed.
        """
        limit = self._limits.get(address, self._limits.get(None))
        if limit is None:
            return 0
        rate = self._rates.pop(address, None)
        if rate is None:
            rate = MeasuredRate(self._window, self._window.size_ms)
            self._sweep(now_ms)
        self._rates[address] = rate
        rate.record(1, now_ms, limit)
        wait_ms = rate.throttle_ms(now_ms, limit)
        if wait_ms:
            rate.record(-1, now_ms, limit)
        return wait_ms

    def forget(self) -> None:
        """Drop all measurements."""
        self._rates.clear()

    def __len__(self) -> int:
        return len(self._rates)

    def _sweep(self, now_ms: float) -> None:
        """Drop the rates of a few of the oldest addresses, if they are idle. At `max_addresses`,
        also drop the oldest rate."""
        first = [key for key, _ in zip(self._rates, range(_SWEEP_AT_ONCE), strict=False)]
        for address in first:
            if not self._rates[address].idle(now_ms, 0):
                break
            del self._rates[address]
        if len(self._rates) >= self._max_addresses:
            del self._rates[next(iter(self._rates))]
