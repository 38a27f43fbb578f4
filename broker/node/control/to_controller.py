"""Requests of this node to the active controller, wherever that is now.

`send` carries the broker's own requests (registration, heartbeats, AlterPartition, producer ids),
`forward` a client's, in an Envelope so that the controller answers in the client's version
(KIP-590). On the node that leads the quorum both are calls. A request that finds no controller,
loses its connection or is told NOT_CONTROLLER is tried again until its time is up; so it may come
true twice, as in Kafka, and the controller's answers allow for that.

Owns: requests that are not answered yet, and one channel to the leader for each kind of traffic, so
that heartbeats never wait behind a client's request. Never: decides who leads
(`controller.raft.raft`).

Follows Kafka's `NodeToControllerChannelManager` and `ForwardingManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
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
"""(API key, request, error) → the response of that API which says so."""


class ControllerAddress:
    """Who leads the quorum now, and the way there."""

    def __init__(
        self,
        node_id: int,
        quorum: RaftClient,
        local: Handle,
        endpoints: Mapping[int, tuple[str, int]],
        network: Network | None,
        refused_by: Callable[[int, str], None],
    ) -> None:
        """`local` answers on this node; `endpoints` are host and port of every voter; `refused_by`
        is told of a controller that does not take a kind of request of this node."""
        self.node_id = node_id
        self.local = local
        self._quorum = quorum
        self._endpoints = endpoints
        self._network = network
        self._refused_by = refused_by

    def note_refusal(self, api_key: int) -> None:
        """Tell that the controller does not take what this node sends it in its own name."""
        leader_id = self.leader_id
        if leader_id is not None:
            self._refused_by(leader_id, ApiKey(api_key).name)

    @property
    def leader_id(self) -> int | None:
        """The node to ask, None while none is known."""
        return self._quorum.leader_id

    def channel(self, leader_id: int) -> Channel | None:
        """A new channel to `leader_id`; None where its address is unknown."""
        endpoint = self._endpoints.get(leader_id)
        if endpoint is None or self._network is None:
            return None
        return self._network.channel(*endpoint, f"node-{self.node_id}")


class NodeToController:
    """One kind of traffic to the active controller."""

    def __init__(
        self,
        address: ControllerAddress,
        scheduler: Scheduler,
        timeout_ms: int,
        refuse: Refuse,
        answers: SlicedAnswers,
    ) -> None:
        """`timeout_ms`: for how long a request is tried (`request.timeout.ms`). `answers` puts long
        requests into Envelopes, and reads what comes back."""
        self.answers = answers
        self._address = address
        self._scheduler = scheduler
        self._timeout_ms = timeout_ms
        self.refuse = refuse
        self._channel: Channel | None = None
        self._channel_to: int | None = None
        self._errands: dict[_Errand, None] = {}
        self._stopped = False

    def send(self, request: Any, respond: Respond) -> None:
        """Send this node's own request in its latest version; `respond(None)` where no answer came
        in time."""
        node = f"node-{self._address.node_id}"
        context = RequestContext(
            request.API_KEY, request.MAX_VERSION, 0, node, "", "", node, UNLIMITED
        )
        _Errand(self, context, request, request, respond).go()

    def forward(self, context: RequestContext, request: Any, respond: Respond) -> None:
        """Pass a client's request on (`broker.requests.context.Handle`); REQUEST_TIMED_OUT in its
        response's form where no answer came in time.

        A controller that holds the client back says so in its answer; its connection is muted
        here, also where this broker has not heard of the quota yet (Kafka's
        `sendForwardedResponse`)."""

        def answer(response: Any) -> None:
            if response is None:
                response = self.refuse(context.api_key, request, ErrorCode.REQUEST_TIMED_OUT)
            wait_ms = getattr(response, "throttle_time_ms", 0)
            if wait_ms and context.connection is not None:
                context.connection.throttled(wait_ms)
            respond(response)

        _Errand(self, context, request, None, answer).go()

    def close(self) -> None:
        """Send nothing any more; what waits gets no answer."""
        self._stopped = True
        errands, self._errands = self._errands, {}
        for errand in errands:
            errand.drop()
        self._hang_up()

    def controller_changed(self) -> None:
        """Another node leads: what waits for the old one is tried there instead."""
        if self._channel_to != self._address.leader_id:
            self._hang_up()

    # --- for errands ---------------------------------------------------------------------------

    def attempt(self, errand: _Errand) -> None:
        """Try once."""
        if self._stopped:
            errand.drop()
            return
        self._errands[errand] = None
        address, leader_id = self._address, self._address.leader_id
        if leader_id == address.node_id:
            address.local(errand.context, errand.request, errand.answered)
            return
        if leader_id is None or self._channel_for(leader_id) is None:
            errand.again()
        else:
            errand.wrap(partial(self._send, errand))

    def _send(self, errand: _Errand, wire: Message) -> None:
        """Send what an errand has for the wire, unless the node has stopped, or leads by now."""
        if self._stopped:
            return
        leader_id = self._address.leader_id
        channel = None
        if leader_id is not None and leader_id != self._address.node_id:
            channel = self._channel_for(leader_id)
        if channel is None:
            errand.again()
            return
        left_ms = errand.deadline_ms - self._scheduler.monotonic_ms()
        channel.send(wire, errand.heard, max(left_ms, 1.0))

    def _channel_for(self, leader_id: int) -> Channel | None:
        if leader_id != self._channel_to:
            self._hang_up()
            self._channel = self._address.channel(leader_id)
            self._channel_to = leader_id
        return self._channel

    def _hang_up(self) -> None:
        channel, self._channel, self._channel_to = self._channel, None, None
        if channel is not None:
            channel.close()

    def note_refusal(self, api_key: int) -> None:
        """Who does not let this node in is named, whatever becomes of the request."""
        self._address.note_refusal(api_key)

    def settled(self, errand: _Errand) -> None:
        """It has its answer, or no time left."""
        self._errands.pop(errand, None)

    @property
    def scheduler(self) -> Scheduler:
        """For the deadlines."""
        return self._scheduler

    @property
    def timeout_ms(self) -> int:
        """For how long a request is tried."""
        return self._timeout_ms


class _Errand:
    """One request until its answer."""

    def __init__(
        self,
        way: NodeToController,
        context: RequestContext,
        request: Any,
        plain: Any | None,
        respond: Respond,
    ) -> None:
        """`plain` is what goes on the wire as it is; None: the request in an Envelope."""
        self.context = context
        self.request = request
        self.deadline_ms = way.scheduler.monotonic_ms() + way.timeout_ms
        self._way = way
        self._wire = plain
        self._respond: Respond | None = respond
        self._timer: Timer | None = None

    def go(self) -> None:
        """Begin."""
        self._way.attempt(self)
        if self._respond is not None and self._timer is None:
            self._arm(self._left_ms(), self._out_of_time)

    def wrap(self, send: Callable[[Message], None]) -> None:
        """Call `send` with what goes to another node, once it is written."""
        if self._wire is None:
            self._in_slices(wrap(self.context, self.request), partial(self._wrapped, send))
        else:
            send(self._wire)

    def _wrapped(self, send: Callable[[Message], None], wire: Message) -> None:
        self._wire = wire
        if self._respond is not None:
            send(wire)

    def _in_slices(self, steps: Steps[T], ended: Callable[[T], None]) -> None:
        def done(result: T | None, error: Exception | None) -> None:
            if error is None:
                ended(cast(T, result))
                return
            trace = None if isinstance(error, StringTooLong) else error
            _log.error("a request to the controller failed: %s", error, exc_info=trace)
            self._settle(self._refusal())

        self._way.answers.make(steps, ended, done)

    def _refusal(self) -> Message:
        refuse, error = self._way.refuse, ErrorCode.UNKNOWN_SERVER_ERROR
        refused: Message = refuse(self.context.api_key, self.request, error)
        return refused

    def answered(self, response: Any) -> None:
        """The controller's answer, from this node or another."""
        if tells_not_controller(response):
            self.again()
        else:
            self._settle(response)

    def heard(self, response: Any, failure: ChannelFailure | None) -> None:
        """What came over the channel."""
        if failure is not None:
            self.again()
            return
        wire: Any = self._wire
        if getattr(response, "error_code", 0) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            self._way.note_refusal(wire.API_KEY)
        if wire is self.request:
            self.answered(response)
        else:
            self._in_slices(self._unwrap(response), self._unwrapped)

    def _unwrap(self, envelope: EnvelopeResponse) -> Steps[Message | None]:
        try:
            return (yield from unwrap(self.context, envelope))
        except ProtocolError:
            return self._refusal()

    def _unwrapped(self, response: Message | None) -> None:
        if response is None:
            self.again()
        else:
            self.answered(response)

    def again(self) -> None:
        """Try again a little later, if there is time."""
        if self._respond is None:
            return
        if self._left_ms() <= RETRY_BACKOFF_MS:
            self._arm(self._left_ms(), self._out_of_time)
        else:
            self._arm(RETRY_BACKOFF_MS, self._try_again)

    def drop(self) -> None:
        """It is never answered: the node stops."""
        self._respond = None
        if self._timer is not None:
            self._timer.cancel()

    def _try_again(self) -> None:
        self._timer = None
        self.go()

    def _out_of_time(self) -> None:
        self._settle(None)

    def _left_ms(self) -> float:
        return max(self.deadline_ms - self._way.scheduler.monotonic_ms(), 0.0)

    def _arm(self, delay_ms: float, then: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._way.scheduler.call_later(delay_ms, then)

    def _settle(self, response: Any) -> None:
        respond, self._respond = self._respond, None
        self._way.settled(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if respond is not None:
            respond(response)
