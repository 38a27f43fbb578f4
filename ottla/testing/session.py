"""The brokers of a whole session of tests: started once, emptied before each test.

It owns these brokers. Tests with other properties get another broker; at most four are kept
running. If `OTTLA_BOOTSTRAP_SERVERS` names a running cluster, all tests get that cluster as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ottla.testing.broker import Broker
from ottla.testing.broker_factory import BrokerFactory
from ottla.testing.errors import NotPossible, OttlaError
from ottla.testing.remote import VARIABLE, RunningCluster

_RUNNING_MAX = 4
_RESET_TIMEOUT_S = 60.0


class SessionBrokers:
    """The brokers of a session, by their properties."""

    def __init__(self, *, keep_data: bool = False, bootstrap_servers: str = "") -> None:
        """Prepare the session; brokers start at their first use. `bootstrap_servers` is a running
        cluster to use instead, `host:port,…`; empty: none. `keep_data`: do not remove the brokers'
        folders."""
        self._start = BrokerFactory(keep_data=keep_data)
        self._bootstrap_servers = bootstrap_servers
        self._running: RunningCluster | None = None
        self._brokers: dict[tuple[tuple[str, str], ...], Broker] = {}
        """The brokers by their properties, the least recently used first."""

    def broker_with(self, properties: Mapping[str, str]) -> Broker:
        """Return a running broker with these properties and no contents: one from an earlier test,
        reset, or a new one. Above four brokers, the least recently used is closed. With
        `bootstrap_servers`, return that cluster, not emptied; raises NotPossible if there are
        properties."""
        if self._bootstrap_servers:
            return self._running_cluster(properties)
        key = tuple(sorted((name, str(value)) for name, value in properties.items()))
        broker = self._brokers.pop(key, None)
        if broker is None or not self._is_emptied(broker):
            while len(self._brokers) >= _RUNNING_MAX:
                self._brokers.pop(next(iter(self._brokers))).close()
            broker = self._start(properties)
        self._brokers[key] = broker
        return broker

    def close(self) -> None:
        """End all brokers of the session, and the connection to a running cluster."""
        if self._running is not None:
            self._running.close()
        while self._brokers:
            self._brokers.popitem()[1].close()

    def _running_cluster(self, properties: Mapping[str, str]) -> Broker:
        """Return the cluster that was running already, prepared for the next test but not emptied.

        Raises NotPossible if properties are given.
        """
        if properties:
            raise NotPossible(f"a running cluster is not given properties, and {VARIABLE} is set")
        if self._running is None:
            self._running = RunningCluster(self._bootstrap_servers)
        self._running.begin_test()
        return cast(Broker, self._running)  # it raises NotPossible for what it cannot do

    @staticmethod
    def _is_emptied(broker: Broker) -> bool:
        """Reset a broker for the next test, and return whether that succeeded. If not, close it and
        return False: a test may have killed it, or moved its clocks, which do not go back."""
        if broker.is_ahead:
            broker.close()
            return False
        try:
            broker.resume()  # a test may have paused it
            broker.reset(timeout_s=_RESET_TIMEOUT_S)
        except OttlaError:
            broker.close()
            return False
        return True
