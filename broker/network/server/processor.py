"""A processor: the connections that an Acceptor gave it, and their deadlines.

Owns: its connections, and one timer for all of their deadlines. Never: a connection's bytes
(`connection`), requests (`request_channel`), or the limits on connections (`connection_quotas`).
Follows Kafka's `Processor` with its Selector. All processors share the one event loop; they bound
the work on deadlines, and are the unit of the metrics (NetworkProcessorAvgIdlePercent).

Four deadlines, none of which costs anything per request:

* idle: no byte either way for `connections.max.idle.ms`, with a request in progress or not, as in
  Kafka;
* a login: on listeners that need one, the client must authenticate within
  `ottla.authentication.timeout.ms` of connecting, TLS handshake included (in Kafka, only the idle
  deadline applies);
* an incomplete frame: the peer has begun one and sends no more (in Kafka, only the idle deadline
  applies);
* the receive buffer of a large frame is freed after ten idle seconds, or as soon as another
  connection lacks memory for a frame.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import time
from collections.abc import Callable
from functools import partial

from broker.loop.deadline_wheel import DeadlineWheel
from broker.network.limits.request_memory import InterBrokerMemory
from broker.network.server.connection import Connection
from broker.network.server.frame_buffer import frame_buffer
from broker.network.server.handshakes import Handshakes
from broker.network.server.hang_ups import HangUps
from broker.network.server.listening_socket import Listener
from broker.network.server.network_parts import NetworkParts
from broker.network.server.request_channel import ConnectionContext
from broker.requests.request_times import RequestTimes
from broker.security.logins import Logins
from protocol.frames.frame_memory import FrameMemory
from protocol.frames.framing import FrameReader
from protocol.ip_address import address_of_socket

_log = logging.getLogger(f"ottla.{__name__}")

_RELEASE_AFTER_S = 10.0
_TLS_GOODBYE_S = 1.0
"""The wait for a peer's answer to the end of TLS: a peer that does not read must not hold up a
stop."""
_TICKS = 32


class Processor:
    """The connections of one processor of a listener. All calls on the loop's thread."""

    def __init__(
        self,
        parts: NetworkParts,
        processor_id: int,
        listener: Listener,
        handshakes: Handshakes,
        logins: Logins,
        *,
        is_between_brokers: bool,
    ) -> None:
        """Serve connections of `listener`. Idle ones stay if `connections.max.idle.ms` is below 0.

        With `is_between_brokers` no connection waits for memory.
        """
        config = parts.config
        self.loop = loop = parts.loop
        self.memory = parts.memory
        self.busy_poll = parts.busy_poll
        self.blocking = parts.blocking
        self.unsent = parts.unsent
        self.hang_ups = HangUps(loop.call_soon)
        self.processor_id = processor_id
        # The bytes of closed connections.
        self._received_bytes = self._sent_bytes = 0
        self.accepted = 0
        """The number of connections adopted since the start."""
        self.expired = 0
        """The number of connections closed because they were idle."""
        self._listener = listener
        self._handshakes = handshakes
        self._login_reports = logins
        self._channel = parts.channel
        self._quotas = parts.quotas
        self._scratch = parts.scratch
        self._frame_memory: FrameMemory = (
            InterBrokerMemory(parts.memory) if is_between_brokers else parts.memory
        )
        parts.memory.reclaimers.append(self._reclaim)
        self._request_max_bytes = config.socket_request_max_bytes
        self._on_closed = parts.on_closed
        self._numbers = itertools.count()
        self._connections: dict[Connection, None] = {}
        self._opening: dict[asyncio.Task[None], tuple[socket.socket, str]] = {}
        self._open_count, self._stopping = 0, False
        self._idle_s = config.connections_max_idle_ms / 1000.0
        self._is_timed = config.ottla_metrics_port >= 0 or config.ottla_trace_requests
        self._partial_s = config.ottla_partial_frame_timeout_ms / 1000.0
        self._idle = DeadlineWheel[Connection](max(self._idle_s / _TICKS, 0.01))
        self._login_s = config.ottla_authentication_timeout_ms / 1000.0
        self._incomplete = DeadlineWheel[Connection](max(self._partial_s / _TICKS, 0.01))
        self._logins = DeadlineWheel[Connection](max(self._login_s / _TICKS, 0.01))
        self._holding = DeadlineWheel[Connection](_RELEASE_AFTER_S / _TICKS)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_s = 0.0
        self._emptied: asyncio.Event = asyncio.Event()
        self._emptied.set()

    @property
    def connection_count(self) -> int:
        """The number of adopted connections that are not closed."""
        return self._open_count

    @property
    def received_bytes(self) -> int:
        """The bytes received since the start."""
        return self._received_bytes + sum(c.received_bytes for c in self._connections)

    @property
    def sent_bytes(self) -> int:
        """The bytes of answers sent since the start."""
        return self._sent_bytes + sum(c.sent_bytes for c in self._connections)

    @property
    def unsent_answers(self) -> int:
        """The number of connections with answers that their clients have not taken yet."""
        return sum(c.pending_bytes > 0 for c in self._connections)

    # --- for the Acceptor ----------------------------------------------------------------------

    def adopt(self, sock: socket.socket, client_host: str, client_port: int) -> None:
        """Count an accepted, non-blocking socket, and open its connection in a task. The processor
        then owns the socket."""
        self._quotas.opened(self._listener.name, client_host)
        self.accepted += 1
        self._open_count += 1
        self._emptied.clear()
        task = self.loop.create_task(self._open_connection(sock, client_host, client_port))
        self._opening[task] = sock, client_host
        task.add_done_callback(self._opening_ended)

    @property
    def last_active_s(self) -> float:
        """The time in monotonic seconds of the last byte either way; 0 without connections."""
        return max((c.last_active_s for c in self._connections), default=0.0)

    def connections(self) -> list[Connection]:
        """Return the connections that are open or being closed."""
        return list(self._connections)

    def shut_down(self) -> None:
        """Close each connection as soon as its request in progress is answered; at once if its TLS
        handshake is in progress or waits for its turn."""
        self._stopping = True
        if self._shakes_hands:
            # Plain connections are left out: they open within a turn or two. And if the opening
            # task is cancelled just after that, uvloop never calls the protocol's connection_lost.
            for task in list(self._opening):
                task.cancel()
        for connection in list(self._connections):
            connection.shut_down()

    def abort(self, reason: str, spared: Callable[[str], bool] = lambda _: False) -> int:
        """Close all connections now, except those whose id is `spared`; return how many."""
        ended = [c for c in self._connections if not spared(c.context.connection_id)]
        for connection in ended:
            connection.abort(reason)
        return len(ended)

    async def wait_empty(self) -> None:
        """Wait until no connection is left."""
        await self._emptied.wait()

    def close(self) -> None:
        """Cancel the timer, and free no more memory for other connections. No connection may be
        left."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._reclaim in self.memory.reclaimers:
            self.memory.reclaimers.remove(self._reclaim)

    # --- opening -------------------------------------------------------------------------------

    @property
    def _shakes_hands(self) -> bool:
        """Whether connections of this listener begin with a TLS handshake."""
        guard = self._listener.guard
        return guard is not None and guard.tls_context is not None

    async def _open_connection(
        self, sock: socket.socket, client_host: str, client_port: int
    ) -> None:
        """Open a connection, with its TLS handshake if any.

        If that fails, log it, close the socket and give back its slot; nothing is raised.
        """
        connection: Connection | None = None
        received: list[None] = []
        local, number = sock.getsockname(), next(self._numbers)
        at = f"{address_of_socket(local)}:{local[1]}"
        name = f"{at}-{client_host}:{client_port}-{self.processor_id}-{number}"

        def make() -> Connection:
            """Create the connection's protocol, and keep it for the clean-up after a failure."""
            nonlocal connection
            connection = self._new_connection(sock, name, client_host, client_port)
            return connection

        try:
            await self._attach(make, sock, partial(received.append, None))
        except (OSError, asyncio.CancelledError) as error:
            # Not opened: nothing else closes this socket or gives back its slot.
            if received or not isinstance(error, ConnectionError):
                self._report_not_opened(name, client_host, error)
            else:  # the client only tested the port, so no login has failed
                _log.debug("%s has closed its connection without a word", client_host)
            if connection is None or connection not in self._connections:
                self._drop(sock, client_host)

    async def _attach(
        self, make: Callable[[], Connection], sock: socket.socket, on_byte: Callable[[], object]
    ) -> None:
        """Attach the socket to the loop, after the handshake if the listener has TLS.

        `on_byte` is called at the client's first byte. Raises OSError, TimeoutError and
        asyncio.CancelledError.
        """
        guard = self._listener.guard
        if guard is None or guard.tls_context is None:
            await self.loop.connect_accepted_socket(make, sock)
            return
        async with asyncio.timeout(self._login_s):
            await self._handshakes.begin()
            try:
                guard.set_alert_callbacks(sock.send, on_byte)
                await self.loop.connect_accepted_socket(
                    make,
                    sock,
                    ssl=guard.tls_context,
                    ssl_handshake_timeout=self._login_s,
                    ssl_shutdown_timeout=_TLS_GOODBYE_S,
                )
            except asyncio.CancelledError:
                if self._handshakes.makes_way():
                    raise TimeoutError("not done while others waited for its place") from None
                raise
            finally:
                self._handshakes.ended()

    def _report_not_opened(self, name: str, client_host: str, error: BaseException) -> None:
        """Report a failed opening: a failed handshake as a failed login, another failure as a log
        line.
        """
        if not self._shakes_hands or isinstance(error, asyncio.CancelledError):
            _log.info("connection of %s failed to open: %s", client_host, error)
        else:
            reason = f"SSL handshake failed: {_why(error)}"
            self._login_reports.failure(name, client_host, "TLS", reason)

    def _opening_ended(self, task: asyncio.Task[None]) -> None:
        """Clean up after the task of an opening; an unexpected error goes to the loop's handler."""
        sock, client_host = self._opening.pop(task)
        if task.cancelled():  # before its first step
            self._drop(sock, client_host)
        elif (error := task.exception()) is not None:
            self.loop.call_exception_handler(
                {"message": "opening a connection failed", "exception": error}
            )

    def _drop(self, sock: socket.socket, client_host: str) -> None:
        """Close a socket that has no connection yet, and give back its slot."""
        sock.close()
        self._release_slot(client_host)

    def _new_connection(
        self, sock: socket.socket, name: str, client_host: str, client_port: int
    ) -> Connection:
        """Create the protocol of a connection, with a login if the listener is secured."""
        context = ConnectionContext(
            connection_id=name,
            listener_name=self._listener.name,
            security_protocol=self._listener.security_protocol,
            client_host=client_host,
            client_port=client_port,
            logins=self._login_reports,
            times=RequestTimes() if self._is_timed else None,
        )
        reader = FrameReader(
            self._request_max_bytes, self._scratch, self._frame_memory, frame_buffer
        )
        guard = self._listener.guard
        if guard is None:
            return Connection(self, self._channel, context, reader, sock)
        # Imported here: listeners without security do not load it.
        from broker.network.server.login import Login
        from broker.network.server.login_flow import LoginFlow

        login = LoginFlow(
            Login(guard, context, self._channel, reader, _wall_ms),
            self._channel,
            self.loop.call_later,
        )
        plain = sock if guard.tls_context is None else None
        return Connection(self, self._channel, context, reader, plain, login)

    # --- called by connections -----------------------------------------------------------------

    def connection_opened(self, connection: Connection) -> None:
        """Add a connection whose transport is open, and start its deadlines. If the processor is
        stopping, shut the connection down."""
        self._connections[connection] = None
        if self._stopping:
            connection.shut_down()
        if self._idle_s >= 0:
            self._idle.add(connection, connection.last_active_s + self._idle_s)
            self._arm()
        if connection.login is not None:
            self._logins.add(connection, connection.last_active_s + self._login_s)
            self._arm()

    def connection_authenticated(self, connection: Connection) -> None:
        """End the login's deadline: the client has authenticated."""
        self._logins.remove(connection)

    def connection_closed(self, connection: Connection) -> None:
        """Remove a connection whose transport is closed, with its deadlines and its slot, and pass
        its id to `on_closed`."""
        self.busy_poll.forget(connection)
        self.unsent.forget(connection)
        self._idle.remove(connection)
        self._incomplete.remove(connection)
        self._logins.remove(connection)
        self._holding.remove(connection)
        if connection in self._connections:
            del self._connections[connection]
            self._received_bytes += connection.received_bytes
            self._sent_bytes += connection.sent_bytes
            self._release_slot(connection.context.client_host)
            if self._on_closed is not None:
                self._on_closed(connection.context.connection_id)

    def frame_incomplete(self, connection: Connection) -> None:
        """Start the deadlines of a connection whose peer has begun a frame or sent more of it."""
        now = time.monotonic()
        if connection not in self._incomplete:
            self._incomplete.add(connection, now + self._partial_s)
            self._arm()
        if connection not in self._holding:
            self._holding.add(connection, now + _RELEASE_AFTER_S)
            self._arm()

    def _release_slot(self, client_host: str) -> None:
        """Give back the slot of a closed connection."""
        self._quotas.closed(self._listener.name, client_host)
        self._open_count -= 1
        if not self._open_count:
            self._emptied.set()

    # --- deadlines -----------------------------------------------------------------------------

    def _arm(self) -> None:
        """Set the timer to the earliest deadline."""
        dues = [
            due
            for wheel in (self._idle, self._logins, self._incomplete, self._holding)
            if (due := wheel.next_due()) is not None
        ]
        if not dues:
            return
        due = min(dues)
        if self._timer is not None:
            if self._timer_due_s <= due:
                return
            self._timer.cancel()
        self._timer_due_s = due
        self._timer = self.loop.call_later(max(due - time.monotonic(), 0.001), self._check_all)

    def _check_all(self) -> None:
        """Abort or relieve the connections that are due, and set the timer for the next."""
        self._timer = None
        now = time.monotonic()
        self._check_due(self._idle, now, self._check_idle)
        self._check_due(self._logins, now, self._check_login)
        self._check_due(self._incomplete, now, self._check_incomplete)
        self._check_due(self._holding, now, self._check_holding)
        self._arm()

    def _check_due(
        self,
        wheel: DeadlineWheel[Connection],
        now: float,
        next_deadline: Callable[[Connection, float], float | None],
    ) -> None:
        """Ask `next_deadline` for each connection that is due; None takes it off the wheel."""
        for connection in wheel.pop_due(now):
            due = next_deadline(connection, now)
            if due is not None:
                wheel.add(connection, due)

    def _check_idle(self, connection: Connection, now: float) -> float | None:
        """Abort the connection if it is idle for too long, else return its new deadline."""
        due = connection.last_active_s + self._idle_s
        if due > now:
            return due
        self.expired += 1
        connection.abort(f"idle for {self._idle_s * 1000:.0f} ms")
        return None

    def _check_login(self, connection: Connection, now: float) -> float | None:
        """Abort the connection, which is not yet logged in."""
        connection.abort(f"not authenticated within {self._login_s * 1000:.0f} ms")
        return None

    def _check_incomplete(self, connection: Connection, now: float) -> float | None:
        """Abort the connection if its frame is incomplete for too long, else return its new
        deadline.
        """
        due = connection.core.incomplete_until(now, self._partial_s)
        if due is None or due > now:
            return due
        connection.abort(f"a frame was incomplete for {self._partial_s * 1000:.0f} ms")
        return None

    def _reclaim(self) -> None:
        """Free the buffers that connections keep for frames that they may never send."""
        for connection in self._holding:
            connection.reader.release()

    def _check_holding(self, connection: Connection, now: float) -> float | None:
        """Release the reader's buffer if the connection is idle, else return its new deadline."""
        due = connection.last_active_s + _RELEASE_AFTER_S
        if due > now or connection.reader.in_progress:
            return max(due, now + _RELEASE_AFTER_S / _TICKS)
        connection.reader.release()
        return None


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _why(error: BaseException) -> str:
    """Return in one line why a TLS handshake failed. The loop's errors may have no text."""
    if isinstance(error, TimeoutError):
        return str(error) or "not done in time"
    return getattr(error, "reason", None) or str(error) or "the peer has closed the connection"
