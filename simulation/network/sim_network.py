"""The network between clients and brokers, in virtual time: frames, delays, and what goes wrong.

A client's `SimConnection` carries whole requests, encoded by `protocol.frames.message_codec`, to
the broker's end (`sim_server_end.py`). Each way keeps order and delays what it carries; links can
be cut (`sim_links.py`). A connection can be cut (what is on its way arrives, late, or does not), or
go dumb: requests arrive, answers are lost, and the client finds out by its time-out. A client that
gave up comes back on another connection while its old requests may still be on their way: so the
same request can arrive twice, late and out of order.

Whoever watches (the invariants) is told by `SimNetwork.watch`.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from broker.requests.context import ANONYMOUS
from ground.sim_scheduler import SimScheduler, SimTimer
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import decode_response, encode_request
from protocol.message import Message
from simulation.network.sim_links import Handshake, Links, Wire
from simulation.network.sim_server_end import Ends, Server, ServerEnd

LOST = "lost"
TIMED_OUT = "timed out"
CLIENT_PORT = 9092


@dataclass(slots=True, eq=False)
class Exchange:
    """One request of a client, its way to a broker and back."""

    number: int
    client: str
    request: Any
    version: int
    sent_ms: float
    about: Any = None
    """What its sender wants the watchers to know of it."""
    connection: int = 0
    """The number of the connection over which it goes."""
    node: str = ""
    arrived_ms: float | None = None
    """When it was at the broker's socket; it may have to wait there."""
    handled_ms: float | None = None
    answered_ms: float | None = None
    received_ms: float | None = None
    size: int = 0
    """Of the request, in bytes."""
    answer_size: int = 0
    muted_ms: int = 0
    """For how long its connection is not read after the answer."""
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

    def begins_again(self, now_ms: float) -> None:
        """Its broker was paused: the time in which it has to answer begins now."""
        self.handled_ms = now_ms

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
    late_ms: float = 0.0
    """How late a request may arrive whose connection is cut: after its sender has sent it again."""
    between_nodes: float = 0.1
    """Connections between nodes are hit by this part of `cut_chance` and `dumb_chance`."""


class SimNetwork:
    """All connections. Brokers are found by address."""

    def __init__(self, world: SimScheduler, seed: str, weather: Weather) -> None:
        self.world = world
        self.weather = weather
        self.chance = random.Random(f"{seed}/network")
        self.links = Links(world, random.Random(f"{seed}/links"))
        self.ends = Ends()
        self.watchers: list[Watcher] = []
        self.on_node_message: Callable[[str], None] = lambda _line: None
        """Told of each answer between nodes, for the trace."""
        self.on_node_told: Callable[[Any], None] = lambda _response: None
        """Told of the same, for invariants."""
        self.principal_of: Callable[[str], str] = lambda _client: ANONYMOUS
        """Who a client is, once it has logged in."""
        self.nodes_principal = ANONYMOUS
        """The same of every node."""
        self.servers: dict[str, Server] = {}
        self.client_addresses: list[str] = []
        """Those of the servers that clients may connect to."""
        self._exchanges = 0
        self._connections = 0

    def add(self, address: str, server: Server, *, clients: bool) -> None:
        """A machine comes onto the network; whether clients may connect to it."""
        self.servers[address] = server
        if clients:
            self.client_addresses.append(address)

    def watch(
        self, watcher: Watcher, between_nodes: Callable[[str], None] = lambda _line: None
    ) -> None:
        """Tell `watcher` of what clients and brokers say, `between_nodes` of each answer there."""
        self.watchers.append(watcher)
        self.on_node_message = between_nodes

    def turn(self, weather: Weather) -> None:
        """This is the weather from now on."""
        self.weather = weather

    def connect(self, client: str, address: str) -> SimConnection | None:
        """A new connection; None where nobody listens."""
        server, links = self.servers[address], self.links
        whole = not (links.is_cut(client, address) or links.is_cut(address, client))
        if not server.listens(CLIENT_PORT) and whole and not server.dark:
            return None
        return SimConnection(self, client, server)

    def count_connection(self) -> int:
        """The number of one more."""
        self._connections += 1
        return self._connections

    def exchange(self, client: str, request: Message, version: int, about: object) -> Exchange:
        self._exchanges += 1
        return Exchange(self._exchanges, client, request, version, self.world.now_ms, about)

    def delay_ms(self) -> float:
        chance, weather = self.chance, self.weather
        if chance.random() < weather.slow_chance:
            return chance.random() * weather.slow_ms
        return 0.1 + chance.random() * weather.delay_ms


class SimConnection:
    """A client's end of one connection."""

    def __init__(self, network: SimNetwork, client: str, server: Server) -> None:
        self.network = network
        self.client = client
        self.server = server
        self.open = True
        """As the client sees it."""
        self.quiet_until_ms = 0.0
        """Until when its client was told to send nothing (KIP-219)."""
        self._world = network.world
        self._number = network.count_connection()
        self._dumb = False
        self._cut = False
        self._handshake = Handshake(network.links, client, server.address)
        self._wire = Wire(network.links, client, server.address)
        back = Wire(network.links, server.address, client)
        principal = network.principal_of(client)
        self._end = ServerEnd(
            network.ends, server, CLIENT_PORT, self, client, back, network.delay_ms, principal
        )
        self._correlation = 0
        self._pending: dict[int, Exchange] = {}
        self._timers: dict[Exchange, SimTimer] = {}

    def send(
        self,
        request: Message,
        version: int,
        timeout_ms: float,
        *,
        about: object = None,
        answered: bool = True,
    ) -> Exchange:
        """Send a request; its exchange is settled later. `answered` False for acks=0."""
        exchange = self.network.exchange(self.client, request, version, about)
        exchange.expects_answer = answered
        exchange.connection = self._number
        for watcher in self.network.watchers:
            watcher.sent(exchange)
        if not self.open:
            self._world.call_soon(lambda: self._give_up(exchange, LOST))
            return exchange
        self._correlation += 1
        frame = encode_request(request, version, self._correlation, self.client)[4:]
        exchange.size = len(frame)
        if answered:
            self._pending[self._correlation] = exchange
            self._timers[exchange] = self._world.call_later(
                timeout_ms, lambda: self._timed_out(exchange)
            )
        delay_ms = self._roll_the_dice() + self.network.delay_ms()
        self._handshake.then(
            lambda: self._wire.carry(lambda: self._arrive(exchange, frame), delay_ms)
        )
        return exchange

    def close(self) -> None:
        """Hang up. What is on its way to the broker may still get there."""
        self._lose(LOST)

    def _arrive(self, exchange: Exchange, frame: bytes) -> None:
        if not self._cut:
            self._end.arrive(exchange, frame)

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
        self._handshake.give_up()
        if self._handshake.made:
            self._wire.carry(self._end.hear_close, self.network.delay_ms())

    def _give_up(self, exchange: Exchange, outcome: str) -> None:
        timer = self._timers.pop(exchange, None)
        if timer is not None:
            timer.cancel()
        if exchange.outcome is None:
            for watcher in self.network.watchers:
                watcher.given_up(exchange)
            exchange.settle(outcome)

    def _roll_the_dice(self) -> float:
        """What goes wrong with this connection; how late this request is, therefore."""
        chance, weather = self.network.chance, self.network.weather
        if chance.random() < weather.dumb_chance:
            self._dumb = True
        if chance.random() >= weather.cut_chance:
            return 0.0
        self._world.call_later(chance.random() * 50.0, self._break)
        return chance.random() * weather.late_ms

    def _break(self) -> None:
        """Cut: what is on its way to the broker is lost, or arrives nevertheless."""
        if self.network.chance.random() < 0.5:
            self._cut = True
        self._lose(LOST)

    # --- from the broker's end (`Peer`) ---------------------------------------------------------

    def arrived(self, item: Exchange) -> None:
        item.arrived_ms = self._world.now_ms

    def handling(self, item: Exchange) -> None:
        item.node = self.server.address
        item.handled_ms = self._world.now_ms
        for watcher in self.network.watchers:
            watcher.handled(item)

    def answered(
        self, item: Exchange, refused: str | None, size: int = 0, mute_ms: int = 0
    ) -> None:
        item.refused = refused
        item.answer_size, item.muted_ms = size, mute_ms
        item.answered_ms = self._world.now_ms
        for watcher in self.network.watchers:
            watcher.answered(item)

    def deliver(self, item: Exchange, frame: bytes) -> None:
        if not self.open or self._dumb:
            return
        correlation, response = decode_response(item.key, memoryview(frame)[4:], item.version)
        expected = self._pending.pop(correlation, None)
        assert expected is item, f"an answer to {correlation} that nobody waits for"
        self._timers.pop(item).cancel()
        item.response = response
        item.received_ms = self._world.now_ms
        self.quiet_until_ms = self._world.now_ms + getattr(response, "throttle_time_ms", 0)
        item.digest = zlib.crc32(frame)
        for watcher in self.network.watchers:
            watcher.received(item)
        item.settle("ok")

    def hears_close(self) -> None:
        if not self._dumb:
            self._cut = True
            self._lose(LOST)

    def hears_refusal(self) -> None:
        self.hears_close()
