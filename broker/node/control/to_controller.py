"""The requests of this node to the active controller, on whichever node that is.

`send` carries the broker's own requests (registration, heartbeats, AlterPartition, producer ids).
`forward` carries a client's request in an Envelope, so that the controller answers in the client's
version (KIP-590). On the node that leads the quorum both are local calls. A request that finds no
controller, loses its connection or receives NOT_CONTROLLER is retried until its timeout. So it may
be applied twice, as in Kafka, and the controller's answers allow for that.

Owns the requests without an answer, and one channel to the leader for each kind of traffic, so that
heartbeats never wait behind a client's request. Never decides which node leads
(`controller.raft.raft`).

Follows Kafka's `NodeToControllerChannelManager` and `ForwardingManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from broker.apis.envelope import tells_not_controller, unwrap, wrap
from broker.requests.context import Handle, RequestContext, Respond
from broker.requests.sliced_answers import SlicedAnswers
from controller.authorization.rights import UNLIMITED
from controller.raft.raft_client import RaftClient
from ground.ports import Channel, ChannelFailure, Network, Scheduler, Timer
from ground.sliced_work import Steps
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.message import Message
from protocol.messages.envelope import EnvelopeResponse
from protocol.primitives import StringTooLong

_log = logging.getLogger(f"ottla.{__name__}")

T = TypeVar("T")

RETRY_BACKOFF_MS = 50

Refuse = Callable[[int, Any, ErrorCode], Any]
"""A function of (API key, request, error) that returns that API's response with the error."""


class ControllerAddress:
    """The leader of the quorum, and the network to it."""

    def __init__(
        self,
        node_id: int,
        quorum: RaftClient,
        local: Handle,
        address_of: Callable[[int], tuple[str, int] | None],
        network: Network | None,
        refused_by: Callable[[int, str], None],
    ) -> None:
        """Create the address from the quorum.

        `local` answers on this node. `address_of` returns the host and port of a controller.
        `refused_by` runs when a controller rejects a kind of request of this node.
        """
        self.node_id = node_id
        self.local = local
        self._quorum = quorum
        self._address_of = address_of
        self._network = network
        self._refused_by = refused_by

    def note_refusal(self, api_key: int) -> None:
        """Call `refused_by` with the leader's id and the API's name: it rejects a request that this
        node sends in its own name."""
        leader_id = self.leader_id
        if leader_id is not None:
            self._refused_by(leader_id, ApiKey(api_key).name)

    @property
    def leader_id(self) -> int | None:
        """The id of the quorum's leader, None while it is unknown."""
        return self._quorum.leader_id

    def of(self, leader_id: int) -> tuple[str, int] | None:
        """Return the host and port of a controller, None if they are unknown. A controller may move
        to another address."""
        return self._address_of(leader_id)

    def channel(self, leader_id: int) -> Channel | None:
        """Return a new channel to `leader_id`; None if its address is unknown."""
        endpoint = self._address_of(leader_id)
        if endpoint is None or self._network is None:
            return None
        return self._network.channel(*endpoint, f"node-{self.node_id}")


class NodeToController:
    """A sender of one kind of traffic to the active controller."""

    def __init__(
        self,
        address: ControllerAddress,
        scheduler: Scheduler,
        timeout_ms: int,
        refuse: Refuse,
        answers: SlicedAnswers,
    ) -> None:
        """Create a sender without a connection.

        `timeout_ms` limits the attempts for a request (`request.timeout.ms`). `answers` writes long
        requests into Envelopes and reads their responses.
        """
        self.answers = answers
        self._address = address
        self._scheduler = scheduler
        self._timeout_ms = timeout_ms
        self.refuse = refuse
        self._channel: Channel | None = None
        self._channel_to: int | None = None
        self._channel_address: tuple[str, int] | None = None
        self._pending: dict[_PendingRequest, None] = {}
        self._stopped = False

    def send(self, request: Any, respond: Respond) -> None:
        """Send a request of this node in its latest version, and retry it if necessary. `respond`
        gets the response, or None if no answer comes within the timeout."""
        node = f"node-{self._address.node_id}"
        context = RequestContext(
            request.API_KEY, request.MAX_VERSION, 0, node, "", "", node, UNLIMITED
        )
        _PendingRequest(self, context, request, request, respond).start()

    def forward(self, context: RequestContext, request: Any, respond: Respond) -> None:
        """Forward a client's request (`broker.requests.context.Handle`).

        If no answer comes within the timeout, the response has REQUEST_TIMED_OUT. If the controller
        throttles the client, its answer says so, and this broker mutes the client's connection,
        even if it does not know the quota yet (Kafka's `sendForwardedResponse`).
        """

        def answer(response: Any) -> None:
            """Send the response on.

            No answer becomes REQUEST_TIMED_OUT; a throttle time pauses the client.
            """
            if response is None:
                response = self.refuse(context.api_key, request, ErrorCode.REQUEST_TIMED_OUT)
            wait_ms = getattr(response, "throttle_time_ms", 0)
            if wait_ms and context.connection is not None:
                context.connection.throttled(wait_ms)
            respond(response)

        _PendingRequest(self, context, request, None, answer).start()

    def close(self) -> None:
        """Send nothing more; pending requests get no answer."""
        self._stopped = True
        dropped, self._pending = self._pending, {}
        for pending in dropped:
            pending.drop()
        self._close_channel()

    def controller_changed(self) -> None:
        """Close the channel to a node that leads no more. Its pending requests are then retried on
        the node that leads now."""
        if self._channel_to != self._address.leader_id:
            self._close_channel()

    # --- for pending requests ------------------------------------------------------------------

    def attempt(self, pending: _PendingRequest) -> None:
        """Send a request to the leader now, on this node by a local call, or retry it later if no
        leader is known."""
        if self._stopped:
            pending.drop()
            return
        self._pending[pending] = None
        address, leader_id = self._address, self._address.leader_id
        if leader_id == address.node_id:
            address.local(pending.context, pending.request, pending.answered)
            return
        if leader_id is None or self._channel_for(leader_id) is None:
            pending.retry_later()
        else:
            pending.wrap(partial(self._send, pending))

    def _send(self, pending: _PendingRequest, wire: Message) -> None:
        """Send a request over the channel, unless this node has stopped, or leads meanwhile."""
        if self._stopped:
            return
        leader_id = self._address.leader_id
        channel = None
        if leader_id is not None and leader_id != self._address.node_id:
            channel = self._channel_for(leader_id)
        if channel is None:
            pending.retry_later()
            return
        left_ms = pending.deadline_ms - self._scheduler.monotonic_ms()
        channel.send(wire, pending.channel_answered, max(left_ms, 1.0))

    def _channel_for(self, leader_id: int) -> Channel | None:
        """Return the channel to this controller, or None if it has no address.

        Closes the channel to another, and to an address that this controller has left.
        """
        place = self._address.of(leader_id)
        if (leader_id, place) != (self._channel_to, self._channel_address):
            self._close_channel()
            self._channel = self._address.channel(leader_id)
            self._channel_to, self._channel_address = leader_id, place
        return self._channel

    def _close_channel(self) -> None:
        channel, self._channel, self._channel_to = self._channel, None, None
        self._channel_address = None
        if channel is not None:
            channel.close()

    def note_refusal(self, api_key: int) -> None:
        """Report to the address that the controller rejects this node, whatever happens to the
        request."""
        self._address.note_refusal(api_key)

    def settled(self, pending: _PendingRequest) -> None:
        """Forget a request that has its answer, or has timed out."""
        self._pending.pop(pending, None)

    @property
    def scheduler(self) -> Scheduler:
        """The clock of the deadlines."""
        return self._scheduler

    @property
    def timeout_ms(self) -> int:
        """The longest time for the attempts for a request."""
        return self._timeout_ms


class _PendingRequest:
    """A request until its answer."""

    def __init__(
        self,
        sender: NodeToController,
        context: RequestContext,
        request: Any,
        plain: Any | None,
        respond: Respond,
    ) -> None:
        """Create a request. `plain` is sent as it is; if None, `request` is sent in an Envelope."""
        self.context = context
        self.request = request
        self.deadline_ms = sender.scheduler.monotonic_ms() + sender.timeout_ms
        self._sender = sender
        self._wire = plain
        self._respond: Respond | None = respond
        self._timer: Timer | None = None

    def start(self) -> None:
        """Send the request now, and set the timer of its deadline."""
        self._sender.attempt(self)
        if self._respond is not None and self._timer is None:
            self._restart_timer(self._left_ms(), self._timed_out)

    def wrap(self, send: Callable[[Message], None]) -> None:
        """Call `send` with the message for another node: the plain request, or its Envelope, which
        is made in slices."""
        if self._wire is None:
            self._in_slices(wrap(self.context, self.request), partial(self._wrapped, send))
        else:
            send(self._wire)

    def _wrapped(self, send: Callable[[Message], None], wire: Message) -> None:
        """Keep the wrapped request for retries, and send it unless it was answered meanwhile."""
        self._wire = wire
        if self._respond is not None:
            send(wire)

    def _in_slices(self, steps: Steps[T], ended: Callable[[T], None]) -> None:
        """Run the steps in slices and call `ended` with their result.

        An exception is logged, and the request is answered with its refusal.
        """

        def done(result: T | None, error: Exception | None) -> None:
            """Pass the result to `ended`, or log the error and answer the request with
            its refusal."""
            if error is None:
                ended(cast(T, result))
                return
            trace = None if isinstance(error, StringTooLong) else error
            _log.error("a request to the controller failed: %s", error, exc_info=trace)
            self._settle(self._refusal())

        self._sender.answers.make(steps, ended, done)

    def _refusal(self) -> Message:
        """Return the response with UNKNOWN_SERVER_ERROR."""
        refuse, error = self._sender.refuse, ErrorCode.UNKNOWN_SERVER_ERROR
        refused: Message = refuse(self.context.api_key, self.request, error)
        return refused

    def answered(self, response: Any) -> None:
        """Answer the request with the controller's response, from this node or another. Retry later
        if the response is NOT_CONTROLLER."""
        if tells_not_controller(response):
            self.retry_later()
        else:
            self._settle(response)

    def channel_answered(self, response: Any, failure: ChannelFailure | None) -> None:
        """Read the response of another node, and answer the request with it. Retry later if the
        channel has failed.

        A node's own request that the controller does not authorize is reported, too.
        """
        if failure is not None:
            self.retry_later()
            return
        wire: Any = self._wire
        if getattr(response, "error_code", 0) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self._sender.note_refusal(wire.API_KEY)
        if wire is self.request:
            self.answered(response)
        else:
            self._in_slices(self._unwrap(response), self._unwrapped)

    def _unwrap(self, envelope: EnvelopeResponse) -> Steps[Message | None]:
        """Return the enveloped response, or the refusal if it is malformed.

        None: try again later.
        """
        try:
            return (yield from unwrap(self.context, envelope))
        except ProtocolError:
            return self._refusal()

    def _unwrapped(self, response: Message | None) -> None:
        """Answer the client, or retry later if there is no response."""
        if response is None:
            self.retry_later()
        else:
            self.answered(response)

    def retry_later(self) -> None:
        """Retry after `RETRY_BACKOFF_MS`, or time out if less time is left."""
        if self._respond is None:
            return
        if self._left_ms() <= RETRY_BACKOFF_MS:
            self._restart_timer(self._left_ms(), self._timed_out)
        else:
            self._restart_timer(RETRY_BACKOFF_MS, self._retry)

    def drop(self) -> None:
        """Drop the request without an answer because the node stops."""
        self._respond = None
        if self._timer is not None:
            self._timer.cancel()

    def _retry(self) -> None:
        """Send the request again."""
        self._timer = None
        self.start()

    def _timed_out(self) -> None:
        """Call `respond` with None, because no answer came in time."""
        self._settle(None)

    def _left_ms(self) -> float:
        """Return the time until the request's deadline, at least 0, in ms."""
        return max(self.deadline_ms - self._sender.scheduler.monotonic_ms(), 0.0)

    def _restart_timer(self, delay_ms: float, callback: Callable[[], None]) -> None:
        """Call `callback` after `delay_ms`, in place of the earlier timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._sender.scheduler.call_later(delay_ms, callback)

    def _settle(self, response: Any) -> None:
        """Call `respond` once with the response, cancel the timer, and remove the request from the
        sender's list."""
        respond, self._respond = self._respond, None
        self._sender.settled(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if respond is not None:
            respond(response)
