"""The ports of a cluster on this machine, tried before its nodes start.

Owns no socket longer than a test of it. Never reserves a port, so another process may still take it
before the node does.
"""

from __future__ import annotations

import errno
import socket

from broker.config.start_error import StartError
from command.cluster_layout import HOST, PORTS, ClusterLayout

_FREE_BASES = range(19092, 60000, 1000)


def refuse_taken_ports(layout: ClusterLayout) -> None:
    """Check that the ports of a cluster's nodes are free. Raises StartError for the first in
    use."""
    for node in layout.nodes:
        refuse_taken_port(node.node_id, node.port, "is the cluster running already?")
        if node.controller_port is not None:
            advice = "is the cluster running already?"
            if layout.is_dynamic and len(layout.controllers) > 1:
                advice += " A cluster that has run before keeps this port."
            refuse_taken_port(node.node_id, node.controller_port, advice)


def refuse_taken_port(node_id: int, port: int, advice: str = "") -> None:
    """Check that a port of a node is free. Raises StartError, with `advice` before that to choose
    other ports."""
    if not _is_free(port):
        free = next((base for base in _FREE_BASES if _all_free(base)), None)
        hint = f", for example --port {free}" if free is not None else ""
        choose = f"{advice} Or choose others" if advice else "choose others"
        raise StartError(f"port {port} for node {node_id} is taken: {choose}{hint}")


def _all_free(base: int) -> bool:
    """Return whether all ports that a cluster from `base` on may use are free. Raises StartError
    for a port that needs a privileged user."""
    return all(_is_free(port) for port in range(base, base + PORTS))


def _is_free(port: int) -> bool:
    """Return whether the port is free on every address of HOST, because a node binds them all.

    Raises StartError for a port that needs a privileged user.
    """
    for family, kind, _, _, address in socket.getaddrinfo(HOST, port, type=socket.SOCK_STREAM):
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return False
                if error.errno == errno.EACCES:
                    raise StartError(f"port {port} is not for ordinary users") from error
    return True
