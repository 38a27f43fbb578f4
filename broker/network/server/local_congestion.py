"""Congestion control without pacing for connections from this machine.

BBR models a bottleneck link, and sends by a timer at the rate it has measured. The loopback device
has no such link: the timers gain nothing, and take half of a sender's CPU. Reno is the only
algorithm that every Linux has and every user may choose. If the system's default does not pace,
nothing is changed.

A connection that begins with BBR stays paced even if its algorithm is changed later: Linux sets
`sk_pacing_status` and never resets it. So the listening socket gets Reno, which its connections
inherit, and connections from other machines get the system's default before anything is sent.

Owns: the choice of a connection's algorithm. Never: a network setting of the system.
"""

from __future__ import annotations

import socket

from broker.network.socket_calls import TCP_CONGESTION
from protocol.ip_address import address_of_socket

_LOOPBACK_OF_IPV6 = "0:0:0:0:0:0:0:1"
_PACING = (b"bbr",)
_UNPACED = b"reno"
_NAME_BYTES = 16
"""The longest name of an algorithm: TCP_CA_NAME_MAX of Linux."""


def begin_unpaced(listening: socket.socket) -> bytes:
    """Set a listening socket to an algorithm without pacing, if the system's default paces. Return
    the algorithm to set on connections from other machines, b"" if nothing was changed."""
    if TCP_CONGESTION is None:
        return b""
    try:
        default = listening.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, _NAME_BYTES)
        name = default.rstrip(b"\0")
        if not name.startswith(_PACING):
            return b""
        listening.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, _UNPACED)
    except OSError:
        return b""
    return name


def set_algorithm(sock: socket.socket, name: bytes) -> None:
    """Set a connection's algorithm to `name`; if the system refuses that, the connection keeps its
    own."""
    if TCP_CONGESTION is None:
        return
    try:
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name)
    except OSError:
        return


def is_local(sock: socket.socket, peer_host: str) -> bool:
    """Return whether the peer is on this machine, by the loopback device or an own address."""
    return peer_host.startswith("127.") or peer_host in (_LOOPBACK_OF_IPV6, _own_host(sock))


def _own_host(sock: socket.socket) -> str:
    """Return the socket's own address, or "" if it has none any more."""
    try:
        return address_of_socket(sock.getsockname())
    except OSError:
        return ""
