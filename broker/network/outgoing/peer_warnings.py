"""Lines of the log on why another node lets nobody in, and not too many of them.

Whoever needs a node tries it many times a second, and each try fails in the same way. A line is
written for a peer once in `AGAIN_S`, or at once where the reason has changed. That nobody is there
is no news, and a connection without TLS and SASL has no more to tell. Who needs that peer may ask
for the latest reason, and say it among others.

Owns what was said last about each peer, and the latest reason, for `PEERS_MAX` of them.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable

from broker.security.client_guard import ClientGuard

_log = logging.getLogger(f"ottla.{__name__}")

AGAIN_S = 30.0
AT_ONCE_AGAIN_S = 1.0
"""Also for another reason not more often: two of them may take turns."""
PEERS_MAX = 1_000
_NOT_THERE = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT)


class PeerWarnings:
    """Of one kind of connections."""

    def __init__(self, guard: ClientGuard, clock_s: Callable[[], float]) -> None:
        self._guard = guard
        self._clock_s = clock_s
        self._said: dict[tuple[str, int], tuple[float, str]] = {}
        self._reasons: dict[tuple[str, int], str] = {}

    def tell(self, host: str, port: int, error: Exception) -> None:
        """There is no connection, and this is why."""
        reason = self._guard.explain(error, host)
        self._note(host, port, reason)
        if not self._guard.is_secured or _nobody_is_there(error):
            _log.debug("no connection to %s:%d: %s", host, port, error)
            return
        now_s = self._clock_s()
        before = self._said.pop((host, port), None)
        if before is not None:
            pause_s = AGAIN_S if before[1] == reason else AT_ONCE_AGAIN_S
            if now_s - before[0] < pause_s:
                self._said[host, port] = before
                return
        elif len(self._said) >= PEERS_MAX:
            del self._said[next(iter(self._said))]
        self._said[host, port] = (now_s, reason)
        _log.warning("no connection to %s:%d (%s): %s", host, port, self._guard, reason)

    def connected(self, host: str, port: int) -> None:
        """There is a connection."""
        self._reasons.pop((host, port), None)

    def latest(self, host: str, port: int) -> str:
        """Why the latest try led to no connection; empty where it did, or there was none."""
        return self._reasons.get((host, port), "")

    def _note(self, host: str, port: int, reason: str) -> None:
        if (host, port) not in self._reasons and len(self._reasons) >= PEERS_MAX:
            del self._reasons[next(iter(self._reasons))]
        self._reasons[host, port] = reason


def _nobody_is_there(error: Exception) -> bool:
    """Or no name, which is told by `socket.gaierror`."""
    number = getattr(error, "errno", None)
    return number in _NOT_THERE or type(error).__name__ == "gaierror"
