"""Log lines on why connections to another node fail, at a bounded rate.

A node retries a peer that it needs many times a second, and each try fails in the same way. So
there is a line about a peer once in `AGAIN_S`, or at once if the reason has changed. A peer that is
not running is logged at debug level only, and so are all failures without TLS and SASL. `latest`
returns the latest reason, for log lines of other modules.

Owns: the last line about each peer, and the latest reason, for `PEERS_MAX` peers.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable

from broker.security.client_guard import ClientGuard

_log = logging.getLogger(f"ottla.{__name__}")

AGAIN_S = 30.0
AT_ONCE_AGAIN_S = 1.0
"""The pause after a line even if the reason has changed, because two reasons may alternate."""
PEERS_MAX = 1_000
_NOT_RUNNING = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ETIMEDOUT)


class PeerWarnings:
    """The log lines about the connections that one `ClientGuard` secures."""

    def __init__(self, guard: ClientGuard, clock_s: Callable[[], float]) -> None:
        self._guard = guard
        self._clock_s = clock_s
        self._last_lines: dict[tuple[str, int], tuple[float, str]] = {}
        self._reasons: dict[tuple[str, int], str] = {}

    def warn(self, host: str, port: int, error: Exception) -> None:
        """Remember why a connection failed, for `latest`, and log it as a WARNING, unless the same
        line about the peer is recent.

        If the peer does not run, or needs neither TLS nor SASL, the line is at level DEBUG.
        """
        reason = self._guard.explain(error, host)
        self._remember_reason(host, port, reason)
        if not self._guard.is_secured or _is_not_running(error):
            _log.debug("no connection to %s:%d: %s", host, port, error)
            return
        now_s = self._clock_s()
        last_line = self._last_lines.pop((host, port), None)
        if last_line is not None:
            pause_s = AGAIN_S if last_line[1] == reason else AT_ONCE_AGAIN_S
            if now_s - last_line[0] < pause_s:
                self._last_lines[host, port] = last_line
                return
        elif len(self._last_lines) >= PEERS_MAX:
            del self._last_lines[next(iter(self._last_lines))]
        self._last_lines[host, port] = (now_s, reason)
        _log.warning("no connection to %s:%d (%s): %s", host, port, self._guard, reason)

    def connected(self, host: str, port: int) -> None:
        """Forget the reason of earlier failures: there is a connection now."""
        self._reasons.pop((host, port), None)

    def latest(self, host: str, port: int) -> str:
        """Return why the latest try to connect failed; "" if it succeeded or there was none."""
        return self._reasons.get((host, port), "")

    def _remember_reason(self, host: str, port: int, reason: str) -> None:
        """Remember the last reason for a peer; the oldest of more than PEERS_MAX is forgotten."""
        if (host, port) not in self._reasons and len(self._reasons) >= PEERS_MAX:
            del self._reasons[next(iter(self._reasons))]
        self._reasons[host, port] = reason


def _is_not_running(error: Exception) -> bool:
    """Return whether the peer does not run or its name is unknown (`socket.gaierror`)."""
    number = getattr(error, "errno", None)
    return number in _NOT_RUNNING or type(error).__name__ == "gaierror"
