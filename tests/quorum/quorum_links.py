"""The network between the nodes of a simulated quorum: the `Network` port in virtual time.

Requests and answers cross as bytes, through the real codec. A connection keeps order and serves one
request at a time; a new one may overtake what is still on its way on the old. Links are cut one way
or both: what crosses a cut link is lost, and its sender finds out by its time-out. A node that is
not there refuses; one that dies resets its connections, where the way back is open.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from ground.ports import Answered, ChannelFailure
from ground.sim_scheduler import SimScheduler, SimTimer
from protocol.api_keys import ApiKey, messages_of
from protocol.frames.message_codec import (
    decode,
    decode_response,
    encode_request,
    encode_response,
    read_request_header,
    skip_header_tags,
)


class Server(Protocol):
    """What stands behind an address."""

    alive: bool
    life: int

    def handle(self, version: int, request: Any, respond: Callable[[Any], None]) -> None: ...


Seen = Callable[[int, int, Any, Any], None]
"""(who asked, who answered, request, response): told when an answer leaves."""


class QuorumLinks:
    """All connections. A node's port is its id."""

    def __init__(self, world: SimScheduler, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.servers: dict[int, Server] = {}
        self.cut: set[tuple[int, int]] = set()
        self.refuse: set[tuple[int, int]] = set()
        """(from, to): new connections are refused, though the node lives."""
        self.connections: list[Connection] = []
        self.watch: Seen = lambda *_: None
        self.slow_chance = 0.02

    def open(self, source: int, target: int) -> bool:
        return (source, target) not in self.cut

    def delay_ms(self) -> float:
        if self.chance.random() < self.slow_chance:
            return self.chance.random() * 800.0
        return 0.1 + self.chance.random() * 3.0

    def died(self, node_id: int) -> None:
        """A process ended: connections to it are reset, those from it are forgotten."""
        for connection in list(self.connections):
            if connection.source == node_id:
                connection.forget()
            elif connection.target == node_id:
                connection.server_gone()


class NodeNetwork:
    """One node's `Network`, for one life."""

    def __init__(self, links: QuorumLinks, node_id: int) -> None:
        self._links = links
        self._node_id = node_id

    def channel(self, host: str, port: int, client_id: str) -> SimChannel:
        return SimChannel(self._links, self._node_id, port, client_id)


class SimChannel:
    """A connection between two voters in virtual time (`ground.ports.Channel`)."""

    def __init__(self, links: QuorumLinks, source: int, target: int, client_id: str) -> None:
        self._links = links
        self._ends = (source, target)
        self._client_id = client_id
        self._connection: Connection | None = None
        self._closed = False

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        assert not self._closed
        if self._connection is None or self._connection.ended:
            self._connection = Connection(self._links, *self._ends)
        version = request.MAX_VERSION if version is None else version
        self._connection.send(request, version, self._client_id, done, timeout_ms)

    def close(self) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.fail_all(ChannelFailure.LOST)


class Connection:
    """Both ends of one connection."""

    def __init__(self, links: QuorumLinks, source: int, target: int) -> None:
        self.links = links
        self.source = source
        self.target = target
        self.ended = False
        self._life: int | None = None
        self._pending: dict[int, tuple[Any, int, Answered, SimTimer]] = {}
        self._number = 0
        self._last_ms = {True: 0.0, False: 0.0}
        self._queue: deque[tuple[int, bytes]] = deque()
        self._busy = False
        links.connections.append(self)

    def send(
        self, request: Any, version: int, client_id: str, done: Answered, timeout_ms: float
    ) -> None:
        self._number += 1
        number = self._number
        frame = encode_request(request, version, number, client_id)[4:]
        timer = self.links.world.call_later(
            timeout_ms, lambda: self.fail_all(ChannelFailure.TIMED_OUT)
        )
        self._pending[number] = (request, version, done, timer)
        self._carry(True, lambda: self._arrive(number, frame))

    def fail_all(self, failure: ChannelFailure) -> None:
        """The asking end gives up."""
        pending = list(self._pending.values())
        self.forget()
        for _, _, done, timer in pending:
            timer.cancel()
            done(None, failure)

    def forget(self) -> None:
        """The asking process is gone, or has heard all it will."""
        for _, _, _, timer in self._pending.values():
            timer.cancel()
        self._pending = {}
        self.ended = True
        if self in self.links.connections:
            self.links.connections.remove(self)

    def server_gone(self) -> None:
        self._queue.clear()
        self._carry(False, lambda: self.fail_all(ChannelFailure.LOST))

    # --- the wire ------------------------------------------------------------------------------

    def _carry(self, forth: bool, then: Callable[[], None]) -> None:
        world, ends = self.links.world, (self.source, self.target)
        due = max(self._last_ms[forth], world.now_ms + self.links.delay_ms())
        self._last_ms[forth] = due

        def arrive() -> None:
            if self.links.open(*(ends if forth else ends[::-1])):
                then()

        world.call_later(due - world.now_ms, arrive)

    def _arrive(self, number: int, frame: bytes) -> None:
        server = self.links.servers[self.target]
        refuses = (self.source, self.target) in self.links.refuse
        if self._life is None and server.alive and not refuses:
            self._life = server.life
        if not server.alive or server.life != self._life:
            refused = ChannelFailure.REFUSED if self._life is None else ChannelFailure.LOST
            self._carry(False, lambda: self.fail_all(refused))
            return
        self._queue.append((number, frame))
        self._serve()

    def _serve(self) -> None:
        if self._busy or not self._queue:
            return
        self._busy = True
        number, frame = self._queue.popleft()
        buffer = bytearray(frame)
        view = memoryview(buffer)
        key, version, _, _, start = read_request_header(view)
        request_class = messages_of(ApiKey(key)).request
        if version >= request_class.FLEXIBLE_FROM:
            start = skip_header_tags(view, start)
        request = decode(request_class, view, start, version)
        life, answered = self._life, [False]

        def respond(response: Any) -> None:
            assert not answered[0], "answered twice"
            answered[0] = True
            server = self.links.servers[self.target]
            if not server.alive or server.life != life:
                return
            self.links.watch(self.source, self.target, request, response)
            out = encode_response(response, version, number)
            data = bytes(out) if not out.slices else bytes(out.joined())
            self._carry(False, lambda: self._answered(number, data))
            self.links.world.call_soon(self._served)

        self.links.servers[self.target].handle(version, request, respond)
        buffer[:] = b"\xdd" * len(buffer)

    def _served(self) -> None:
        self._busy = False
        self._serve()

    def _answered(self, number: int, data: bytes) -> None:
        if number not in self._pending:
            return
        request, version, done, timer = self._pending.pop(number)
        timer.cancel()
        _, response = decode_response(ApiKey(request.API_KEY), memoryview(data)[4:], version)
        done(response, None)
