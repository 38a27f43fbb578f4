"""The network between clients and brokers, in virtual time: frames, delays, and what goes wrong.

A client's `SimConnection` carries whole requests, encoded by `protocol.message_codec`; the broker's
end handles one request of a connection at a time, as the real one does. Each way keeps order and
delays what it carries. A connection can be cut (what is on its way arrives, or does not), or go
dumb: requests arrive, answers are lost, and the client finds out by its time-out. A client that
gave up comes back on another connection while its old requests may still be on their way: so the
same request can arrive twice, late and out of order.

Two habits catch cores that break the rules of `RequestHandler`: a frame's bytes are overwritten
once `handle` has returned, and slices of files are read only when their turn to be sent comes.

Whoever watches (the invariants) is told by `SimNetwork.watch`.
"""

from __future__ import annotations

import random
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from broker.node import Node
from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError
from protocol.message_codec import decode_response, encode_request
from tests.simulation.sim_scheduler import SimScheduler, SimTimer

LOST = "lost"
TIMED_OUT = "timed out"


@dataclass(slots=True, eq=False)
class Exchange:
    """One request, its way to a broker and back."""

    number: int
    client: str
    request: Any
    version: int
    sent_ms: float
    about: Any = None
    """What its sender wants the watchers to know of it."""
    node: str = ""
    handled_ms: float | None = None
    answered_ms: float | None = None
    received_ms: float | None = None
    digest: int = 0
    """A checksum of the answer's bytes, for the trace."""
    response: Any = None
    expects_answer: bool = True
    refused: str | None = None
    """Why the broker closed the connection instead of answering."""
    outcome: str | None = None
    """None while open; then "ok", LOST or TIMED_OUT, as its client sees it."""
    waiters: list[Callable[[Exchange], None]] = field(default_factory=list)
    key: ApiKey = ApiKey.API_VERSIONS
    parsed: Any = None
    """What watchers made of the response, once for all of them."""

    def __post_init__(self) -> None:
        self.key = ApiKey(self.request.API_KEY)

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    def settle(self, outcome: str) -> None:
        if self.outcome is None:
            self.outcome = outcome
            waiters, self.waiters = self.waiters, []
            for waiter in waiters:
                waiter(self)


class Watcher(Protocol):
    """Told of everything that clients and brokers say to each other."""

    def sent(self, exchange: Exchange) -> None: ...
    def handled(self, exchange: Exchange) -> None: ...
    def answered(self, exchange: Exchange) -> None: ...
    def received(self, exchange: Exchange) -> None: ...
    def given_up(self, exchange: Exchange) -> None: ...


class Server(Protocol):
    """What the network needs of a broker."""

    address: str
    node: Node | None
    serving: bool


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad the network is."""

    delay_ms: float = 2.0
    slow_chance: float = 0.02
    slow_ms: float = 400.0
    cut_chance: float = 0.0
    """Per request: its connection is cut at some moment of it."""
    dumb_chance: float = 0.0
    """Per request: its connection stops to carry answers."""


class SimNetwork:
    """All connections. Brokers are found by address."""

    def __init__(self, world: SimScheduler, seed: str, weather: Weather) -> None:
        self.world = world
        self.weather = weather
        self.chance = random.Random(f"{seed}/network")
        self.watchers: list[Watcher] = []
        self.on_handled: Callable[[str], None] = lambda _address: None
        """Told the address of a broker each time it was given a request."""
        self.servers: dict[str, Server] = {}
        self.connections: list[SimConnection] = []
        self._exchanges = 0
        self._opened = 0

    def watch(self, watcher: Watcher) -> None:
        self.watchers.append(watcher)

    def connect(self, client: str, address: str) -> SimConnection | None:
        """A new connection; None where nobody listens."""
        server = self.servers[address]
        if not server.serving:
            return None
        self._opened += 1
        connection = SimConnection(self, client, server, self._opened)
        self.connections.append(connection)
        return connection

    def broker_gone(self, address: str) -> None:
        """A process ended: its ends of all connections are gone; clients hear of it."""
        for connection in [one for one in self.connections if one.server.address == address]:
            connection.server_died()

    def forget(self, connection: SimConnection) -> None:
        if connection in self.connections:
            self.connections.remove(connection)

    def exchange(self, client: str, request: Any, version: int, about: Any) -> Exchange:
        self._exchanges += 1
        return Exchange(self._exchanges, client, request, version, self.world.now_ms, about)

    def delay_ms(self) -> float:
        chance, weather = self.chance, self.weather
        if chance.random() < weather.slow_chance:
            return chance.random() * weather.slow_ms
        return 0.1 + chance.random() * weather.delay_ms


class _Context:
    """What `RequestHandler` is told of a connection."""

    __slots__ = ("client_host", "connection_id", "listener_name")

    def __init__(self, connection_id: str) -> None:
        self.connection_id = connection_id
        self.client_host = "10.0.0.1"
        self.listener_name = "PLAINTEXT"


class _Reply:
    """The way back for one request: the first call counts, as with the real `Responder`."""

    __slots__ = ("_connection", "_exchange")

    def __init__(self, connection: SimConnection, exchange: Exchange) -> None:
        self._connection: SimConnection | None = connection
        self._exchange = exchange

    def __call__(self, parts: Any) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.answer(self._exchange, parts)

    def close(self, why: str = "the broker closed it") -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.refuse(self._exchange, why)


class SimConnection:
    """Both ends of one connection: the client calls `send` and `close`, the rest is the wire."""

    def __init__(self, network: SimNetwork, client: str, server: Server, number: int) -> None:
        self.network = network
        self.client = client
        self.server = server
        self.open = True
        """As the client sees it."""
        self._world = network.world
        self._life = server.node
        self._context = _Context(f"{server.address}-{client}-{number}")
        self._dumb = False
        self._cut = False
        self._gone = False
        self._to_server_ms = 0.0
        self._to_client_ms = 0.0
        self._correlation = 0
        self._pending: dict[int, Exchange] = {}
        self._timers: dict[Exchange, SimTimer] = {}
        self._queue: deque[tuple[Exchange, bytes]] = deque()
        self._busy: Exchange | None = None

    # --- the client's end ----------------------------------------------------------------------

    def send(
        self,
        request: Any,
        version: int,
        timeout_ms: float,
        *,
        about: Any = None,
        answered: bool = True,
    ) -> Exchange:
        """Send a request; its exchange is settled later. `answered` False for acks=0."""
        exchange = self.network.exchange(self.client, request, version, about)
        exchange.expects_answer = answered
        for watcher in self.network.watchers:
            watcher.sent(exchange)
        if not self.open:
            self._world.call_soon(lambda: self._give_up(exchange, LOST))
            return exchange
        self._correlation += 1
        frame = encode_request(request, version, self._correlation, self.client)[4:]
        if answered:
            self._pending[self._correlation] = exchange
            self._timers[exchange] = self._world.call_later(
                timeout_ms, lambda: self._timed_out(exchange)
            )
        self._roll_the_dice()
        self._carry_to_server(lambda: self._arrive(exchange, frame))
        return exchange

    def close(self) -> None:
        """Hang up. What is on its way to the broker may still get there."""
        self._lose(LOST)

    def _timed_out(self, exchange: Exchange) -> None:
        """A client whose request timed out does not trust the connection any more."""
        if exchange.outcome is None:
            self._give_up(exchange, TIMED_OUT)
            self._lose(LOST)

    def _lose(self, outcome: str) -> None:
        if not self.open:
            return
        self.open = False
        pending, self._pending = self._pending, {}
        for exchange in pending.values():
            self._give_up(exchange, outcome)
        self._carry_to_server(self._server_hears_close)

    def _give_up(self, exchange: Exchange, outcome: str) -> None:
        timer = self._timers.pop(exchange, None)
        if timer is not None:
            timer.cancel()
        if exchange.outcome is None:
            for watcher in self.network.watchers:
                watcher.given_up(exchange)
            exchange.settle(outcome)

    def _roll_the_dice(self) -> None:
        chance, weather = self.network.chance, self.network.weather
        if chance.random() < weather.dumb_chance:
            self._dumb = True
        if chance.random() < weather.cut_chance:
            self._world.call_later(chance.random() * 50.0, self._break)

    def _break(self) -> None:
        """Cut: what is on its way to the broker is lost, or arrives nevertheless."""
        if self.network.chance.random() < 0.5:
            self._cut = True
        self._lose(LOST)

    # --- the wire ------------------------------------------------------------------------------

    def _carry_to_server(self, then: Callable[[], None]) -> None:
        due = max(self._to_server_ms, self._world.now_ms + self.network.delay_ms())
        self._to_server_ms = due
        self._world.call_later(due - self._world.now_ms, then)

    def _carry_to_client(self, then: Callable[[], None]) -> None:
        due = max(self._to_client_ms, self._world.now_ms + self.network.delay_ms())
        self._to_client_ms = due
        self._world.call_later(due - self._world.now_ms, then)

    # --- the broker's end ----------------------------------------------------------------------

    def _arrive(self, exchange: Exchange, frame: bytes) -> None:
        if self._cut or self._gone:
            return
        self._queue.append((exchange, frame))
        self._handle_next()

    def _handle_next(self) -> None:
        while self._queue and self._busy is None and not self._gone:
            exchange, frame = self._queue.popleft()
            self._handle(exchange, frame)

    def _handle(self, exchange: Exchange, frame: bytes) -> None:
        node = self.server.node
        assert node is self._life and node is not None
        self._busy = exchange
        exchange.node = self.server.address
        exchange.handled_ms = self._world.now_ms
        for watcher in self.network.watchers:
            watcher.handled(exchange)
        buffer = bytearray(frame)
        reply = _Reply(self, exchange)
        try:
            node.handle(self._context, memoryview(buffer), reply)
        except ProtocolError as error:
            reply.close(str(error))
        buffer[:] = b"\xdd" * len(buffer)
        self.network.on_handled(self.server.address)

    def answer(self, exchange: Exchange, parts: Any) -> None:
        """The broker answered; None is the answer to acks=0."""
        self._answered(exchange)
        if self._gone:
            return
        if parts is None:
            self._next()
            return
        copied = [
            bytes(part) if isinstance(part, bytes | bytearray | memoryview) else part
            for part in (parts if isinstance(parts, list | tuple) else [parts])
        ]
        self._world.call_later(self.network.chance.random(), lambda: self._write(exchange, copied))

    def _answered(self, exchange: Exchange) -> None:
        exchange.answered_ms = self._world.now_ms
        for watcher in self.network.watchers:
            watcher.answered(exchange)

    def _write(self, exchange: Exchange, parts: list[Any]) -> None:
        """The answer's turn to be sent: slices of files are read now."""
        if self._gone:
            return
        frame = b"".join(part if isinstance(part, bytes) else part.read() for part in parts)
        self._carry_to_client(lambda: self._deliver(exchange, frame))
        self._next()

    def _next(self) -> None:
        self._busy = None
        self._handle_next()

    def refuse(self, exchange: Exchange, why: str) -> None:
        """The broker closes the connection instead of answering."""
        exchange.refused = why
        self._answered(exchange)
        self._gone = True
        self._carry_to_client(self._client_hears_close)

    def server_died(self) -> None:
        """The process is gone."""
        self._gone = True
        if not self._dumb:
            self._carry_to_client(self._client_hears_close)
        self.network.forget(self)

    def _server_hears_close(self) -> None:
        self._gone = True
        self._queue.clear()
        self.network.forget(self)

    # --- back at the client --------------------------------------------------------------------

    def _deliver(self, exchange: Exchange, frame: bytes) -> None:
        if not self.open or self._dumb:
            return
        correlation, response = decode_response(
            exchange.key, memoryview(frame)[4:], exchange.version
        )
        expected = self._pending.pop(correlation, None)
        assert expected is exchange, f"an answer to {correlation} that nobody waits for"
        self._timers.pop(exchange).cancel()
        exchange.response = response
        exchange.received_ms = self._world.now_ms
        exchange.digest = zlib.crc32(frame)
        for watcher in self.network.watchers:
            watcher.received(exchange)
        exchange.settle("ok")

    def _client_hears_close(self) -> None:
        self._cut = True
        self._lose(LOST)
