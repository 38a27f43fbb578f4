"""Counts and a log of successful and failed authentications.

A failure is one log line with the peer, the listener and the reason; for most users it is the only
place that says why. The lines a second are limited; the next line says how many failures were not
logged. Never logs a secret: a reason is the text that the client gets, or a text of this node.

Metrics under Kafka's names: `successful-authentication-total`, `failed-authentication-total` and
their re-authentications, of each listener.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from broker.loop.log_limit import LogLimit, printable

_log = logging.getLogger(f"ottla.{__name__}")


class Logins:
    """The authentications of one listener: their counts and their log."""

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
        """Count a successful authentication in `succeeded`, or in `renewed` if `again`: it is the
        re-authentication of an open connection."""
        if again:
            self.renewed += 1
        else:
            self.succeeded += 1

    def failure(
        self, connection_id: str, peer: str, how: str, reason: str, *, again: bool = False
    ) -> None:
        """Count a failed authentication in `failed`, or in `failed_renewals` if `again`: it is the
        re-authentication of an open connection.

        Log it at WARNING, unless this second has its number of lines already. `how` is the SASL
        mechanism, or TLS.
        """
        if again:
            self.failed_renewals += 1
        else:
            self.failed += 1
        left_out = self._limit.next_line()
        if left_out is None:
            return
        suffix = f"; {left_out} failures before this one were not logged" if left_out else ""
        step = "re-authentication" if again else "authentication"
        _log.warning(
            "Failed %s with /%s on listener %s by %s (channelId=%s) (%s)%s",
            step,
            peer,
            self.listener_name,
            how,
            connection_id,
            printable(reason),
            suffix,
        )
