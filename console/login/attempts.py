"""A limit on failed logins: for each address of clients, and for all together.

Pure: the caller passes the time in seconds.
"""

from __future__ import annotations

from collections import OrderedDict, deque

WITHIN_S = 60.0
FAILURES_MAX = 10
"""The failed logins of an address within WITHIN_S after which its next logins are rejected."""
ALL_FAILURES_MAX = 200
ADDRESSES_MAX = 1_000


class FailedLogins:
    """The failed logins of the last minute."""

    def __init__(self) -> None:
        self._all: deque[float] = deque(maxlen=ALL_FAILURES_MAX)
        self._by_address: OrderedDict[str, deque[float]] = OrderedDict()

    def wait_s(self, address: str, now: float) -> float:
        """Return the seconds until a client at this address may log in; 0: it may now."""
        own = self._by_address.get(address)
        return max(
            _wait_s(self._all, ALL_FAILURES_MAX, now),
            0.0 if own is None else _wait_s(own, FAILURES_MAX, now),
        )

    def add(self, address: str, now: float) -> None:
        """Count a failed login."""
        own = self._by_address.setdefault(address, deque(maxlen=FAILURES_MAX))
        self._by_address.move_to_end(address)
        if len(self._by_address) > ADDRESSES_MAX:
            self._by_address.popitem(last=False)
        own.append(now)
        self._all.append(now)


def _wait_s(failures: deque[float], most: int, now: float) -> float:
    return 0.0 if len(failures) < most else max(failures[0] + WITHIN_S - now, 0.0)
