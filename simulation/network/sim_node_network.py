"""The connections between nodes: `ground.ports.Network` over the simulator's wires.

Each life of a node has its own network, whose callbacks run in the node's process: not while it is
paused, and never after its death. A connection is opened by the first request, and again after a
failure, as in `broker.network.outgoing.network_client`: REFUSED if no process listens there, LOST
if the other end closed it or died, TIMED_OUT if no response came in time.
"""

from __future__ import annotations

import zlib
from typing import Any

from ground.ports import Answered, ChannelFailure
from protocol.api_keys import ApiKey
from protocol.frames.message_codec import answer_to, decode_answer, encode_request
from protocol.message import Message
from protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from simulation.network.sim_links import Handshake, OneWayWire
from simulation.network.sim_network import SimNetwork
from simulation.network.sim_server_end import ServerEnd
from simulation.sim_process import ProcessScheduler, ProcessTimer
from storage.log.producer_state import EPOCH_BUMP_VERSION


class SimNodeNetwork:
    """The network of one life of a node."""

    def __init__(self, network: SimNetwork, address: str, scheduler: ProcessScheduler) -> None:
        self.network = network
        self.address = address
        self.scheduler = scheduler
        self.connections: dict[_Connection, None] = {}

    def channel(self, host: str, port: int, client_id: str) -> SimChannel:
        """Return a channel of this node to the one at `host:port`; its first request connects."""
        return SimChannel(self, host, port, client_id)

    def end(self, *, silently: bool) -> None:
        """Close all connections: the process has ended. The other ends get notice unless
        `silently`."""
        connections, self.connections = self.connections, {}
        for connection in connections:
            connection.abandon(silently)


class _Sent:
    """A request without a response so far."""

    __slots__ = ("answer", "api_key", "done", "timer", "version")

    def __init__(self, answer: type[Message], api_key: int, version: int, done: Answered) -> None:
        self.answer = answer
        self.api_key = api_key
        self.version = version
        self.done = done
        self.timer: ProcessTimer | None = None


class SimChannel:
    """A connection between nodes in virtual time (`ground.ports.Channel`)."""

    def __init__(self, node: SimNodeNetwork, host: str, port: int, client_id: str) -> None:
        self.host = host
        self.port = port
        self._node = node
        self._client_id = client_id
        self._connection: _Connection | None = None
        self._closed = False

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        """Send a request, by default in its newest version, on an open or a new connection.

        `done` gets the response or a failure: LOST if the channel is closed, TIMED_OUT after
        `timeout_ms`.
        """
        scheduler = self._node.scheduler
        if self._closed:
            scheduler.call_soon(lambda: done(None, ChannelFailure.LOST))
            return
        if self._connection is None or not self._connection.open:
            self._connection = _Connection(self._node, self.host, self.port, self._client_id)
        sent = _Sent(
            answer_to(request),
            request.API_KEY,
            request.MAX_VERSION if version is None else version,
            done,
        )
        self._connection.send(request, sent, timeout_ms)

    def close(self) -> None:
        """Close the channel and its connection; requests without a response, and later ones, fail
        as LOST."""
        self._closed = True
        if self._connection is not None:
            self._connection.fail(ChannelFailure.LOST)


class _Connection:
    """One node's end of a connection to another node (`RemoteEnd`)."""

    def __init__(self, node: SimNodeNetwork, host: str, port: int, client_id: str) -> None:
        """Create both ends, and add this end to the node's connections. The handshake begins with
        the first request."""
        network = node.network
        self.open = True
        self._node = node
        self._network = network
        self._scheduler = node.scheduler
        self._name = f"{node.address} → {host}"
        self._client_id = client_id
        self._correlation = 0
        self._pending: dict[int, _Sent] = {}
        self._arrived: dict[int, tuple[int, int]] = {}
        """The API key and size of each request that the other node has not answered."""
        self._host = host
        self._cut = False
        self._dumb = False
        self._handshake = Handshake(network.links, node.address, host)
        self._wire = OneWayWire(network.links, node.address, host)
        back = OneWayWire(network.links, host, node.address)
        server = network.servers[host]
        node.connections[self] = None
        end_name = f"{node.address}/{client_id}"
        self._end = ServerEnd(
            network.ends,
            server,
            port,
            self,
            end_name,
            back,
            network.delay_ms,
            network.nodes_principal,
        )

    def send(self, request: Message, sent: _Sent, timeout_ms: float) -> None:
        """Send a request after a random delay.

        Its `done` gets the response, or a failure after `timeout_ms`.
        """
        self._correlation += 1
        number = self._correlation
        frame = encode_request(request, sent.version, number, self._client_id)[4:]
        self._pending[number] = sent
        sent.timer = self._scheduler.call_later(timeout_ms, lambda: self._timed_out(number))
        delay_ms = self._network.delay_ms() + self._draw_failures()
        may_be_late = not _has_old_marker(request)
        self._handshake.then(
            lambda: self._wire.carry(
                lambda: self._arrive(number, sent.api_key, frame, may_be_late), delay_ms
            )
        )

    def _arrive(self, number: int, api_key: int, frame: bytes, may_be_late: bool) -> None:
        """Pass a request to the other node's end, unless the connection is cut. After this end has
        closed, that needs `may_be_late`."""
        if not self._cut and (self.open or may_be_late):
            self._arrived[number] = (api_key, len(frame))
            self._end.arrive(number, frame)

    def _draw_failures(self) -> float:
        """Draw failures of the connection, less often than for clients, and apply them: it may lose
        all responses, or break within 50 ms. Return how late the request is, in ms."""
        chance, weather = self._network.chance, self._network.weather
        if chance.random() < weather.dumb_chance * weather.between_nodes:
            self._dumb = True
        if chance.random() >= weather.cut_chance * weather.between_nodes:
            return 0.0
        self._scheduler.call_later(chance.random() * 50.0, self._break)
        return chance.random() * weather.late_ms

    def _break(self) -> None:
        """Close the connection and fail its requests as LOST. In half of the cases, drop also what
        is on its way to the server."""
        if self._network.chance.random() < 0.5:
            self._cut = True
        self.fail(ChannelFailure.LOST)

    def _timed_out(self, number: int) -> None:
        """Close the connection: this request fails as TIMED_OUT, all others as LOST. Does nothing
        if the request has ended."""
        if number in self._pending:
            late = self._pending.pop(number)
            self._hang_up()
            late.done(None, ChannelFailure.TIMED_OUT)
            self.fail(ChannelFailure.LOST)

    def fail(self, failure: ChannelFailure) -> None:
        """Close the connection, and call `done` of all requests that wait on it with this
        failure."""
        self._hang_up()
        pending, self._pending = self._pending, {}
        for sent in pending.values():
            assert sent.timer is not None
            sent.timer.cancel()
            sent.done(None, failure)

    def abandon(self, silently: bool) -> None:
        """Close the connection because this end's process has ended; no `done` is called. With
        `silently`, the other end gets no notice."""
        if silently:
            self.open = False
        self._hang_up()

    def _hang_up(self) -> None:
        """Close this end; the server's end gets the close later. No `done` is called."""
        self._node.connections.pop(self, None)
        if self.open:
            self.open = False
            self._handshake.give_up()
            if self._handshake.made:
                self._wire.carry(self._end.hear_close, self._network.delay_ms())

    # --- from the other end (`RemoteEnd`) -------------------------------------------------------

    def arrived(self, item: int) -> None:
        """Do nothing: requests between nodes have no watchers."""
        return

    def handling(self, item: int) -> None:
        """Do nothing: requests between nodes have no watchers."""
        return

    def answered(self, item: int, refused: str | None, size: int = 0, mute_ms: int = 0) -> None:
        """Report the request as answered. Add a line to the trace if the other node closed the
        connection instead. Responses come to `deliver`."""
        self._network.on_node_answered(self._host, *self._arrived.pop(item))
        if refused is not None:
            self._network.on_node_message(f"{self._name}: closed: {refused}")

    def deliver(self, item: int, frame: bytes) -> None:
        """Pass a response to its request in this node's process, unless the connection loses all
        responses."""
        if not self._dumb:
            self._scheduler.arrive(lambda: self._take_response(item, frame))

    def _take_response(self, number: int, frame: bytes) -> None:
        """Decode a response, add a line to the trace, and call the request's `done` with it. Ignore
        the response if the request has ended."""
        sent = self._pending.pop(number, None)
        if sent is None or not self.open:
            return
        assert sent.timer is not None
        sent.timer.cancel()
        correlation, response = decode_answer(sent.answer, memoryview(frame)[4:], sent.version)
        assert correlation == number
        key = ApiKey(sent.api_key)
        self._network.on_node_message(
            f"{self._name} {key.name} v{sent.version} {zlib.crc32(frame):08x}"
        )
        self._network.on_node_told(response)
        sent.done(response, None)

    def hears_close(self) -> None:
        """Fail all requests as LOST, in this node's process, because the other end closed. Nothing
        happens on a connection that loses all responses."""
        if not self._dumb:
            self._cut = True
            self._scheduler.arrive(lambda: self.fail(ChannelFailure.LOST))

    def hears_refusal(self) -> None:
        """Fail all requests as REFUSED, in this node's process: no process listens there."""
        self._cut = True
        self._scheduler.arrive(lambda: self.fail(ChannelFailure.REFUSED))


def _has_old_marker(request: object) -> bool:
    """Return whether a request has a transaction marker of protocol 1, which must not arrive after
    its sender has sent it again on another connection.

    Its epoch is also that of the producer's next transaction, so it would end that one. This is a
    flaw of the protocol itself, in Kafka as well; protocol 2 removes it (KIP-890). A late marker of
    protocol 2 is delivered, and the leader has to reject it.
    """
    return isinstance(request, WriteTxnMarkersRequest) and any(
        marker.transaction_version < EPOCH_BUMP_VERSION for marker in request.markers
    )
