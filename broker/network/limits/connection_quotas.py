"""How many connections there may be, and how fast: for the broker, a listener, an address.

Owns: the counts. Never: sockets, or a clock; the Acceptor asks before and after it accepts.
Follows Kafka's `ConnectionQuotas` (KIP-402, KIP-612, and `max.connections.per.ip`):

* `max.connections` reached, of the broker or the listener: the Acceptor takes no new connection
  until one closes; they wait in the socket's backlog.
* The inter-broker listener is protected, where there are others too: `max.connections` of the
  broker does not hold it up; for each connection over the limit the least recently used one of
  another listener is closed. Nor does the broker's `max.connection.creation.rate`.
* No descriptor left that partitions and files do not need (`room`): no listener takes a new
  connection; a protected one has the last few.
* `max.connections.per.ip` reached: the connection is accepted and closed at once.
* `max.connection.creation.rate` exceeded, of the broker or the listener: the Acceptor waits.
* The rate of an address exceeded: the connection is accepted, and closed after that wait.

A link-local address is one whatever its zone, as in Java, where zones do not make addresses differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from broker.network.limits.creation_rates import (
    UNLIMITED_RATE,
    CreationRate,
    OpenedFrom,
    from_anywhere,
)
from broker.quotas.sampled_rate import Window
from broker.quotas.throttle_times import ThrottleTimes
from protocol.ip_address import without_zone

UNLIMITED = 2**31 - 1
_WINDOW = Window(11, 1000)
KEPT_FOR_BROKERS = 16
"""Of the descriptors for connections, where the inter-broker listener is protected."""


@dataclass(slots=True)
class _Listener:
    """One listener: its limits, what is open, and what was not served at once, by the reason."""

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
    """Counts of open connections and their limits. Limits may be set while it runs."""

    def __init__(
        self,
        max_connections: int = UNLIMITED,
        max_connections_per_ip: int = UNLIMITED,
        per_ip_overrides: Mapping[str, int] | None = None,
        inter_broker_listener: str | None = None,
        room: Callable[[], int] = lambda: UNLIMITED,
        creation_rate: int = UNLIMITED_RATE,
        opened_from: OpenedFrom = from_anywhere,
        window: Window = _WINDOW,
    ) -> None:
        """`room()`: how many more connections there are descriptors for. `creation_rate` in
        connections a second; `opened_from` knows the `connection_creation_rate` of addresses."""
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
        """A listener, with what `listener.name.<name>.` sets for it."""
        self._listeners[name] = _Listener(
            max_connections, CreationRate(self._window, creation_rate)
        )

    def limit_broker(self, max_connections: int, creation_rate: int) -> None:
        """The broker's limits are these from now on. Whoever calls closes what is too many."""
        self.max_connections = max_connections
        self._rate.set_limit(creation_rate)
        self._resume()

    def limit_listener(self, name: str, max_connections: int, creation_rate: int) -> None:
        """A listener's are these from now on; what is open stays."""
        listener = self._listeners[name]
        listener.limit = max_connections
        listener.rate.set_limit(creation_rate)
        self._resume()

    def limit_addresses(self, max_connections: int, overrides: Mapping[str, int]) -> None:
        """`max.connections.per.ip`, and what it is for some; what is open stays."""
        self.max_connections_per_ip = max_connections
        self.per_ip_overrides = dict(overrides)

    # --- before a connection is taken ----------------------------------------------------------

    def slot_available(self, listener: str) -> bool:
        """Whether the listener may take one more connection now."""
        one = self._listeners[listener]
        if one.count >= one.limit:
            return False
        if self.lacks_descriptors(listener):
            return False
        return self._is_protected(listener) or self.total < self.max_connections

    def lacks_descriptors(self, listener: str) -> bool:
        """Whether one more connection of the listener would take what others need."""
        return self._room() <= self._kept_from(listener)

    def limits_rate(self, listener: str) -> bool:
        """Whether it matters how fast connections come."""
        rates = (self._rate.limit, self._listeners[listener].rate.limit)
        return min(rates) < UNLIMITED_RATE

    def creation_delay_ms(self, listener: str, now_ms: float) -> float:
        """Count one that comes to a listener; for how long it must wait before it is taken."""
        delay_ms = 0.0 if self._is_protected(listener) else self._rate.count(now_ms)
        one = self._listeners[listener]
        delay_ms = max(delay_ms, one.rate.count(now_ms))
        if delay_ms > 0:
            one.delayed += 1
            one.delays.record(delay_ms, now_ms)
        return delay_ms

    def wait_for_slot(self, listener: str, resume: Callable[[], None]) -> None:
        """Call `resume` once, when the listener may accept again."""
        if not self.lacks_descriptors(listener):
            self._listeners[listener].over_limit += 1
        self._waiting[listener] = resume

    # --- of one that has come ------------------------------------------------------------------

    def ip_delay_ms(self, listener: str, ip: str, now_ms: float) -> float:
        """Count one that an address makes. 0, or for how long it is to be left alone, and then to
        be closed, since the address makes too many."""
        delay_ms = self._opened_from(without_zone(ip), now_ms)
        if delay_ms > 0:
            one = self._listeners[listener]
            one.over_ip_rate += 1
            one.ip_delays.record(delay_ms, now_ms)
            if self.limits_rate(listener):  # else it was not counted
                one.rate.take_back(now_ms)
                if not self._is_protected(listener):
                    self._rate.take_back(now_ms)
        return delay_ms

    def ip_allowed(self, ip: str) -> bool:
        """Whether one more connection from `ip` is within its limit. 0 forbids an address."""
        ip = without_zone(ip)
        limit = self.per_ip_overrides.get(ip, self.max_connections_per_ip)
        return self._ip_counts.get(ip, 0) < limit

    def refused(self, listener: str) -> None:
        """One was closed because its address has `max.connections.per.ip` open."""
        self._listeners[listener].over_ip_limit += 1

    def opened(self, listener: str, ip: str) -> None:
        """Count a connection in."""
        self.total += 1
        self._listeners[listener].count += 1
        ip = without_zone(ip)
        self._ip_counts[ip] = self._ip_counts.get(ip, 0) + 1

    def closed(self, listener: str, ip: str) -> None:
        """Count a connection out, and let those listeners go on that waited for it."""
        ip = without_zone(ip)
        left = self._ip_counts[ip] - 1
        if left:
            self._ip_counts[ip] = left
        else:
            del self._ip_counts[ip]
        self.total -= 1
        one = self._listeners[listener]
        one.count -= 1
        assert self.total >= 0 and one.count >= 0
        self._resume()

    def exceeded_by(self, listener: str) -> int:
        """How many connections the broker has too many, if this listener is to give them up."""
        if self._is_protected(listener):
            return 0
        return max(0, self.total - self.max_connections)

    # --- what happened -------------------------------------------------------------------------

    def not_served(self, listener: str) -> Mapping[str, int]:
        """How often a listener made clients wait or closed their connections, by the reason."""
        one = self._listeners[listener]
        return {
            "max.connections": one.over_limit,
            "max.connections.per.ip": one.over_ip_limit,
            "max.connection.creation.rate": one.delayed,
            "connection_creation_rate": one.over_ip_rate,
        }

    def accept_throttle_ms(self, listener: str, now_ms: float) -> float:
        """How long a listener's connections had to wait lately since they came too fast, on
        average."""
        return self._listeners[listener].delays.average_ms(now_ms)

    def ip_throttle_ms(self, listener: str, now_ms: float) -> float:
        """The same of those that were closed, since their address makes too many."""
        return self._listeners[listener].ip_delays.average_ms(now_ms)

    def _resume(self) -> None:
        for name in list(self._waiting):
            if self.slot_available(name):
                self._waiting.pop(name)()

    def _kept_from(self, listener: str) -> int:
        if self._is_protected(listener) or not any(map(self._is_protected, self._listeners)):
            return 0
        return KEPT_FOR_BROKERS

    def _is_protected(self, listener: str) -> bool:
        return listener == self._inter_broker_listener and len(self._listeners) > 1
