from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from broker.apis.envelope import EnvelopeApi, RightsOf, tells_not_controller, unwrap, wrap
from broker.apis.forwarded import ForwardedApis
from broker.requests.context import RequestContext
from controller.authorization.rights import UNLIMITED, Rights
from ground.sliced_work import in_one_go
from ottla.plugins.authorizer import Operation
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.broker_heartbeat import BrokerHeartbeatResponse
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import ListJudge, on_cluster, on_topic, rights_of

CONTEXT = RequestContext(
    ApiKey.CREATE_TOPICS, 5, 11, "client", "10.1.2.3", "PLAINTEXT", "c", UNLIMITED
)
REQUEST = CreateTopicsRequest([CreatableTopic("t", 3, 2)], 900)


ALICE = b"\0\0\x05User\x06alice\0\0"


def with_inside(**fields: Any) -> EnvelopeRequest:
    """An Envelope with other fields than a broker gives it."""
    envelope = in_one_go(wrap(CONTEXT, REQUEST))
    for name, value in fields.items():
        setattr(envelope, name, value)
    return envelope


def opened(
    request: EnvelopeRequest,
    error: ErrorCode = ErrorCode.NONE,
    context: RequestContext = CONTEXT,
    rights_of: RightsOf | None = None,
) -> tuple[Any, list[Any]]:
    """What an EnvelopeApi answers, and the contexts and requests that its inside was given."""
    seen: list[Any] = []
    told: list[EnvelopeResponse] = []

    def create(given: RequestContext, inner: Any, respond: Callable[[Any], None]) -> None:
        seen.append((given, inner))
        respond(CreateTopicsResponse(topics=[CreatableTopicResult("t", error_code=error)]))

    turns = Turns()
    inside = ForwardedApis(create).apis()
    api = EnvelopeApi(inside, rights_of or (lambda *_: UNLIMITED), turns.answers)
    api.handle(context, request, told.append)
    turns.run()
    (answer,) = told
    return answer, seen


def test_the_request_inside_is_answered_in_its_own_version() -> None:
    answer, ((context, request),) = opened(in_one_go(wrap(CONTEXT, REQUEST)))
    assert (context.api_key, context.api_version, context.correlation_id) == (19, 5, 11)
    assert context.client_id == "client"
    assert [(t.name, t.num_partitions) for t in request.topics] == [("t", 3)]
    response = in_one_go(unwrap(CONTEXT, answer))
    assert [t.name for t in response.topics] == ["t"]


def test_the_quota_of_the_client_is_told_inside() -> None:
    class Quota:
        def answered(self, response: Any) -> int:
            response.throttle_time_ms = 70
            return 70

    asked: list[Any] = []

    def quota_of(asker: Any, client_id: str | None, key: int, version: int) -> Any:
        asked.append((asker.principal, client_id, key, version))
        return Quota()

    def create(given: RequestContext, _inner: Any, respond: Callable[[Any], None]) -> None:
        assert isinstance(given.quota, Quota)
        respond(CreateTopicsResponse())

    told: list[EnvelopeResponse] = []
    api = EnvelopeApi(ForwardedApis(create).apis(), lambda *_: UNLIMITED, Turns().answers, quota_of)
    api.handle(CONTEXT, in_one_go(wrap(CONTEXT, REQUEST)), told.append)
    assert asked == [(CONTEXT.principal, "client", 19, 5)]
    assert in_one_go(unwrap(CONTEXT, told[0])).throttle_time_ms == 70


def test_a_node_that_is_not_the_controller_says_so_outside() -> None:
    answer, _ = opened(in_one_go(wrap(CONTEXT, REQUEST)), ErrorCode.NOT_CONTROLLER)
    assert (answer.error_code, answer.response_data) == (ErrorCode.NOT_CONTROLLER, b"")
    assert in_one_go(unwrap(CONTEXT, answer)) is None


@pytest.mark.parametrize(
    ("inside", "error"),
    [
        (b"", ErrorCode.UNSUPPORTED_VERSION),
        (b"\0", ErrorCode.UNSUPPORTED_VERSION),
        # BrokerHeartbeat is not passed on
        (b"\0\x3f\0\0\0\0\0\x01\0\0\0", ErrorCode.INVALID_REQUEST),
        (b"\0\x13\0\x7f\0\0\0\x01\0\0\0", ErrorCode.UNSUPPORTED_VERSION),  # CreateTopics v127
        (b"\0\x13\0\x07\0\0\0\x01\0\0\0\xff", ErrorCode.UNSUPPORTED_VERSION),  # ends too soon
    ],
)
def test_what_is_no_request_to_pass_on_is_refused_as_kafka_does(
    inside: bytes, error: ErrorCode
) -> None:
    answer, seen = opened(EnvelopeRequest(inside, ALICE, bytes(4)))
    assert answer.error_code == error
    assert seen == []
    with pytest.raises(ProtocolError):
        in_one_go(unwrap(CONTEXT, answer))


def test_the_request_inside_comes_from_the_client_over_the_brokers_connection() -> None:
    client = replace(CONTEXT, principal="User:alice", client_software_name="franz-go")
    broker = RequestContext(
        ApiKey.ENVELOPE,
        0,
        7,
        "node-2",
        "10.9.9.9",
        "CONTROLLER",
        "2",
        UNLIMITED,
        "User:broker",
        "SASL_SSL",
    )
    _, ((context, _),) = opened(in_one_go(wrap(client, REQUEST)), context=broker)
    assert (context.principal, context.client_host) == ("User:alice", "10.1.2.3")
    assert not context.token_authenticated
    assert (context.listener_name, context.security_protocol) == ("CONTROLLER", "SASL_SSL")
    assert context.connection_id == "2"
    assert (context.client_software_name, context.connection) == ("unknown", None)


@pytest.mark.parametrize(
    ("data", "principal"),
    [
        (ALICE, "User:alice"),
        (ALICE + b"more", "User:alice"),
        (ALICE[:-1] + b"\1\x05\2ab", "User:alice"),  # with a tag
        (b"\0\0\1\6alice\0\0", ":alice"),
        (b"\0\0\x05User\x0ca:b,c=d e/@\0\0", "User:a:b,c=d e/@"),
    ],
)
def test_principals_that_kafka_reads_are_read(data: bytes, principal: str) -> None:
    answer, ((context, _),) = opened(with_inside(request_principal=data))
    assert (answer.error_code, context.principal) == (ErrorCode.NONE, principal)


def test_a_login_by_delegation_token_is_told_on() -> None:
    client = replace(CONTEXT, principal="User:alice", token_authenticated=True)
    envelope = in_one_go(wrap(client, REQUEST))
    assert envelope.request_principal == ALICE[:-2] + b"\1\0"
    _, ((context, _),) = opened(envelope)
    assert (context.principal, context.token_authenticated) == ("User:alice", True)


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"\0",
        b"\0\1" + ALICE[2:],  # version 1
        b"\xff\xff" + ALICE[2:],
        ALICE[:-1],
        ALICE[:-2],
        ALICE[:-3],
        b"\0\0\0\6alice\0\0",  # the type is null
        b"\0\0\5User\0\0\0",  # the name is null
        b"\0\0\xff\xff\xff\xff\7alice\0\0",
    ],
)
def test_a_principal_that_cannot_be_read_is_refused_before_anything_else(
    data: bytes | None,
) -> None:
    for envelope in (with_inside(request_principal=data), EnvelopeRequest(b"", data, b"")):
        answer, seen = opened(envelope)
        assert answer.error_code == ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE
        assert seen == []


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (bytes([10, 1, 2, 3]), "10.1.2.3"),
        (bytes(15) + b"\1", "0:0:0:0:0:0:0:1"),
        (bytes(10) + b"\xff\xff\x0a\1\2\3", "10.1.2.3"),
    ],
)
def test_the_clients_address_is_read(address: bytes, host: str) -> None:
    _, ((context, _),) = opened(with_inside(client_host_address=address))
    assert context.client_host == host


@pytest.mark.parametrize("size", [0, 3, 5, 15, 17])
def test_an_address_that_is_none_is_refused(size: int) -> None:
    answer, seen = opened(with_inside(client_host_address=bytes(size)))
    assert (answer.error_code, seen) == (ErrorCode.INVALID_REQUEST, [])


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("10.1.2.3", bytes([10, 1, 2, 3])),
        ("0:0:0:0:0:0:0:1", bytes(15) + b"\1"),
        ("fe80:0:0:0:0:0:0:1%2", bytes.fromhex("fe80" + "00" * 13 + "01")),
        ("here", bytes(4)),
    ],
)
def test_the_clients_address_goes_with_it(host: str, address: bytes) -> None:
    context = RequestContext(19, 5, 1, None, host, "PLAINTEXT", "c", UNLIMITED)
    assert in_one_go(wrap(context, REQUEST)).client_host_address == address


def test_the_principal_is_in_kafkas_form() -> None:
    # DefaultKafkaPrincipalBuilder.serialize(User:ANONYMOUS)
    assert in_one_go(wrap(CONTEXT, REQUEST)).request_principal == b"\0\0\x05User\x0aANONYMOUS\0\0"
    alice = replace(CONTEXT, principal="User:alice")
    assert in_one_go(wrap(alice, REQUEST)).request_principal == ALICE


def test_not_controller_is_found_at_the_top_and_in_parts() -> None:
    assert not tells_not_controller(None)
    assert not tells_not_controller(CreateTopicsResponse(topics=[CreatableTopicResult("t")]))
    assert tells_not_controller(BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER))


def test_who_may_not_act_for_the_cluster_passes_nothing_on() -> None:
    judge = ListJudge()
    stranger = replace(CONTEXT, rights=judge.rights())
    for envelope in (in_one_go(wrap(CONTEXT, REQUEST)), EnvelopeRequest(b"", b"", b"")):
        answer, seen = opened(envelope, context=stranger)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert (answer.response_data, seen) == (None, [])
    assert {action.operation for action in judge.asked} == {Operation.CLUSTER_ACTION}


def test_the_request_inside_has_the_rights_of_the_client_and_not_those_of_the_broker() -> None:
    alice = rights_of(on_topic(Operation.READ, "t"))
    asked: list[Any] = []

    def rights_here(asker: Any, *of: Any) -> Rights:
        asked.append((asker.principal, asker.client_host, asker.listener_name, *of))
        return alice

    client = replace(CONTEXT, principal="User:alice")
    broker = replace(
        CONTEXT,
        api_key=58,
        api_version=0,
        principal="User:broker",
        listener_name="CONTROLLER",
        rights=rights_of(on_cluster(Operation.CLUSTER_ACTION)),
    )
    _, ((inner, _),) = opened(
        in_one_go(wrap(client, REQUEST)), context=broker, rights_of=rights_here
    )
    assert inner.rights is alice
    assert asked == [("User:alice", "10.1.2.3", "CONTROLLER", "client", 19, 5)]


def test_a_long_request_inside_is_read_in_slices() -> None:
    topics = [CreatableTopic(f"topic-{number}", 1, 1) for number in range(1_000)]
    answer, seen = opened(in_one_go(wrap(CONTEXT, CreateTopicsRequest(topics, 900))))
    ((_, inner),) = seen
    assert inner.topics == topics and answer.error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("cut", "error"), [(1, ErrorCode.UNSUPPORTED_VERSION), (0, ErrorCode.UNKNOWN_SERVER_ERROR)]
)
def test_a_long_request_inside_that_is_none_or_fails_is_answered(cut: int, error: int) -> None:
    def fail(*_arguments: Any) -> None:
        raise RuntimeError("a bug")

    topics = [CreatableTopic(f"topic-{number}", 1, 1) for number in range(1_000)]
    envelope = in_one_go(wrap(CONTEXT, CreateTopicsRequest(topics, 900)))
    envelope.request_data = envelope.request_data[: len(envelope.request_data) - cut]
    turns, told = Turns(), list[EnvelopeResponse]()
    api = EnvelopeApi(ForwardedApis(fail).apis(), lambda *_: UNLIMITED, turns.answers)
    api.handle(CONTEXT, envelope, told.append)
    assert turns.run() > 1
    assert [answer.error_code for answer in told] == [error]
