from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.apis.envelope import EnvelopeApi, tells_not_controller, unwrap, wrap
from broker.apis.forwarded import ForwardedApis
from broker.requests.context import RequestContext
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

CONTEXT = RequestContext(ApiKey.CREATE_TOPICS, 5, 11, "client", "10.1.2.3", "PLAINTEXT", "c")
REQUEST = CreateTopicsRequest([CreatableTopic("t", 3, 2)], 900)


def opened(request: EnvelopeRequest, error: ErrorCode = ErrorCode.NONE) -> tuple[Any, list[Any]]:
    """What an EnvelopeApi answers, and the contexts and requests that its inside was given."""
    seen: list[Any] = []
    told: list[EnvelopeResponse] = []

    def create(context: RequestContext, inner: Any, respond: Callable[[Any], None]) -> None:
        seen.append((context, inner))
        respond(CreateTopicsResponse(topics=[CreatableTopicResult("t", error_code=error)]))

    EnvelopeApi(ForwardedApis(create).apis()).handle(CONTEXT, request, told.append)
    (answer,) = told
    return answer, seen


def test_the_request_inside_is_answered_in_its_own_version() -> None:
    answer, ((context, request),) = opened(wrap(CONTEXT, REQUEST))
    assert (context.api_key, context.api_version, context.correlation_id) == (19, 5, 11)
    assert context.client_id == "client"
    assert [(t.name, t.num_partitions) for t in request.topics] == [("t", 3)]
    response = unwrap(CONTEXT, answer)
    assert [t.name for t in response.topics] == ["t"]


def test_a_node_that_is_not_the_controller_says_so_outside() -> None:
    answer, _ = opened(wrap(CONTEXT, REQUEST), ErrorCode.NOT_CONTROLLER)
    assert (answer.error_code, answer.response_data) == (ErrorCode.NOT_CONTROLLER, b"")
    assert unwrap(CONTEXT, answer) is None


@pytest.mark.parametrize(
    "inside",
    [
        b"",
        b"\0\x3f\0\0\0\0\0\x01\0\0\0",  # BrokerHeartbeat is not passed on
        b"\0\x13\0\x7f\0\0\0\x01\0\0\0",  # CreateTopics v127
        b"\0\x13\0\x07\0\0\0\x01\0\0\0\xff",  # ends too soon
    ],
)
def test_what_is_no_request_to_pass_on_is_refused(inside: bytes) -> None:
    answer, seen = opened(EnvelopeRequest(inside, b"", b""))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert seen == []
    with pytest.raises(ProtocolError):
        unwrap(CONTEXT, answer)


@pytest.mark.parametrize(
    ("host", "address"),
    [("10.1.2.3", bytes([10, 1, 2, 3])), ("::1", bytes(15) + b"\1"), ("here", bytes(4))],
)
def test_the_clients_address_goes_with_it(host: str, address: bytes) -> None:
    context = RequestContext(19, 5, 1, None, host, "PLAINTEXT", "c")
    assert wrap(context, REQUEST).client_host_address == address


def test_the_principal_is_in_kafkas_form() -> None:
    # DefaultKafkaPrincipalBuilder.serialize(User:ANONYMOUS)
    assert wrap(CONTEXT, REQUEST).request_principal == b"\0\0\x05User\x0aANONYMOUS\0\0"


def test_not_controller_is_found_at_the_top_and_in_parts() -> None:
    assert not tells_not_controller(None)
    assert not tells_not_controller(CreateTopicsResponse(topics=[CreatableTopicResult("t")]))
    assert tells_not_controller(BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER))
