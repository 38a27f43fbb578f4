"""Congestion control of connections from this machine: none that paces.

Owns: which algorithm such a connection gets. Never: connections of other machines; they keep what
the system has chosen for its network.

BBR models a bottleneck link, and sends by a timer at the rate it has measured. The loopback device
has no such link: the timers buy nothing, and double the sender's CPU (0.22 s of a core a GB sent
with sendfile; 0.11 with reno or cubic). Reno is the one algorithm that every Linux has and every
user may ask for. Where the system's default does not pace, nothing is changed.
"""

from __future__ import annotations

import socket

_PACING = (b"bbr",)
_UNPACED = b"reno"
_NAME_BYTES = 16
"""TCP_CA_NAME_MAX of Linux."""


def paces(sock: socket.socket) -> bool:
    """Whether this socket's congestion control sends by a timer; False where none can be told."""
    if not hasattr(socket, "TCP_CONGESTION"):
        return False
    try:
        name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _NAME_BYTES)
    except OSError:
        return False
    return name.rstrip(b"\0").startswith(_PACING)


def is_local(sock: socket.socket, peer_host: str) -> bool:
    """Whether the peer is on this machine: by the loopback device, or by an address of its own."""
    return peer_host.startswith("127.") or peer_host in ("::1", _own_host(sock))


def stop_pacing(sock: socket.socket) -> None:
    """Send as fast as the peer takes it. Where the system refuses, all stays as it was."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _UNPACED)
    except OSError:
        return


def _own_host(sock: socket.socket) -> str:
    try:
        return str(sock.getsockname()[0]).removeprefix("::ffff:")
    except OSError:
        return ""
