"""How many connections there may be: for the broker, a listener, an address.

Owns: the counts. Never: sockets; the Acceptor asks before and after it accepts.
Follows Kafka's `ConnectionQuotas` (KIP-402, and `max.connections.per.ip`):

* `max.connections` reached, of the broker or the listener: the Acceptor takes no new connection
  until one closes; they wait in the socket's backlog.
* The inter-broker listener is protected, where there are others too: `max.connections` of the
  broker does not hold it up; for each connection over the limit the least recently used one of
  another listener is closed.
* No descriptor left that partitions and files do not need (`room`): no listener takes a new
  connection; a protected one has the last few.
* `max.connections.per.ip` reached: the connection is accepted and closed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

UNLIMITED = 2**31 - 1
KEPT_FOR_BROKERS = 16
"""Of the descriptors for connections, where the inter-broker listener is protected."""


class ConnectionQuotas:
    """Counts of open connections and their limits. Limits may be set while it runs."""

    def __init__(
        self,
        max_connections: int = UNLIMITED,
        max_connections_per_ip: int = UNLIMITED,
        per_ip_overrides: Mapping[str, int] | None = None,
        inter_broker_listener: str | None = None,
        room: Callable[[], int] = lambda: UNLIMITED,
    ) -> None:
        """`room()`: how many more connections there are descriptors for."""
        self.max_connections = max_connections
        self.max_connections_per_ip = max_connections_per_ip
        self.per_ip_overrides = dict(per_ip_overrides or {})
        self.total = 0
        self._inter_broker_listener = inter_broker_listener
        self._room = room
        self._listener_limits: dict[str, int] = {}
        self._listener_counts: dict[str, int] = {}
        self._ip_counts: dict[str, int] = {}
        self._waiting: dict[str, Callable[[], None]] = {}

    def add_listener(self, name: str, max_connections: int = UNLIMITED) -> None:
        """A listener with its own `listener.name.<name>.max.connections`."""
        self._listener_limits[name] = max_connections
        self._listener_counts.setdefault(name, 0)

    def slot_available(self, listener: str) -> bool:
        """Whether the listener may take one more connection now."""
        if self._listener_counts[listener] >= self._listener_limits[listener]:
            return False
        if self.lacks_descriptors(listener):
            return False
        return self._is_protected(listener) or self.total < self.max_connections

    def lacks_descriptors(self, listener: str) -> bool:
        """Whether one more connection of the listener would take what others need."""
        return self._room() <= self._kept_from(listener)

    def _kept_from(self, listener: str) -> int:
        if self._is_protected(listener) or not any(map(self._is_protected, self._listener_limits)):
            return 0
        return KEPT_FOR_BROKERS

    def ip_allowed(self, ip: str) -> bool:
        """Whether one more connection from `ip` is within its limit. 0 forbids an address."""
        limit = self.per_ip_overrides.get(ip, self.max_connections_per_ip)
        return self._ip_counts.get(ip, 0) < limit

    def exceeded_by(self, listener: str) -> int:
        """How many connections the broker has too many, if this listener is to give them up."""
        if self._is_protected(listener):
            return 0
        return max(0, self.total - self.max_connections)

    def opened(self, listener: str, ip: str) -> None:
        """Count a connection in."""
        self.total += 1
        self._listener_counts[listener] += 1
        self._ip_counts[ip] = self._ip_counts.get(ip, 0) + 1

    def closed(self, listener: str, ip: str) -> None:
        """Count a connection out, and let those listeners go on that waited for it."""
        left = self._ip_counts[ip] - 1
        if left:
            self._ip_counts[ip] = left
        else:
            del self._ip_counts[ip]
        self.total -= 1
        self._listener_counts[listener] -= 1
        assert self.total >= 0 and self._listener_counts[listener] >= 0
        for name in list(self._waiting):
            if self.slot_available(name):
                self._waiting.pop(name)()

    def wait_for_slot(self, listener: str, resume: Callable[[], None]) -> None:
        """Call `resume` once, when the listener may accept again."""
        self._waiting[listener] = resume

    def _is_protected(self, listener: str) -> bool:
        return listener == self._inter_broker_listener and len(self._listener_limits) > 1
