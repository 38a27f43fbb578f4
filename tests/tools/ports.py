"""Ports for tests: each is held from the moment when it is chosen until it is given back.

A port that is chosen and let go may be taken by another test before its broker listens there, or
while the broker is down. So a socket that never listens keeps it (`ottla.testing.ports`). Numbers
are below those that the system gives to outgoing connections, which may have one of these on
another address than 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import random

from command.cluster_layout import PORTS as OF_A_CLUSTER
from ottla.testing.ports import HeldPort

_FIRST, _LAST = 10_000, 32_000
_DRAWS_MAX = 10_000
_random = random.SystemRandom()  # Hypothesis seeds the common one: each process would draw the same


class Ports:
    """Ports that their user gives back together, by `close`."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()

    def take(self, row: int = 1) -> int:
        """Return a port, or the first of as many in a row as `row` says."""
        for _ in range(_DRAWS_MAX):
            first = _random.randrange(_FIRST, _LAST - row)
            with contextlib.suppress(OSError):
                self._hold(range(first, first + row))
                return first
        raise AssertionError(f"no {row} ports in a row are free")

    def close(self) -> None:
        """Give all of them back."""
        self._held.close()

    def _hold(self, numbers: range) -> None:
        """Hold all of them. Raises OSError, and holds none, where one is taken."""
        with contextlib.ExitStack() as taken:
            for number in numbers:
                port = HeldPort(number, alone=True)
                taken.callback(port.release)
                port.lend()  # its user may listen at any time
            self._held.enter_context(taken.pop_all())


_of_module = Ports()


def free_port() -> int:
    """Return a port that is held until the test module ends."""
    return _of_module.take()


def free_base() -> int:
    """Return the first of as many ports as `ottla cluster` may take, held until the module ends."""
    return _of_module.take(OF_A_CLUSTER)


def give_back() -> None:
    """Give back what `free_port` and `free_base` have handed out."""
    _of_module.close()
