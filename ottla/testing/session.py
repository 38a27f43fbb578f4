"""The brokers of a whole session of tests: started once, emptied for each test.

Owns them. Tests that want other properties get another one; only a few are kept running.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.testing.broker import Broker
from ottla.testing.errors import OttlaError

_RUNNING_MAX = 4


class SessionBrokers:
    """See the module."""

    def __init__(self, *, keep_data: bool = False) -> None:
        self._keep_data = keep_data
        self._brokers: dict[tuple[tuple[str, str], ...], Broker] = {}
        """By properties, the least recently used first."""

    def emptied(self, properties: Mapping[str, str]) -> Broker:
        """A broker with these properties and nothing in it."""
        key = tuple(sorted((name, str(value)) for name, value in properties.items()))
        broker = self._brokers.pop(key, None)
        if broker is None or not self._is_emptied(broker):
            while len(self._brokers) >= _RUNNING_MAX:
                self._brokers.pop(next(iter(self._brokers))).close()
            broker = self._started(properties)
        self._brokers[key] = broker
        return broker

    def close(self) -> None:
        """End all of them."""
        while self._brokers:
            self._brokers.popitem()[1].close()

    def _started(self, properties: Mapping[str, str]) -> Broker:
        broker = Broker(properties, keep_data=self._keep_data)
        try:
            return broker.start()
        except BaseException:
            broker.close()
            raise

    @staticmethod
    def _is_emptied(broker: Broker) -> bool:
        """Whether it is as good as new. One that a test killed or paused is given up."""
        try:
            broker.call("reset", timeout_s=5)
        except OttlaError:
            broker.close()
            return False
        return True
