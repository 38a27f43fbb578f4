"""A listening socket: which addresses it has, and the options that its connections inherit.

Owns nothing but the settings. Never: accepts.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from broker.network.connection_quotas import UNLIMITED


@dataclass(frozen=True, slots=True)
class Listener:
    """One of `listeners`, with what `listener.name.<name>.` may override."""

    name: str
    host: str
    """Empty, or the wildcard of one family: all interfaces, IPv4 and IPv6 (as Java binds them)."""
    port: int
    """0: one that is free, told by `SocketServer.ports`."""
    security_protocol: str = "PLAINTEXT"
    max_connections: int = UNLIMITED
    num_network_threads: int | None = None
    ssl_context: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Kafka's keys, with Kafka's defaults; `partial_frame_timeout_ms` is Ottla's own."""

    num_network_threads: int = 3
    queued_max_requests: int = 500
    queued_max_request_bytes: int = 1024 * 1024 * 1024
    """Here as many as they are: the shell has put a share of the memory in place of -1."""
    socket_request_max_bytes: int = 100 * 1024 * 1024
    socket_listen_backlog_size: int = 50
    socket_send_buffer_bytes: int = 100 * 1024
    """-1: as the operating system has it."""
    socket_receive_buffer_bytes: int = 100 * 1024
    """-1: as the operating system has it."""
    max_connections: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """By address or host name."""
    connections_max_idle_ms: int = 600_000
    partial_frame_timeout_ms: int = 30_000
    inter_broker_listener_name: str | None = None


def _is_wildcard(host: str) -> bool:
    """Whether all interfaces are meant."""
    if host in ("", "0.0.0.0"):
        return True
    try:
        return not any(socket.inet_pton(socket.AF_INET6, host))
    except OSError:  # a name, or an address of IPv4
        return False


async def bind(
    loop: asyncio.AbstractEventLoop,
    listener: Listener,
    settings: NetworkSettings,
    shares_its_port: bool,
) -> socket.socket:
    """A listening socket; options are inherited by the connections it accepts (Linux does so).

    A wildcard serves both families, unless a listener of the other one `shares_its_port`.
    """
    if _is_wildcard(listener.host) and not shares_its_port:
        try:
            at = ("::", listener.port)
            return _listen(socket.AF_INET6, at, listener, settings, both_families=True)
        except OSError as error:
            if error.errno not in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL):
                raise
            return _listen(socket.AF_INET, ("0.0.0.0", listener.port), listener, settings)
    try:
        found = await loop.getaddrinfo(
            listener.host, listener.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise _cannot_listen(listener, error) from error
    # IPv4 first, as Java resolves names.
    family, _, _, _, address = min(found, key=lambda info: info[0] != socket.AF_INET)
    return _listen(family, address, listener, settings)


def _listen(
    family: int,
    address: tuple[object, ...],
    listener: Listener,
    settings: NetworkSettings,
    *,
    both_families: bool = False,
) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if settings.socket_send_buffer_bytes != -1:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, settings.socket_send_buffer_bytes)
        if settings.socket_receive_buffer_bytes != -1:
            sock.setsockopt(
                socket.SOL_SOCKET, socket.SO_RCVBUF, settings.socket_receive_buffer_bytes
            )
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not both_families))
        sock.bind(address)
        sock.listen(settings.socket_listen_backlog_size)
    except OSError as error:
        sock.close()
        raise _cannot_listen(listener, error) from error
    return sock


def _cannot_listen(listener: Listener, error: OSError) -> OSError:
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    where = f"{listener.name}://{host}:{listener.port}"
    return OSError(error.errno, f"cannot listen on {where} (listeners): {error.strerror}")
