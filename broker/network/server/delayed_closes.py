"""Rejected connections that are closed after a delay.

A client whose connection is closed at once may reconnect at once; while the connection stays open
without an answer, it waits. Owns: the sockets until then, a bounded number of them. Never: reads.
Follows the delayed closes of Kafka's Acceptor (KIP-612).
"""

from __future__ import annotations

import asyncio
import socket


class DelayedCloses:
    """The delayed closes of one server."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sockets_max: int) -> None:
        """Keep at most `sockets_max` sockets open; close further ones at once, to save
        descriptors."""
        self._loop = loop
        self._sockets_max = sockets_max
        self._sockets: dict[socket.socket, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._sockets)

    def close_after(self, sock: socket.socket, delay_ms: float) -> None:
        """Close a socket after `delay_ms`, or at once if `sockets_max` are waiting. This object
        owns it from now on."""
        if len(self._sockets) >= self._sockets_max:
            sock.close()
            return
        self._sockets[sock] = self._loop.call_later(delay_ms / 1000, self._close, sock)

    def close_all(self) -> None:
        """Close all sockets now."""
        for sock, timer in list(self._sockets.items()):
            timer.cancel()
            self._close(sock)

    def _close(self, sock: socket.socket) -> None:
        """Close a socket now, and forget it."""
        del self._sockets[sock]
        sock.close()
