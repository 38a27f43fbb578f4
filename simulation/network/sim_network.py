"""The network between clients and brokers, in virtual time: frames, delays and failures.

A client's `SimConnection` carries whole requests, encoded by `protocol.frames.message_codec`, to
the broker's end (`sim_server_end.py`). Each direction keeps order and delays; links can be cut
(`sim_links.py`). A connection can be cut: a request on its way then arrives late, or never. It can
also become dumb: requests arrive, responses are lost, and the client notices by its time-out. A
client that gave up connects again while its old requests may still be on their way. So the same
request can arrive twice, late and out of order.

Observers such as invariants are registered by `SimNetwork.watch`.
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
from simulation.network.sim_links import Handshake, Links, OneWayWire
from simulation.network.sim_server_end import Ends, ServerEnd, SimServer

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
    """Any value that the sender attaches for the watchers."""
    connection: int = 0
    """The number of the connection that carries the request."""
    node: str = ""
    arrived_ms: float | None = None
    """The time at which the request reached the broker's socket, where it may have to wait."""
    handled_ms: float | None = None
    answered_ms: float | None = None
    received_ms: float | None = None
    size: int = 0
    """The size of the request in bytes."""
    answer_size: int = 0
    muted_ms: int = 0
    """The time for which the broker does not read the connection after the response."""
    digest: int = 0
    """A checksum of the response's bytes, for the trace."""
    response: Any = None
    expects_answer: bool = True
    refused: str | None = None
    """Why the broker closed the connection instead of answering."""
    outcome: str | None = None
    """None while the exchange is open; then "ok", LOST or TIMED_OUT, as its client sees it."""
    waiters: list[Callable[[Exchange], None]] = field(default_factory=list)
    key: ApiKey = ApiKey.API_VERSIONS
    parsed: Any = None
    """The response as a watcher has parsed it, kept for all watchers."""

    def __post_init__(self) -> None:
        """Set `key` to the request's API."""
        self.key = ApiKey(self.request.API_KEY)

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    def begins_again(self, now_ms: float) -> None:
        """Restart the time in which the broker has to answer, because it was paused: set
        `handled_ms`."""
        self.handled_ms = now_ms

    def settle(self, outcome: str) -> None:
        """Set the outcome once, and wake those that wait for it; later outcomes are ignored."""
        if self.outcome is None:
            self.outcome = outcome
            waiters, self.waiters = self.waiters, []
            for waiter in waiters:
                waiter(self)


class Watcher(Protocol):
    """An observer of all requests and responses between clients and brokers."""

    def sent(self, exchange: Exchange) -> None:
        """React to a request that a client sends."""

    def handled(self, exchange: Exchange) -> None:
        """React to a request that a broker begins to handle."""

    def answered(self, exchange: Exchange) -> None:
        """React to a broker's response, or to its closing the connection instead."""

    def received(self, exchange: Exchange) -> None:
        """React to a response that a client has received."""

    def unanswered(self, exchange: Exchange) -> None:
        """React to a request whose client will get no response."""


@dataclass(frozen=True, slots=True)
class Weather:
    """The rates of delays and failures on the network."""

    delay_ms: float = 2.0
    slow_chance: float = 0.02
    slow_ms: float = 400.0
    cut_chance: float = 0.0
    """The chance per request that its connection is cut at some moment."""
    dumb_chance: float = 0.0
    """The chance per request that its connection carries no response from then on."""
    late_ms: float = 0.0
    """The longest delay of a request whose connection is cut. Its sender may have sent it again."""
    between_nodes: float = 0.1
    """The factor of `cut_chance` and `dumb_chance` for connections between nodes."""


class SimNetwork:
    """The network of one run: servers by address, links, and observers."""

    def __init__(self, world: SimScheduler, seed: str, weather: Weather) -> None:
        self.world = world
        self.weather = weather
        self.chance = random.Random(f"{seed}/network")
        self.links = Links(world, random.Random(f"{seed}/links"))
        self.ends = Ends()
        self.watchers: list[Watcher] = []
        self.on_node_message: Callable[[str], None] = lambda _line: None
        """A function that gets a line for the trace about each response between nodes."""
        self.on_node_told: Callable[[Any], None] = lambda _response: None
        """A function that gets each response between nodes, for invariants."""
        self.on_node_answered: Callable[[str, int, int], None] = lambda _node, _key, _size: None
        """A function that gets, when a node has answered another, its address, the request's API
        key and the request's size in bytes."""
        self.principal_of: Callable[[str], str] = lambda _client: ANONYMOUS
        """A function that returns the principal of a client."""
        self.nodes_principal = ANONYMOUS
        """The principal of every node."""
        self.servers: dict[str, SimServer] = {}
        self.client_addresses: list[str] = []
        """The addresses of the servers that clients may connect to."""
        self._exchanges = 0
        self._connections = 0

    def add(self, address: str, server: SimServer, *, clients: bool) -> None:
        """Add a machine; `clients`: whether clients may connect to it."""
        self.servers[address] = server
        if clients:
            self.client_addresses.append(address)

    def watch(
        self, watcher: Watcher, between_nodes: Callable[[str], None] = lambda _line: None
    ) -> None:
        """Register a watcher of clients' exchanges; `between_nodes` gets a line for each response
        between nodes."""
        self.watchers.append(watcher)
        self.on_node_message = between_nodes

    def set_weather(self, weather: Weather) -> None:
        """Set the weather from now on."""
        self.weather = weather

    def connect(self, client: str, address: str) -> SimConnection | None:
        """Return a new connection, None if no process listens there.

        If a link is cut or the machine has no power, the client cannot know that yet: its requests
        on the new connection wait or time out.
        """
        server, links = self.servers[address], self.links
        whole = not (links.is_cut(client, address) or links.is_cut(address, client))
        if not server.listens(CLIENT_PORT) and whole and not server.dark:
            return None
        return SimConnection(self, client, server)

    def count_connection(self) -> int:
        """Count a new connection, and return its number, from 1."""
        self._connections += 1
        return self._connections

    def exchange(self, client: str, request: Message, version: int, about: object) -> Exchange:
        """Return a new exchange with the next number and the present time. Nothing is sent."""
        self._exchanges += 1
        return Exchange(self._exchanges, client, request, version, self.world.now_ms, about)

    def delay_ms(self) -> float:
        """Return the random delay of a message in ms: mostly short, sometimes up to `slow_ms` of
        the weather."""
        chance, weather = self.chance, self.weather
        if chance.random() < weather.slow_chance:
            return chance.random() * weather.slow_ms
        return 0.1 + chance.random() * weather.delay_ms


class SimConnection:
    """A client's end of one connection."""

    def __init__(self, network: SimNetwork, client: str, server: SimServer) -> None:
        """Create both ends. The handshake begins with the first request."""
        self.network = network
        self.client = client
        self.server = server
        self.open = True
        """Whether the connection is open, as the client sees it."""
        self.quiet_until_ms = 0.0
        """The time until which the broker's throttle time asks the client to send nothing
        (KIP-219)."""
        self._world = network.world
        self._number = network.count_connection()
        self._dumb = False
        self._cut = False
        self._handshake = Handshake(network.links, client, server.address)
        self._wire = OneWayWire(network.links, client, server.address)
        back = OneWayWire(network.links, server.address, client)
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
        """Send a request, and return its exchange, which is settled later.

        The outcome is LOST if the connection is or gets closed, TIMED_OUT after `timeout_ms`. With
        `answered` False, as for acks=0, no response is expected, and there is no outcome unless the
        connection was closed before.
        """
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
        delay_ms = self._draw_failures() + self.network.delay_ms()
        self._handshake.then(
            lambda: self._wire.carry(lambda: self._arrive(exchange, frame), delay_ms)
        )
        return exchange

    def close(self) -> None:
        """Close the connection; its open exchanges are LOST. A request on its way to the broker may
        still arrive."""
        self._lose(LOST)

    def _arrive(self, exchange: Exchange, frame: bytes) -> None:
        """Pass a request to the broker's end, unless the connection is cut."""
        if not self._cut:
            self._end.arrive(exchange, frame)

    def _timed_out(self, exchange: Exchange) -> None:
        """Settle a request as TIMED_OUT and close the connection, as clients do. Does nothing if
        the request is settled."""
        if exchange.outcome is None:
            self._give_up(exchange, TIMED_OUT)
            self._lose(LOST)

    def _lose(self, outcome: str) -> None:
        """Close the client's end, and settle its open exchanges with this outcome.

        The server's end gets the close later.
        """
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
        """Settle an exchange without a response, and pass it to the watchers, unless it has an
        outcome already."""
        timer = self._timers.pop(exchange, None)
        if timer is not None:
            timer.cancel()
        if exchange.outcome is None:
            for watcher in self.network.watchers:
                watcher.unanswered(exchange)
            exchange.settle(outcome)

    def _draw_failures(self) -> float:
        """Draw failures of this connection, and apply them: it may lose all responses from now on,
        or break within 50 ms. Return how late this request is, in ms; 0 if nothing breaks."""
        chance, weather = self.network.chance, self.network.weather
        if chance.random() < weather.dumb_chance:
            self._dumb = True
        if chance.random() >= weather.cut_chance:
            return 0.0
        self._world.call_later(chance.random() * 50.0, self._break)
        return chance.random() * weather.late_ms

    def _break(self) -> None:
        """Close the connection, with open exchanges LOST. Requests on their way to the broker are
        dropped in half of the cases, and arrive all the same in the other half."""
        if self.network.chance.random() < 0.5:
            self._cut = True
        self._lose(LOST)

    # --- from the broker's end (`RemoteEnd`) ----------------------------------------------------

    def arrived(self, item: Exchange) -> None:
        """Set the time at which the request reached the broker's socket."""
        item.arrived_ms = self._world.now_ms

    def handling(self, item: Exchange) -> None:
        """Set the broker and the time at which it begins to handle the request, and call the
        watchers."""
        item.node = self.server.address
        item.handled_ms = self._world.now_ms
        for watcher in self.network.watchers:
            watcher.handled(item)

    def answered(
        self, item: Exchange, refused: str | None, size: int = 0, mute_ms: int = 0
    ) -> None:
        """Set time, size and throttle time of the broker's response, or why it closed the
        connection instead, and call the watchers. The client does not have the response yet."""
        item.refused = refused
        item.answer_size, item.muted_ms = size, mute_ms
        item.answered_ms = self._world.now_ms
        for watcher in self.network.watchers:
            watcher.answered(item)

    def deliver(self, item: Exchange, frame: bytes) -> None:
        """Decode a response that has arrived, set it in its exchange, call the watchers, and settle
        the exchange as "ok".

        A closed connection, or one that loses responses, ignores it. Raises AssertionError if no
        request waits for the response.
        """
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
        """Close the client's end because the broker's end closed; open exchanges are LOST. Nothing
        happens on a connection that loses all responses."""
        if not self._dumb:
            self._cut = True
            self._lose(LOST)

    def hears_refusal(self) -> None:
        """Close the client's end because no process listens at the broker; open exchanges are LOST.
        Nothing happens on a connection that loses all responses."""
        self.hears_close()
