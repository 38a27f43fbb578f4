"""Says and counts who has authenticated, and who has failed to.

A failure is one line with the peer, the listener and the reason, for most users the only place
where they learn why. At most so many a second are logged; the others are counted, and told with the
next line. Never has a secret: reasons are those that the client is told, or our own words.

Metrics under Kafka's names: `successful-authentication-total`, `failed-authentication-total` and
their re-authentications, of each listener.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker.loop.log_limit import LogLimit, printable

_log = logging.getLogger(f"ottla.{__name__}")


class Logins:
    """Of one listener."""

    def __init__(
        self,
        listener_name: str,
        logged_per_second: int,
        clock_s: Callable[[], float],
    ) -> None:
        self.listener_name = listener_name
        self.succeeded = 0
        self.failed = 0
        self.renewed = 0
        self.failed_renewals = 0
        self._limit = LogLimit(logged_per_second, clock_s)

    def success(self, *, again: bool = False) -> None:
        """Somebody has authenticated; `again`: on a connection on which they had before."""
        if again:
            self.renewed += 1
        else:
            self.succeeded += 1

    def failure(
        self, connection_id: str, peer: str, how: str, reason: str, *, again: bool = False
    ) -> None:
        """Somebody has failed to; `how`: by which SASL mechanism, or by TLS."""
        if again:
            self.failed_renewals += 1
        else:
            self.failed += 1
        left_out = self._limit.next_line()
        if left_out is None:
            return
        more = f"; {left_out} failures before this one were not logged" if left_out else ""
        what = "re-authentication" if again else "authentication"
        _log.warning(
            "Failed %s with /%s on listener %s by %s (channelId=%s) (%s)%s",
            what,
            peer,
            self.listener_name,
            how,
            connection_id,
            printable(reason),
            more,
        )
