"""The acceptor of a listener's connections, within the limits on connections.

Owns: the listening socket, and when it is watched. A limit that is reached, or a lack of
descriptors, never causes a busy loop (KAFKA-13457) and never harms open connections: new ones wait
in the backlog. Never: reads from a connection, which belongs to its processor.
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
"""The time until the next try after a lack of descriptors or memory. Meanwhile connections wait in
the backlog; watching the socket would be a busy loop (KAFKA-13457)."""
_LOG_LACK_AGAIN_S = 60.0
_ERRORS_OF_THE_CONNECTION = (errno.ECONNABORTED, errno.EPROTO, errno.ECONNRESET, errno.EPERM)


class Acceptor:
    """The acceptor of one listener, which gives connections to its processors in turn."""

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
        """Accept from `sock` after `start`. `admitted()` is called after each new connection.
        `throttled` closes connections of addresses that exceed their rate."""
        self.listener = listener
        self.processors = list(processors)
        """The processors that get new connections."""
        self.leaving: list[Processor] = []
        """The processors that keep their connections and get no new ones."""
        self._loop = loop
        self._socket = sock
        self._turn = 0
        self._throttled = throttled
        self._quotas = quotas
        self._blocked_s = 0.0
        self._blocked_at_s: float | None = None
        # Whether the next connection was counted for the rate, and has waited if it had to.
        self._next_has_waited = False
        self._admitted = admitted
        self._watching = False
        self._closed = False
        self._retry: asyncio.TimerHandle | None = None
        self._log_lack_at_s = -math.inf
        self._failing = False
        self._for_other_machines = local_congestion.begin_unpaced(sock)

    @property
    def port(self) -> int:
        """The port that the socket is bound to."""
        return int(self._socket.getsockname()[1])

    @property
    def blocked_s(self) -> float:
        """The seconds, in total, for which a limit or a lack kept the acceptor from accepting."""
        now_s = 0.0 if self._blocked_at_s is None else self._loop.time() - self._blocked_at_s
        return self._blocked_s + now_s

    def start(self) -> None:
        """Start accepting, or resume after a pause."""
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if not self._closed and not self._watching:
            self._blocked_s = self.blocked_s
            self._blocked_at_s = None
            self._watching = True
            self._loop.add_reader(self._socket.fileno(), self._accept_ready)

    def set_processors(self, processors: Sequence[Processor]) -> None:
        """Give new connections to these processors; others keep the connections that they have."""
        self.leaving = [old for old in (*self.leaving, *self.processors) if old not in processors]
        self.processors = list(processors)

    def drop_empty(self) -> None:
        """Close and remove the leaving processors that have no connection left."""
        for processor in self.leaving:
            if not processor.connection_count:
                processor.close()
        self.leaving = [processor for processor in self.leaving if processor.connection_count]

    def close(self) -> None:
        """Close the listening socket, which also refuses the connections in the backlog."""
        self._pause()
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
        self._socket.close()

    def _pause(self) -> None:
        """Stop accepting until `start`; new connections wait in the kernel."""
        if self._watching:
            self._blocked_at_s = self._loop.time()
            self._watching = False
            self._loop.remove_reader(self._socket.fileno())

    def _accept_ready(self) -> None:
        """Accept connections and admit them, until there are none, a limit is reached, or
        _ACCEPTS_PER_TURN are accepted.

        At a limit or an error, accepting pauses and is retried later.
        """
        for accepted in range(_ACCEPTS_PER_TURN):
            if not self._quotas.slot_available(self.listener.name):
                if not accepted:  # else there may be no further connection to wait with
                    self._wait_for_slot()
                return
            is_rate_limited = self._quotas.limits_rate(self.listener.name)
            if is_rate_limited and not self._rate_allows():
                return
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in _ERRORS_OF_THE_CONNECTION:
                    continue
                self._pause_after_error(error)
                return
            self._failing = self._next_has_waited = False
            if address is None:  # on macOS, the peer has reset the connection already
                sock.close()
                continue
            self._admit(sock, address)
            if is_rate_limited:
                return  # the next turn tells whether there is another connection to count

    def _rate_allows(self) -> bool:
        """Count the next connection for its rate, once. Return True if it may be accepted now; else
        pause for as long as it must wait."""
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
        """Pause until a connection has closed. If descriptors lack, also retry after a time, and
        log a warning, at most once a minute."""
        name = self.listener.name
        self._pause()
        self._quotas.wait_for_slot(name, self.start)
        if not self._quotas.lacks_descriptors(name):
            _log.debug("listener %s: max.connections reached", name)
            return
        # Retry after a time, too: files, not only connections, may give descriptors back.
        self._retry = self._loop.call_later(_ACCEPT_PAUSE_S, self.start)
        if self._loop.time() >= self._log_lack_at_s:
            self._log_lack_at_s = self._loop.time() + _LOG_LACK_AGAIN_S
            _log.warning(
                "listener %s: %d connections are open, and no descriptor is left for another one: "
                "new ones wait (raise ulimit -n, or lower connections.max.idle.ms)",
                name,
                self._quotas.total,
            )

    def _pause_after_error(self, error: OSError) -> None:
        """Pause for _ACCEPT_PAUSE_S after a failed accept. The first failure in a row is logged."""
        if not self._failing:
            _log.error("listener %s cannot accept connections: %s", self.listener.name, error)
        self._failing = True
        self._pause()
        self._retry = self._loop.call_later(_ACCEPT_PAUSE_S, self.start)

    def _admit(
        self, sock: socket.socket, address: tuple[str, int] | tuple[str, int, int, int]
    ) -> None:
        """Give the connection to the next processor and call `admitted`, or close it if its address
        has too many.

        If its address connects too often, it is closed after a delay.
        """
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
                local_congestion.set_algorithm(sock, self._for_other_machines)
            self._turn = (self._turn + 1) % len(self.processors)
            self.processors[self._turn - 1].adopt(sock, host, address[1])
        except OSError as error:
            _log.info("connection of %s failed: %s", host, error)
            sock.close()
            return
        self._admitted()
