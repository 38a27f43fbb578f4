"""Limits on connections and on their rate: of the broker, of a listener, of an address.

Owns: the counts. Never: sockets, or a clock; the Acceptor asks before and after it accepts.
Follows Kafka's `ConnectionQuotas` (KIP-402, KIP-612, and `max.connections.per.ip`):

* `max.connections` reached, of the broker or the listener: the Acceptor takes no new connection
  until one closes; they wait in the socket's backlog.
* The inter-broker listener is protected if there are others too. The broker's `max.connections`
  and `max.connection.creation.rate` do not apply to it; for each connection over the limit, the
  least recently used connection of another listener is closed.
* All file descriptors that partitions and files do not need are in use (`room`): no listener takes
  a new connection. The last `KEPT_FOR_BROKERS` are kept for a protected listener.
* `max.connections.per.ip` reached: the connection is accepted and closed at once.
* `max.connection.creation.rate` exceeded, of the broker or the listener: the Acceptor waits.
* The rate of an address exceeded: the connection is accepted, and closed after that wait.

Link-local addresses that differ only in the zone count as the same address, as in Java.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from broker.network.limits.creation_rates import (
    UNLIMITED_RATE,
    CreationRate,
    IpConnectionDelay,
    no_ip_delay,
)
from broker.quotas.sampled_rate import Window
from broker.quotas.throttle_times import ThrottleTimes
from protocol.ip_address import without_zone

UNLIMITED = 2**31 - 1
_WINDOW = Window(11, 1000)
KEPT_FOR_BROKERS = 16
"""The file descriptors that are kept for the inter-broker listener if it is protected."""


@dataclass(slots=True)
class _Listener:
    """A listener's limits, its open connections, and counts of those delayed or closed."""

    limit: int
    rate: CreationRate
    count: int = 0
    over_limit: int = 0
    over_ip_limit: int = 0
    over_ip_rate: int = 0
    delayed: int = 0
    delays: ThrottleTimes = field(default_factory=ThrottleTimes)
    ip_delays: ThrottleTimes = field(default_factory=ThrottleTimes)


class ConnectionQuotas:
    """Counts of open connections, and their limits, which may be changed at any time."""

    def __init__(
        self,
        max_connections: int = UNLIMITED,
        max_connections_per_ip: int = UNLIMITED,
        per_ip_overrides: Mapping[str, int] | None = None,
        inter_broker_listener: str | None = None,
        room: Callable[[], int] = lambda: UNLIMITED,
        creation_rate: int = UNLIMITED_RATE,
        opened_from: IpConnectionDelay = no_ip_delay,
        window: Window = _WINDOW,
    ) -> None:
        """Set the broker's limits. `room()` returns how many more connections there are file
        descriptors for. `creation_rate` is in connections a second. `opened_from` applies the
        quota `connection_creation_rate` of addresses."""
        self.max_connections = max_connections
        self.max_connections_per_ip = max_connections_per_ip
        self.per_ip_overrides = dict(per_ip_overrides or {})
        self.total = 0
        self._inter_broker_listener = inter_broker_listener
        self._room = room
        self._window = window
        self._rate = CreationRate(window, creation_rate)
        self._opened_from = opened_from
        self._listeners: dict[str, _Listener] = {}
        self._ip_counts: dict[str, int] = {}
        self._waiting: dict[str, Callable[[], None]] = {}

    # --- limits --------------------------------------------------------------------------------

    def add_listener(
        self, name: str, max_connections: int = UNLIMITED, creation_rate: int = UNLIMITED_RATE
    ) -> None:
        """Add a listener with the limits of its `listener.name.<name>.` keys."""
        self._listeners[name] = _Listener(
            max_connections, CreationRate(self._window, creation_rate)
        )

    def limit_broker(self, max_connections: int, creation_rate: int) -> None:
        """Set the broker's limits, and resume the waiting listeners that have a free slot now. The
        caller closes the connections that are now too many."""
        self.max_connections = max_connections
        self._rate.set_limit(creation_rate)
        self._resume_listeners()

    def limit_listener(self, name: str, max_connections: int, creation_rate: int) -> None:
        """Set a listener's limits, and resume the waiting listeners that have a free slot now. Open
        connections stay open."""
        listener = self._listeners[name]
        listener.limit = max_connections
        listener.rate.set_limit(creation_rate)
        self._resume_listeners()

    def limit_addresses(self, max_connections: int, overrides: Mapping[str, int]) -> None:
        """Set `max.connections.per.ip` and its overrides by address; open connections stay open."""
        self.max_connections_per_ip = max_connections
        self.per_ip_overrides = dict(overrides)

    # --- before a connection is accepted -------------------------------------------------------

    def slot_available(self, listener: str) -> bool:
        """Return whether the listener may take another connection now, by the limits on open
        connections and the free descriptors. Creation rates and limits of addresses are not
        checked."""
        state = self._listeners[listener]
        if state.count >= state.limit:
            return False
        if self.lacks_descriptors(listener):
            return False
        return self._is_protected(listener) or self.total < self.max_connections

    def lacks_descriptors(self, listener: str) -> bool:
        """Return whether all file descriptors that this listener may use are in use."""
        return self._room() <= self._slots_kept_from(listener)

    def limits_rate(self, listener: str) -> bool:
        """Return whether the broker or the listener has a connection creation rate limit."""
        rates = (self._rate.limit, self._listeners[listener].rate.limit)
        return min(rates) < UNLIMITED_RATE

    def creation_delay_ms(self, listener: str, now_ms: float) -> float:
        """Count a new connection in the rates of the listener and, unless the listener is
        protected, of the broker. Return the milliseconds to wait before accepting it, or 0."""
        delay_ms = 0.0 if self._is_protected(listener) else self._rate.count(now_ms)
        state = self._listeners[listener]
        delay_ms = max(delay_ms, state.rate.count(now_ms))
        if delay_ms > 0:
            state.delayed += 1
            state.delays.record(delay_ms, now_ms)
        return delay_ms

    def wait_for_slot(self, listener: str, resume: Callable[[], None]) -> None:
        """Call `resume` once, when the listener may accept again. Count the wait as one for
        `max.connections`, unless descriptors are lacking."""
        if not self.lacks_descriptors(listener):
            self._listeners[listener].over_limit += 1
        self._waiting[listener] = resume

    # --- an accepted connection ----------------------------------------------------------------

    def ip_delay_ms(self, listener: str, ip: str, now_ms: float) -> float:
        """Count a connection from an address. Return 0 if the address is within its rate, else the
        milliseconds after which the connection is to be closed, without being served.

        A connection over the rate no longer counts in the creation rates of the broker and the
        listener.
        """
        delay_ms = self._opened_from(without_zone(ip), now_ms)
        if delay_ms > 0:
            state = self._listeners[listener]
            state.over_ip_rate += 1
            state.ip_delays.record(delay_ms, now_ms)
            if self.limits_rate(listener):  # else neither rate has counted it
                state.rate.take_back(now_ms)
                if not self._is_protected(listener):
                    self._rate.take_back(now_ms)
        return delay_ms

    def ip_allowed(self, ip: str) -> bool:
        """Return whether another connection from `ip` is within its limit. A limit of 0 forbids
        the address."""
        ip = without_zone(ip)
        limit = self.per_ip_overrides.get(ip, self.max_connections_per_ip)
        return self._ip_counts.get(ip, 0) < limit

    def refused(self, listener: str) -> None:
        """Count a connection closed because its address has `max.connections.per.ip` open."""
        self._listeners[listener].over_ip_limit += 1

    def opened(self, listener: str, ip: str) -> None:
        """Add a connection to the counts."""
        self.total += 1
        self._listeners[listener].count += 1
        ip = without_zone(ip)
        self._ip_counts[ip] = self._ip_counts.get(ip, 0) + 1

    def closed(self, listener: str, ip: str) -> None:
        """Remove a connection from the counts, and resume listeners that waited for a slot."""
        ip = without_zone(ip)
        remaining = self._ip_counts[ip] - 1
        if remaining:
            self._ip_counts[ip] = remaining
        else:
            del self._ip_counts[ip]
        self.total -= 1
        state = self._listeners[listener]
        state.count -= 1
        assert self.total >= 0 and state.count >= 0
        self._resume_listeners()

    def exceeded_by(self, listener: str) -> int:
        """Return how many connections are above the broker's limit; 0 for the protected listener,
        whose connections are never closed for it."""
        if self._is_protected(listener):
            return 0
        return max(0, self.total - self.max_connections)

    # --- what happened -------------------------------------------------------------------------

    def not_served(self, listener: str) -> Mapping[str, int]:
        """Return, by the key of the limit, how often a listener delayed or closed connections."""
        state = self._listeners[listener]
        return {
            "max.connections": state.over_limit,
            "max.connections.per.ip": state.over_ip_limit,
            "max.connection.creation.rate": state.delayed,
            "connection_creation_rate": state.over_ip_rate,
        }

    def accept_throttle_ms(self, listener: str, now_ms: float) -> float:
        """Return the recent average wait, in ms, of a listener's connections under its creation
        rate."""
        return self._listeners[listener].delays.average_ms(now_ms)

    def ip_throttle_ms(self, listener: str, now_ms: float) -> float:
        """Return the recent average wait, in ms, of connections that were closed because their
        address exceeded its rate."""
        return self._listeners[listener].ip_delays.average_ms(now_ms)

    def _resume_listeners(self) -> None:
        """Call the waiting listeners that have a free slot now."""
        for name in list(self._waiting):
            if self.slot_available(name):
                self._waiting.pop(name)()

    def _slots_kept_from(self, listener: str) -> int:
        """Return the number of slots that this listener must leave to the brokers' listener."""
        if self._is_protected(listener) or not any(map(self._is_protected, self._listeners)):
            return 0
        return KEPT_FOR_BROKERS

    def _is_protected(self, listener: str) -> bool:
        """Return whether this is the inter-broker listener, and there are others too."""
        return listener == self._inter_broker_listener and len(self._listeners) > 1
