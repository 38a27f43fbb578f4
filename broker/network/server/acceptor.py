"""Accepting the connections of one listener, as the limits of connections allow it.

Owns: the listening socket, and when it is watched. A limit that is reached, or a lack of
descriptors, never makes a busy loop of it (KAFKA-13457) and harms nobody who is connected: who is
new waits in the backlog. Never: reads from a connection, which is its processor's.
Follows the Acceptor of Kafka's `SocketServer`.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import socket
from collections.abc import Callable, Sequence

from broker.network.limits.connection_quotas import ConnectionQuotas
from broker.network.server import local_congestion
from broker.network.server.delayed_closes import DelayedCloses
from broker.network.server.listening_socket import Listener
from broker.network.server.processor import Processor
from protocol.ip_address import address_of_socket

_log = logging.getLogger(f"ottla.{__name__}")

_ACCEPTS_PER_TURN = 16
_ACCEPT_PAUSE_S = 0.5
"""Without descriptors or memory: the time until the next try. Meanwhile connections wait in the
backlog; watching the socket would be a busy loop (KAFKA-13457)."""
_TELL_LACK_S = 60.0
_OF_ONE_CONNECTION = (errno.ECONNABORTED, errno.EPROTO, errno.ECONNRESET, errno.EPERM)


class Acceptor:
    """Accepts the connections of one listener and deals them out to its processors."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: Listener,
        sock: socket.socket,
        processors: Sequence[Processor],
        quotas: ConnectionQuotas,
        admitted: Callable[[], None],
        throttled: DelayedCloses,
    ) -> None:
        """`admitted()`: there is one connection more. `throttled` closes those of addresses that
        make too many."""
        self.listener = listener
        self.processors = list(processors)
        """Those that new connections are dealt out to."""
        self.leaving: list[Processor] = []
        """Those that keep the connections that they have, and get no more."""
        self._loop = loop
        self._socket = sock
        self._turn = 0
        self._throttled = throttled
        self._quotas = quotas
        self._blocked_s = 0.0
        self._blocked_at_s: float | None = None
        # The next connection is counted for its rate, and has waited as long as it must.
        self._next_has_waited = False
        self._admitted = admitted
        self._watching = False
        self._closed = False
        self._retry: asyncio.TimerHandle | None = None
        self._tell_lack_at_s = -math.inf
        self._failing = False
        self._for_other_machines = local_congestion.begin_unpaced(sock)

    @property
    def port(self) -> int:
        """The port it is bound to."""
        return int(self._socket.getsockname()[1])

    @property
    def blocked_s(self) -> float:
        """For how many seconds it has taken nobody, since a limit forbade it."""
        now_s = 0.0 if self._blocked_at_s is None else self._loop.time() - self._blocked_at_s
        return self._blocked_s + now_s

    def start(self) -> None:
        """Accept from now on."""
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if not self._closed and not self._watching:
            self._blocked_s = self.blocked_s
            self._blocked_at_s = None
            self._watching = True
            self._loop.add_reader(self._socket.fileno(), self._accept_ready)

    def deal_out_to(self, processors: Sequence[Processor]) -> None:
        """New connections go to these from now on; others keep what they have."""
        self.leaving = [one for one in (*self.leaving, *self.processors) if one not in processors]
        self.processors = list(processors)

    def drop_empty(self) -> None:
        """Forget those that got no more, and have nothing left."""
        for one in self.leaving:
            if not one.connection_count:
                one.close()
        self.leaving = [one for one in self.leaving if one.connection_count]

    def close(self) -> None:
        """Stop listening. Connections in the backlog are refused."""
        self._pause()
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
        self._socket.close()

    def _pause(self) -> None:
        if self._watching:
            self._blocked_at_s = self._loop.time()
            self._watching = False
            self._loop.remove_reader(self._socket.fileno())

    def _accept_ready(self) -> None:
        for taken in range(_ACCEPTS_PER_TURN):
            if not self._quotas.slot_available(self.listener.name):
                if not taken:  # else nobody knows yet whether there is another one
                    self._wait_for_slot()
                return
            rated = self._quotas.limits_rate(self.listener.name)
            if rated and not self._in_time():
                return
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _OF_ONE_CONNECTION:
                    continue
                self._wait_after(error)
                return
            self._failing = self._next_has_waited = False
            if address is None:  # macOS gives one that its peer has reset already no address
                sock.close()
                continue
            self._admit(sock, address)
            if rated:
                return  # whether there is another one, to be counted, says the next turn

    def _in_time(self) -> bool:
        """Whether the next connection may be taken now; else it is, after a pause."""
        if self._next_has_waited:
            return True
        self._next_has_waited = True
        delay_ms = self._quotas.creation_delay_ms(self.listener.name, self._loop.time() * 1000)
        if delay_ms <= 0:
            return True
        self._pause()
        self._retry = self._loop.call_later(delay_ms / 1000, self.start)
        return False

    def _wait_for_slot(self) -> None:
        name = self.listener.name
        self._pause()
        self._quotas.wait_for_slot(name, self.start)
        if not self._quotas.lacks_descriptors(name):
            _log.debug("listener %s: max.connections reached", name)
            return
        # Also what is no connection of this server may have given one back.
        self._retry = self._loop.call_later(_ACCEPT_PAUSE_S, self.start)
        if self._loop.time() >= self._tell_lack_at_s:
            self._tell_lack_at_s = self._loop.time() + _TELL_LACK_S
            _log.warning(
                "listener %s: %d connections are open, and no descriptor is left for another one: "
                "new ones wait (raise ulimit -n, or lower connections.max.idle.ms)",
                name,
                self._quotas.total,
            )

    def _wait_after(self, error: OSError) -> None:
        if not self._failing:
            _log.error("listener %s cannot accept connections: %s", self.listener.name, error)
        self._failing = True
        self._pause()
        self._retry = self._loop.call_later(_ACCEPT_PAUSE_S, self.start)

    def _admit(
        self, sock: socket.socket, address: tuple[str, int] | tuple[str, int, int, int]
    ) -> None:
        host = address_of_socket(address)
        over_ms = self._quotas.ip_delay_ms(self.listener.name, host, self._loop.time() * 1000)
        if over_ms > 0:
            self._throttled.close_after(sock, over_ms)
            return
        if not self._quotas.ip_allowed(host):
            _log.info(
                "listener %s: rejected %s, which has its max.connections.per.ip open",
                self.listener.name,
                host,
            )
            self._quotas.refused(self.listener.name)
            sock.close()
            return
        try:
            sock.setblocking(False)
            if self._for_other_machines and not local_congestion.is_local(sock, host):
                local_congestion.give(sock, self._for_other_machines)
            self._turn = (self._turn + 1) % len(self.processors)
            self.processors[self._turn - 1].adopt(sock, host, address[1])
        except OSError as error:
            _log.info("connection of %s failed: %s", host, error)
            sock.close()
            return
        self._admitted()
