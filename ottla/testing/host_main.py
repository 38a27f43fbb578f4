"""The program of the host, and of a broker where nothing is forked. It runs by its path alone.

host_main.py host FD     the host, whose channel is this descriptor
host_main.py child FD    one broker
host_main.py simulation FD    the simulated clusters of `ottla.testing.simulate`
"""

from __future__ import annotations

import os
import socket
import sys
from importlib import import_module

_ABOVE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main(role: str, descriptor: int) -> int:
    """Be what `role` says, until the other end of the descriptor is closed; the exit code."""
    if _ABOVE not in sys.path:
        sys.path.append(_ABOVE)  # last: the rest of that folder is not ours
    import_module("ottla.__main__").use_server()
    channel = socket.socket(fileno=descriptor)
    if role == "child":
        return int(import_module("testbed.child").serve(channel))
    if role == "simulation":
        return int(import_module("simulation.users.worker").serve(channel))
    host = import_module("testbed.host")
    host.Host(channel, os.path.abspath(__file__), can_fork=role == "host").run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
