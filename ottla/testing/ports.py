"""A port that stays ours while nobody listens on it.

A socket is bound to it and never listens: a broker beside it may (both say SO_REUSEADDR), a
connection to a broker that was killed is refused, and no outgoing connection is given the number.
So a broker that is started again has its port.
"""

from __future__ import annotations

import contextlib
import socket
import sys

from ottla.testing.errors import StartFailed

HOST = "127.0.0.1"
_SHARED = sys.platform.startswith("linux")
"""Elsewhere two sockets cannot be bound so; the port is given up for the moment of a start."""


class HeldPort:
    """A port of 127.0.0.1, held until it is released.

    `alone`  no other process may hold the number either. Connections that ended a minute ago may
             still have it: this is for numbers that are drawn, not for those that a user chose.

    Raises OSError where a number that was chosen is taken.
    """

    def __init__(self, number: int = 0, *, alone: bool = False) -> None:
        self._socket: socket.socket | None = None
        self.number = number
        self._take(alone)

    def lend(self) -> None:
        """A broker is about to listen on it."""
        if not _SHARED:
            self.release()

    def take_again(self) -> None:
        """The broker listens no more."""
        if self._socket is None:
            with contextlib.suppress(OSError):
                self._take()

    def release(self) -> None:
        """Give it up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _take(self, alone: bool = False) -> None:
        one = socket.socket()
        try:
            if not alone:  # of two sockets that both say it beforehand, each gets the number
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((HOST, self.number))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        except OSError:
            one.close()
            raise
        self.number = int(one.getsockname()[1])
        self._socket = one


def held(number: int) -> HeldPort:
    """A port, 0 for any. Raises StartFailed where the one that was chosen is taken."""
    try:
        return HeldPort(number)
    except OSError as error:
        raise StartFailed(
            f"port {number} is not free ({error.strerror}): choose another one, or 0 for any"
        ) from error
