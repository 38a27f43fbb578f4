"""Ports for tests: each is reserved from its choice until the test gives it back.

Without that another test may take a port before the broker listens there, or while the broker is
down. So a socket that never listens reserves the port (`ottla.testing.ports`). The numbers are
below the system's ports for outgoing connections: such a connection may use a port on another
address than 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import random

from command.cluster_layout import PORTS as OF_A_CLUSTER
from ottla.testing.ports import HeldPort

_FIRST, _LAST = 10_000, 32_000
_DRAWS_MAX = 10_000
_random = (
    random.SystemRandom()
)  # Hypothesis seeds the module's generator: each process would draw the same


class Ports:
    """A set of reserved ports, which `close` gives back together."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()

    def take(self, row: int = 1) -> int:
        """Return a port, or the first of `row` ports with consecutive numbers.

        Raises AssertionError if there are none.
        """
        for _ in range(_DRAWS_MAX):
            first = _random.randrange(_FIRST, _LAST - row)
            with contextlib.suppress(OSError):
                self._hold(range(first, first + row))
                return first
        raise AssertionError(f"no {row} ports in a row are free")

    def close(self) -> None:
        """Give back all ports of this set."""
        self._held.close()

    def _hold(self, numbers: range) -> None:
        """Reserve all of these ports, or none: then it raises OSError, because one is in use."""
        with contextlib.ExitStack() as taken:
            for number in numbers:
                port = HeldPort(number, alone=True)
                taken.callback(port.release)
                port.allow_broker()  # its user may listen at any time
            self._held.enter_context(taken.pop_all())


_of_module = Ports()


def free_port() -> int:
    """Return a port that is reserved until the test module ends."""
    return _of_module.take()


def free_base() -> int:
    """Return the first of the ports of an `ottla cluster`, reserved until the test module ends."""
    return _of_module.take(OF_A_CLUSTER)


def give_back() -> None:
    """Give back the ports of `free_port` and `free_base`."""
    _of_module.close()
