from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from broker.apis.envelope import EnvelopeApi
from broker.apis.forwarded import ForwardedApis
from broker.node.control.to_controller import RETRY_BACKOFF_MS, ControllerAddress, NodeToController
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED
from ground.ports import Answered, ChannelFailure
from ground.sim_scheduler import SimScheduler
from ground.sliced_work import PIECES_AT_ONCE
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.frames.message_codec import encode_request, encode_response
from protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from tests.unit.broker.sliced_fixture import Turns

ME, OTHER, THIRD = 1, 2, 3
TIMEOUT_MS = 3_000
OK = BrokerHeartbeatResponse(is_fenced=False)
NOT_CONTROLLER = BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER)
CONTEXT = RequestContext(
    ApiKey.CREATE_TOPICS, 7, 11, "client", "10.1.2.3", "PLAINTEXT", "c", UNLIMITED
)


class FakeChannel:
    """Keeps what is sent; answers when it is told to."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, Answered, float]] = []
        self.closed = False

    def send(
        self, request: Any, done: Answered, timeout_ms: float, version: int | None = None
    ) -> None:
        self.sent.append((request, done, timeout_ms))

    def answer(self, response: Any, failure: ChannelFailure | None = None) -> None:
        self.sent.pop(0)[1](response, failure)

    def close(self) -> None:
        self.closed = True
        while self.sent:
            self.answer(None, ChannelFailure.LOST)


class World:
    """A node, its quorum, and the channels that it opens."""

    def __init__(self, leader_id: int | None) -> None:
        self.leader_id = leader_id
        self.scheduler = SimScheduler()
        self.channels: dict[tuple[str, int], FakeChannel] = {}
        self.local: list[tuple[RequestContext, Any, Callable[[Any], None]]] = []
        self.endpoints = {OTHER: ("other", 2), THIRD: ("third", 3)}
        self.refusals: list[tuple[int, str]] = []
        address = ControllerAddress(
            ME,
            self,
            self.ask_here,
            self.endpoints.get,
            self,
            lambda *one: self.refusals.append(one),
        )
        self.turns = Turns()
        self.way = NodeToController(
            address, self.scheduler, TIMEOUT_MS, self.refuse, self.turns.answers
        )
        self.answers: list[Any] = []

    def ask_here(
        self, context: RequestContext, request: Any, respond: Callable[[Any], None]
    ) -> None:
        self.local.append((context, request, respond))

    def channel(self, host: str, port: int, client_id: str) -> FakeChannel:
        assert client_id == "node-1"
        self.channels[(host, port)] = FakeChannel()
        return self.channels[(host, port)]

    def refuse(self, api_key: int, _request: Any, error: ErrorCode) -> Any:
        return (api_key, error)

    def send(self) -> None:
        self.way.send(BrokerHeartbeatRequest(ME, 5), self.answers.append)

    @property
    def other(self) -> FakeChannel:
        return self.channels[("other", 2)]


def test_on_the_leader_it_is_a_call() -> None:
    world = World(ME)
    world.send()
    ((context, request, respond),) = world.local
    assert (context.api_key, context.api_version) == (63, BrokerHeartbeatRequest.MAX_VERSION)
    assert request.broker_epoch == 5
    respond(OK)
    assert world.answers == [OK]
    assert world.channels == {}


def test_elsewhere_it_goes_over_one_channel() -> None:
    world = World(OTHER)
    world.send()
    world.send()
    assert [request.broker_epoch for request, _, _ in world.other.sent] == [5, 5]
    assert [timeout for _, _, timeout in world.other.sent] == [TIMEOUT_MS, TIMEOUT_MS]
    world.other.answer(OK)
    assert world.answers == [OK]


def test_without_a_leader_it_waits_for_one() -> None:
    world = World(None)
    world.send()
    world.scheduler.run_for(200)
    world.leader_id = ME
    world.scheduler.run_for(RETRY_BACKOFF_MS)
    assert len(world.local) == 1


def test_a_lost_connection_and_not_controller_are_tried_again() -> None:
    world = World(OTHER)
    world.send()
    world.other.answer(None, ChannelFailure.REFUSED)
    assert world.other.sent == []
    world.scheduler.run_for(RETRY_BACKOFF_MS)
    world.other.answer(NOT_CONTROLLER)
    world.leader_id = THIRD
    world.scheduler.run_for(RETRY_BACKOFF_MS)
    assert world.other.closed
    world.channels[("third", 3)].answer(OK)
    assert world.answers == [OK]


def test_another_leader_takes_over_what_waits_for_the_old_one() -> None:
    world = World(OTHER)
    world.send()
    world.leader_id = THIRD
    world.way.controller_changed()
    world.scheduler.run_for(RETRY_BACKOFF_MS)
    assert world.other.closed
    world.channels[("third", 3)].answer(OK)
    world.scheduler.run_for(2 * TIMEOUT_MS)
    assert world.answers == [OK]


def test_a_leader_that_moves_is_asked_at_its_other_address() -> None:
    """A broker that starts knows the address in its own log first."""
    world = World(OTHER)
    world.send()
    first = world.other
    first.answer(None, ChannelFailure.LOST)
    world.endpoints[OTHER] = ("moved", 4)
    world.scheduler.run_for(RETRY_BACKOFF_MS)
    assert first.closed
    world.channels[("moved", 4)].answer(OK)
    assert world.answers == [OK]


def test_no_answer_in_time_is_none_and_a_late_one_is_not_told() -> None:
    world = World(ME)
    world.send()
    world.scheduler.run_for(TIMEOUT_MS + 1)
    assert world.answers == [None]
    world.local[0][2](OK)
    assert world.answers == [None]


def test_tries_end_with_the_time() -> None:
    world = World(None)
    world.send()
    world.scheduler.run_for(TIMEOUT_MS + 1)
    assert world.answers == [None]
    world.leader_id = ME
    world.scheduler.run_for(TIMEOUT_MS)
    assert world.local == []


def test_after_the_close_nothing_is_sent_and_nobody_is_answered() -> None:
    world = World(OTHER)
    world.send()
    world.leader_id = None
    world.send()
    world.way.close()
    assert world.other.closed
    world.send()
    assert not world.scheduler.pending(), "a timer is left"
    assert world.answers == []
    assert len(world.channels) == 1


def forwarded(world: World) -> CreateTopicsRequest:
    request = CreateTopicsRequest([CreatableTopic("t", 3, 2)], 900)
    world.way.forward(CONTEXT, request, world.answers.append)
    return request


def test_a_clients_request_is_passed_on_in_an_envelope_and_answered_in_its_version() -> None:
    world = World(OTHER)
    forwarded(world)
    ((envelope, done, _),) = world.other.sent
    assert isinstance(envelope, EnvelopeRequest)
    assert envelope.client_host_address == bytes([10, 1, 2, 3])
    # Kafka's DefaultKafkaPrincipalBuilder.serialize(User:ANONYMOUS).
    assert envelope.request_principal == b"\0\0\x05User\x0aANONYMOUS\0\0"
    seen: list[Any] = []

    def create(context: RequestContext, request: Any, respond: Callable[[Any], None]) -> None:
        seen.append((context.api_version, context.client_id, request.topics[0].name))
        results = [CreatableTopicResult("t", b"i" * 16, num_partitions=3, replication_factor=2)]
        respond(CreateTopicsResponse(topics=results))

    api = EnvelopeApi(ForwardedApis(create).apis(), lambda *_: UNLIMITED, Turns().answers)
    api.handle(CONTEXT, envelope, lambda response: done(response, None))
    assert seen == [(7, "client", "t")]
    (response,) = world.answers
    assert [(t.name, t.num_partitions) for t in response.topics] == [("t", 3)]


class Muted:
    """A client's connection that notes for how long it is held back."""

    def __init__(self) -> None:
        self.waits_ms: list[int] = []

    def throttled(self, wait_ms: int) -> None:
        self.waits_ms.append(wait_ms)


@pytest.mark.parametrize("told_ms", [0, 14_184])
def test_a_client_that_the_controller_holds_back_is_muted(told_ms: int) -> None:
    """Seed 700087: this broker had not heard of the quota when the request came."""
    world = World(ME)
    connection: Any = Muted()
    context = replace(CONTEXT, connection=connection)
    world.way.forward(context, CreateTopicsRequest([], 900), world.answers.append)
    ((_, _, respond),) = world.local
    respond(CreateTopicsResponse(throttle_time_ms=told_ms))
    assert connection.waits_ms == [told_ms] * bool(told_ms)
    assert len(world.answers) == 1


def test_a_node_that_is_no_controller_any_more_says_so_on_the_envelope() -> None:
    world = World(OTHER)
    forwarded(world)

    def create(_: RequestContext, request: Any, respond: Callable[[Any], None]) -> None:
        failed = CreatableTopicResult("t", error_code=ErrorCode.NOT_CONTROLLER)
        respond(CreateTopicsResponse(topics=[failed]))

    envelope, done, _ = world.other.sent.pop()
    told: list[Any] = []
    EnvelopeApi(ForwardedApis(create).apis(), lambda *_: UNLIMITED, Turns().answers).handle(
        CONTEXT, envelope, told.append
    )
    assert (told[0].error_code, told[0].response_data) == (ErrorCode.NOT_CONTROLLER, b"")
    done(told[0], None)
    assert world.answers == []
    world.leader_id = ME
    world.scheduler.run_for(RETRY_BACKOFF_MS)
    assert len(world.local) == 1


def test_a_client_is_told_when_no_controller_answers() -> None:
    world = World(None)
    forwarded(world)
    world.scheduler.run_for(TIMEOUT_MS + 1)
    assert world.answers == [(ApiKey.CREATE_TOPICS, ErrorCode.REQUEST_TIMED_OUT)]


def test_a_controller_that_does_not_let_this_node_in_is_named() -> None:
    """Whatever becomes of the request; what is denied to a client is no such thing."""
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    world = World(OTHER)
    world.send()
    world.other.answer(BrokerHeartbeatResponse(error_code=denied))
    assert world.refusals == [(OTHER, "BROKER_HEARTBEAT")]
    assert [answer.error_code for answer in world.answers] == [denied]
    world.way.refuse = lambda _key, _request, error: BrokerHeartbeatResponse(error_code=error)
    forwarded(world)
    world.other.answer(EnvelopeResponse(None, denied))
    assert world.refusals[1:] == [(OTHER, "ENVELOPE")]
    assert world.answers[-1].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    forwarded(world)
    inside = CreateTopicsResponse(topics=[CreatableTopicResult("t", error_code=29)])
    frame = encode_response(inside, CONTEXT.api_version, CONTEXT.correlation_id).joined()
    world.other.answer(EnvelopeResponse(bytes(frame)[4:], ErrorCode.NONE))
    assert len(world.refusals) == 2


# --- long requests -------------------------------------------------------------------------------

MANY = 10 * PIECES_AT_ONCE


def long_request() -> CreateTopicsRequest:
    return CreateTopicsRequest([CreatableTopic(f"name-{number}") for number in range(MANY)])


def long_response() -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(f"name-{number}") for number in range(MANY)]
    )


def enveloped(response: CreateTopicsResponse) -> EnvelopeResponse:
    return EnvelopeResponse(encode_response(response, 7, 3).joined()[4:])


def test_a_long_request_is_passed_on_and_its_answer_read_in_slices() -> None:
    world = World(OTHER)
    world.way.forward(CONTEXT, long_request(), world.answers.append)
    assert world.other.sent == [] and world.turns.run() >= 9
    ((envelope, _, _),) = world.other.sent
    assert bytes(envelope.request_data) == encode_request(long_request(), 7, 11, "client")[4:]
    world.other.answer(enveloped(long_response()))
    assert world.answers == [] and world.turns.run() >= 3
    assert world.answers == [long_response()]


def test_a_long_request_is_tried_again_from_its_bytes() -> None:
    world = World(OTHER)
    world.way.forward(CONTEXT, long_request(), world.answers.append)
    world.turns.run()
    world.other.answer(None, ChannelFailure.LOST)
    world.scheduler.run_for(RETRY_BACKOFF_MS)
    assert len(world.other.sent) == 1 and not world.turns.soon


def test_a_long_request_whose_time_is_up_is_not_sent() -> None:
    world = World(OTHER)
    world.way.forward(CONTEXT, long_request(), world.answers.append)
    world.scheduler.run_for(TIMEOUT_MS)
    world.turns.run()
    assert world.answers == [(ApiKey.CREATE_TOPICS, ErrorCode.REQUEST_TIMED_OUT)]
    assert world.other.sent == []


def test_names_that_fit_no_envelope_are_answered(caplog: pytest.LogCaptureFixture) -> None:
    world = World(OTHER)
    request = long_request()
    request.topics[-1].name = "n" * 40_000
    world.way.forward(replace(CONTEXT, api_version=4), request, world.answers.append)
    world.turns.run()
    assert world.answers == [(ApiKey.CREATE_TOPICS, ErrorCode.UNKNOWN_SERVER_ERROR)]
    assert not caplog.records[0].exc_info
