"""A listener's socket: its addresses, and the options that its connections inherit.

Owns nothing. Never: accepts.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from broker.config.applied_keys import limits_of
from broker.config.values import BrokerConfig
from broker.network.limits.connection_quotas import UNLIMITED
from broker.network.limits.creation_rates import UNLIMITED_RATE

if TYPE_CHECKING:
    from broker.security.listener_guard import ListenerGuard


@dataclass(frozen=True, slots=True)
class Listener:
    """An entry of `listeners`, with the keys that `listener.name.<name>.` may override."""

    name: str
    host: str
    """The host to bind. Empty, or the wildcard of either family, means all interfaces, IPv4 and
    IPv6, as in Java."""
    port: int
    """The port to bind; 0 for a free one, which `SocketServer.ports` returns."""
    security_protocol: str = "PLAINTEXT"
    max_connections: int = UNLIMITED
    num_network_threads: int | None = None
    max_connection_creation_rate: int = UNLIMITED_RATE
    """The limit on new connections a second."""
    guard: ListenerGuard | None = None
    """The guard that authenticates clients; None on a PLAINTEXT listener."""


def limited(listener: Listener, config: BrokerConfig) -> Listener:
    """Return the listener with the limits of this configuration."""
    return replace(listener, **limits_of(config, listener.name)._asdict())


def _is_wildcard(host: str) -> bool:
    """Return whether `host` means all interfaces."""
    if host in ("", "0.0.0.0"):
        return True
    try:
        return not any(socket.inet_pton(socket.AF_INET6, host))
    except OSError:  # a name, or an address of IPv4
        return False


async def bind(
    loop: asyncio.AbstractEventLoop,
    listener: Listener,
    config: BrokerConfig,
    shares_its_port: bool,
) -> socket.socket:
    """Return a listening socket, whose options the accepted connections inherit on Linux.

    A wildcard serves both families, unless a listener of the other family `shares_its_port`. Raises
    OSError, naming the listener.
    """
    if _is_wildcard(listener.host) and not shares_its_port:
        try:
            at = ("::", listener.port)
            return _listening_socket(socket.AF_INET6, at, listener, config, both_families=True)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                raise
            return _listening_socket(socket.AF_INET, ("0.0.0.0", listener.port), listener, config)
    try:
        candidates = await loop.getaddrinfo(
            listener.host, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise _cannot_listen(listener, error) from error
    # IPv4 first, as Java resolves names.
    family, _, _, _, address = min(candidates, key=lambda info: info[0] != socket.AF_INET)
    return _listening_socket(family, address, listener, config)


def _listening_socket(
    family: int,
    address: tuple[object, ...],
    listener: Listener,
    config: BrokerConfig,
    *,
    both_families: bool = False,
) -> socket.socket:
    """Return a socket that listens; the OSError that it raises names the listener's address."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if config.socket_send_buffer_bytes != -1:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, config.socket_send_buffer_bytes)
        if config.socket_receive_buffer_bytes != -1:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, config.socket_receive_buffer_bytes)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not both_families))
        sock.bind(address)
        sock.listen(config.socket_listen_backlog_size)
    except OSError as error:
        sock.close()
        raise _cannot_listen(listener, error) from error
    return sock


def _cannot_listen(listener: Listener, error: OSError) -> OSError:
    """Return an OSError with the same number, whose text names the listener and its address."""
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    address = f"{listener.name}://{host}:{listener.port}"
    return OSError(error.errno, f"cannot listen on {address} (listeners): {error.strerror}")
