"""Ports that stay reserved while no broker listens on them.

A socket is bound to the port and never listens. A broker may bind to it as well, because both set
SO_REUSEADDR. While no broker listens, connections to the port are refused, and the kernel gives the
number to no outgoing connection. So a broker that is restarted gets its port again.
"""

from __future__ import annotations

import contextlib
import socket
import sys

from ottla.testing.errors import StartFailed

HOST = "127.0.0.1"
_SHARED = sys.platform.startswith("linux")
"""Whether two sockets can be bound to a port like this. Elsewhere the port is released while a
broker starts."""


class HeldPort:
    """A port of 127.0.0.1 that is reserved until `release`.

    `alone`  also fail if another socket shares the port. The kernel keeps the number of a closed
             connection for a minute, so set this only for drawn numbers, not for numbers that a
             user chose.

    Raises OSError if a chosen number is in use.
    """

    def __init__(self, number: int = 0, *, alone: bool = False) -> None:
        """Reserve a port. `number` 0: a free port, which the attribute `number` then names.
        `alone`: no other socket may share the port. Raises OSError if it is in use."""
        self._socket: socket.socket | None = None
        self.number = number
        self._reserve(alone)

    def allow_broker(self) -> None:
        """Let a broker listen on the port. On Linux the reservation stays, because two sockets can
        share a port; elsewhere it is released."""
        if not _SHARED:
            self.release()

    def reserve_again(self) -> None:
        """Reserve the port again after the broker has ended. If another process uses it by now, it
        stays unreserved."""
        if self._socket is None:
            with contextlib.suppress(OSError):
                self._reserve()

    def release(self) -> None:
        """End the reservation, so that other processes can use the port."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _reserve(self, alone: bool = False) -> None:
        """Bind a socket to the port, or to a free port if `number` is 0. Set `number` to the bound
        port.

        Raises OSError if the port is in use. `alone`: no socket that shares addresses may use it
        either.
        """
        reserved = socket.socket()
        try:
            if not alone:  # two sockets can share a port if both set this before they bind
                reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind((HOST, self.number))
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        except OSError:
            reserved.close()
            raise
        self.number = int(reserved.getsockname()[1])
        self._socket = reserved


def held(number: int) -> HeldPort:
    """Return a reserved port; `number` 0: any free port. Raises StartFailed if the chosen port is
    in use."""
    try:
        return HeldPort(number)
    except OSError as error:
        raise StartFailed(
            f"port {number} is not free ({error.strerror}): choose another one, or 0 for any"
        ) from error
