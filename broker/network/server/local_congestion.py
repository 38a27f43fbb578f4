"""Congestion control of connections from this machine: none that paces.

BBR models a bottleneck link, and sends by a timer at the rate it has measured. The loopback device
has no such link: the timers buy nothing, and take half of a sender's CPU. Reno is the one algorithm
that every Linux has and every user may ask for. Where the system's default does not pace, nothing
is changed.

A connection that has begun with BBR is paced for good, whatever it is told to use later: Linux sets
`sk_pacing_status` and has nothing that takes it back. So the listening socket itself is told, whose
connections begin as it is, and those of other machines are given what the system has chosen for its
network, before anything is sent.

Owns: which algorithm a connection gets.
"""

from __future__ import annotations

import socket

from broker.network.socket_calls import TCP_CONGESTION
from protocol.ip_address import address_of_socket

_LOOPBACK_OF_IPV6 = "0:0:0:0:0:0:0:1"
_PACING = (b"bbr",)
_UNPACED = b"reno"
_NAME_BYTES = 16
"""TCP_CA_NAME_MAX of Linux."""


def begin_unpaced(listening: socket.socket) -> bytes:
    """Have its connections begin without pacing. The algorithm that those of other machines are to
    be given, or nothing where all keep what they begin with."""
    if TCP_CONGESTION is None:
        return b""
    try:
        told = listening.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, _NAME_BYTES)
        name = told.rstrip(b"\0")
        if not name.startswith(_PACING):
            return b""
        listening.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, _UNPACED)
    except OSError:
        return b""
    return name


def give(sock: socket.socket, name: bytes) -> None:
    """Have this connection use the algorithm `name`. Where the system refuses, it keeps its own."""
    if TCP_CONGESTION is None:
        return
    try:
        sock.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, name)
    except OSError:
        return


def is_local(sock: socket.socket, peer_host: str) -> bool:
    """Whether the peer is on this machine: by the loopback device, or by an address of its own."""
    return peer_host.startswith("127.") or peer_host in (_LOOPBACK_OF_IPV6, _own_host(sock))


def _own_host(sock: socket.socket) -> str:
    try:
        return address_of_socket(sock.getsockname())
    except OSError:
        return ""
