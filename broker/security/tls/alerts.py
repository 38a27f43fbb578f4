"""What a peer hears of a TLS handshake that fails.

The event loop closes the socket of a failed handshake, and what OpenSSL has to say about it stays
in memory: the client sees a connection that ends, and no reason. So the alert is sent before the
loop hears of the failure. Who sends what is no TLS gets an alert too, in clear.

The loop reads and writes past the methods of `ssl.SSLObject`, which only pass on what they are
given: it reads each TLS record by itself, and librdkafka makes them of 2 KB. A GB of these costs
0.94 times the CPU so.

Owns nothing. Never: changes a handshake that succeeds.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar

NO_TLS_ALERT = bytes.fromhex("15030300020250")
"""A fatal internal_error, in clear, as a running Kafka answers what is no TLS."""

send: ContextVar[Callable[[bytes], object] | None] = ContextVar("send", default=None)
"""Sends past the TLS layer, on the connection whose handshake begins in this context."""

heard: ContextVar[Callable[[], object] | None] = ContextVar("heard", default=None)
"""Is told that the peer of such a connection has said something."""

_GOES_ON = (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLSyscallError)


class AlertingSSLObject(ssl.SSLObject):
    """For `SSLContext.sslobject_class`."""

    _outgoing: ssl.MemoryBIO
    _send: Callable[[bytes], object] | None
    _heard: Callable[[], object] | None
    _begun: bool

    @classmethod
    def _create(
        cls, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: object, **more: object
    ) -> AlertingSSLObject:
        made: AlertingSSLObject = super()._create(incoming, outgoing, *args, **more)  # type: ignore[misc]
        made._outgoing, made._send = outgoing, send.get()
        made._heard, made._begun = heard.get(), False
        inner = made._sslobj  # type: ignore[attr-defined]
        made.read, made.write, made.pending = inner.read, inner.write, inner.pending  # type: ignore[method-assign]
        return made

    def do_handshake(self) -> None:
        """As ever; a failure is told first."""
        if self._begun and self._heard is not None:  # the loop calls again when something has come
            self._heard()
        self._begun = True
        try:
            super().do_handshake()
        except _GOES_ON:
            raise
        except ssl.SSLError:
            if self._send is not None:
                with suppress(OSError):  # the peer is gone, or takes nothing
                    self._send(self._outgoing.read() or NO_TLS_ALERT)
            raise
