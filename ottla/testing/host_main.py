"""The program of the host, and of a broker that is not forked. It runs by its path alone.

host_main.py host FD           the host, whose channel is this descriptor
host_main.py spawning-host FD  the host, where brokers are not forked
host_main.py child FD          a single broker
host_main.py simulation FD     the simulated clusters of `ottla.testing.simulate`
"""

from __future__ import annotations

import os
import socket
import sys
from importlib import import_module

_PARENT_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main(role: str, descriptor: int) -> int:
    """Run as the process that `role` names, until the other end of the socket `descriptor` is
    closed. Return the exit code. Puts the server's packages on the import path first."""
    if _PARENT_FOLDER not in sys.path:
        # last, because other packages of that folder are not Ottla's
        sys.path.append(_PARENT_FOLDER)
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
