from __future__ import annotations

import logging
from typing import Any
from unittest.mock import patch

import pytest

from broker.requests.context import Api, Respond
from broker.requests.request_handler import RequestHandler
from protocol import primitives
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.list_offsets import ListOffsetsRequest
from tests.unit.broker.fake_connection import Connection, Reply


class Server:
    """A handler for three APIs whose behaviour a test sets."""

    def __init__(self) -> None:
        self.behave: Any = lambda context, request, respond: respond(HeartbeatResponse())
        self.contexts: list[Any] = []
        self.connection = Connection("CLIENTS")
        self.handler = RequestHandler(
            [
                Api(ApiKey.HEARTBEAT, 0, 4, self.heartbeat),
                Api(ApiKey.LIST_OFFSETS, 1, 11, self.heartbeat),
                Api(ApiKey.API_VERSIONS, 0, 4, self.api_versions),
            ]
        )

    def heartbeat(self, context: Any, request: Any, respond: Respond) -> None:
        self.contexts.append(context)
        self.behave(context, request, respond)

    def api_versions(self, context: Any, request: Any, respond: Respond) -> None:
        keys = [ApiVersion(12, 0, 4), ApiVersion(18, 0, 4)]
        respond(ApiVersionsResponse(api_keys=keys))

    def send(self, request: Any, version: int) -> Reply:
        frame = memoryview(bytearray(encode_request(request, version, 7, "me")))[4:]
        return self.send_frame(frame)

    def send_frame(self, frame: memoryview) -> Reply:
        reply = Reply()
        self.handler.handle(self.connection, frame, reply)
        return reply


def decoded(reply: Reply, key: ApiKey, version: int) -> tuple[int, Any]:
    (frame,) = reply
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    return decode_response(key, memoryview(frame)[4:], version)


@pytest.mark.parametrize("version", [0, 4])
def test_a_request_reaches_its_api_and_its_answer_goes_back(version: int) -> None:
    server = Server()
    reply = server.send(HeartbeatRequest("g", 3, "m"), version)
    correlation_id, response = decoded(reply, ApiKey.HEARTBEAT, version)
    assert (correlation_id, response.error_code) == (7, 0)
    (context,) = server.contexts
    assert (context.client_id, context.api_version, context.connection_id) == ("me", version, "c1")


def test_a_request_knows_what_is_known_of_its_connection() -> None:
    server = Server()
    server.send(HeartbeatRequest("g", 3, "m"), 4)
    server.connection.authenticated("User:alice", by_token=True)
    server.connection.client_software_name = "librdkafka"
    server.connection.client_software_version = "2.6"
    server.send(HeartbeatRequest("g", 3, "m"), 4)
    before, after = server.contexts
    assert (before.client_host, before.listener_name) == ("127.0.0.1", "CLIENTS")
    assert (before.principal, before.security_protocol) == ("User:ANONYMOUS", "PLAINTEXT")
    assert (before.token_authenticated, after.token_authenticated) == (False, True)
    assert (before.client_software_name, before.client_software_version) == ("unknown",) * 2
    assert (after.principal, after.client_software_name) == ("User:alice", "librdkafka")
    assert after.client_software_version == "2.6"
    assert after.connection is server.connection


def test_an_unknown_key_or_version_closes_the_connection() -> None:
    server = Server()
    with pytest.raises(ProtocolError, match="API key 999"):
        server.send_frame(memoryview(b"\x03\xe7\0\0\0\0\0\1\xff\xff"))
    with pytest.raises(ProtocolError, match="HEARTBEAT version 5"):
        server.send_frame(memoryview(b"\0\x0c\0\5\0\0\0\1\xff\xff\0"))
    with pytest.raises(ProtocolError, match="too short"):
        server.send_frame(memoryview(b"\0\x0c"))
    assert not server.contexts


@pytest.mark.parametrize("version", [5, 32767])
def test_api_versions_from_the_future_is_told_our_range_in_version_0(version: int) -> None:
    frame = b"\0\x12" + version.to_bytes(2, "big") + b"\0\0\0\x09\xff\xff\0 whatever"
    reply = Server().send_frame(memoryview(frame))
    correlation_id, response = decoded(reply, ApiKey.API_VERSIONS, 0)
    assert correlation_id == 9
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(k.api_key, k.min_version, k.max_version) for k in response.api_keys] == [(18, 0, 4)]
    with pytest.raises(ProtocolError):  # no tagged fields: Kafka closes, too
        Server().send_frame(memoryview(frame[:10]))


def test_bytes_that_end_too_soon_close_the_connection() -> None:
    server = Server()
    frame = encode_request(HeartbeatRequest("group", 3, "member"), 0, 7, "me")[4:]
    for end in range(8, len(frame)):
        with pytest.raises(ProtocolError):
            server.send_frame(memoryview(frame[:end]))
    assert not server.contexts


def test_our_own_bug_is_logged_once_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.behave = lambda *_: {}["missing"]
    with caplog.at_level(logging.ERROR):
        reply = server.send(HeartbeatRequest(), 4)
    assert decoded(reply, ApiKey.HEARTBEAT, 4)[1].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(caplog.records) == 1
    assert server.handler.metrics[12].errors == 1


def test_a_bug_in_an_api_without_a_way_to_say_so_closes_the_connection() -> None:
    server = Server()
    server.behave = lambda *_: {}["missing"]
    with pytest.raises(ProtocolError, match="LIST_OFFSETS"):
        server.send(ListOffsetsRequest(), 1)


def test_an_api_that_is_not_served_has_no_refusal() -> None:
    """A peer may ask for it before it has logged in."""
    with pytest.raises(ProtocolError, match="52"):
        Server().handler.refusal(ApiKey.VOTE, None, ErrorCode.ILLEGAL_SASL_STATE)


def test_a_broken_invariant_goes_on_to_stop_the_process() -> None:
    server = Server()

    def broken(*_: Any) -> None:
        raise AssertionError("the high watermark went back")

    server.behave = broken
    with pytest.raises(AssertionError, match="high watermark"):
        server.send(HeartbeatRequest(), 4)


def test_a_response_that_cannot_be_written_costs_its_own_connection_only() -> None:
    server = Server()
    server.behave = lambda c, r, respond: respond(HeartbeatResponse(error_code=10**9))
    reply = server.send(HeartbeatRequest(), 4)
    assert reply.closed
    assert not reply


def test_a_name_too_long_to_be_told_is_no_bug_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.behave = lambda c, r, respond: primitives.string("\ufffd" * 20_000)
    assert decoded(server.send(HeartbeatRequest(), 4), ApiKey.HEARTBEAT, 4)[1].error_code == -1

    def write(*_: object) -> None:
        primitives.string("\ufffd" * 20_000)

    server.behave = lambda c, r, respond: respond(HeartbeatResponse())
    with patch.object(HeartbeatResponse, "write", write):
        assert server.send(HeartbeatRequest(), 4).closed
    assert [record.exc_info for record in caplog.records] == [None, None]
    assert all("60000 bytes is too long" in record.getMessage() for record in caplog.records)


def test_no_response_is_no_response() -> None:
    server = Server()
    server.behave = lambda c, r, respond: respond(None)
    assert server.send(HeartbeatRequest(), 0) == [None]


def test_api_versions_can_be_asked_for() -> None:
    reply = Server().send(ApiVersionsRequest("x", "1"), 3)
    assert decoded(reply, ApiKey.API_VERSIONS, 3)[1].error_code == 0
