"""Connections that are not served, and are closed a little later.

Closed at once, a client that tries again and again would come back as fast as it can; it waits as
long as nothing is said to it. Owns the sockets until then, a bounded number of them. Never: reads.
Follows the delayed closes of Kafka's Acceptor (KIP-612).
"""

from __future__ import annotations

import asyncio
import socket


class DelayedCloses:
    """Of one server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int) -> None:
        """`most` at once; further ones are closed without a delay (a descriptor is worth more)."""
        self._loop = loop
        self._most = most
        self._sockets: dict[socket.socket, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._sockets)

    def close_after(self, sock: socket.socket, delay_ms: float) -> None:
        """Close a socket then. It is this object's from now on."""
        if len(self._sockets) >= self._most:
            sock.close()
            return
        self._sockets[sock] = self._loop.call_later(delay_ms / 1000, self._close, sock)

    def close_all(self) -> None:
        """Close all now."""
        for sock, timer in list(self._sockets.items()):
            timer.cancel()
            self._close(sock)

    def _close(self, sock: socket.socket) -> None:
        del self._sockets[sock]
        sock.close()
