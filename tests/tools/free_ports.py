"""Ports for a cluster of a test: as many in a row as `ottla cluster` may take."""

from __future__ import annotations

import os
import socket

from broker.command.cluster_layout import PORTS

_FIRST, _LAST = 21_000, 32_000  # below those that the system gives to clients
_BLOCKS = (_LAST - _FIRST) // PORTS


def free_base() -> int:
    """The first of PORTS free ports of 127.0.0.1; test processes start looking apart."""
    for attempt in range(_BLOCKS):
        base = _FIRST + (os.getpid() * 7 + attempt) % _BLOCKS * PORTS
        if all(_is_free(port) for port in range(base, base + PORTS)):
            return base
    raise AssertionError("no ports are free")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
