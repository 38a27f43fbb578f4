from __future__ import annotations

import json
from typing import Any

import pytest

from broker.apis.sasl import SaslApi
from broker.network.server.request_channel import ConnectionContext
from broker.requests.context import RequestContext
from broker.security.logins import Logins
from controller.authorization.rights import UNLIMITED
from protocol.api_keys import ApiKey, messages_of
from protocol.frames.message_codec import (
    decode,
    decode_response,
    read_request_header,
    skip_header_tags,
)
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests.golden.sasl_cases import RECORDED
from tests.unit.broker.apis.api_fixture import ask

CONVERSATIONS = json.loads(RECORDED.read_text())
HANDLERS = {int(api.key): api.handle for api in SaslApi().apis()}


def out_of_place() -> list[Any]:
    """What Apache Kafka answered when nobody was to log in."""
    steps = CONVERSATIONS["plaintext: handshake"]["steps"][1:]
    for name in ("v1, v0", "v1, v1", "v1, v2"):
        steps += CONVERSATIONS[name]["steps"][4:-1]
    return [(one["sent"], one["answer"]) for one in steps]


@pytest.mark.parametrize(("sent", "answer"), out_of_place())
def test_it_is_refused_as_by_kafka(sent: str, answer: str) -> None:
    frame = memoryview(bytes.fromhex(sent))
    api_key, version, _, _, pos = read_request_header(frame)
    messages = messages_of(ApiKey(api_key))
    if version >= messages.request.FLEXIBLE_FROM:
        pos = skip_header_tags(frame, pos)
    request = decode(messages.request, frame, pos, version)
    _, expected = decode_response(ApiKey(api_key), memoryview(bytes.fromhex(answer)), version)
    assert ask(HANDLERS[api_key], request, version) == expected
    assert expected.error_code == 34


def test_all_versions_are_served() -> None:
    assert [(api.key, api.oldest, api.latest) for api in SaslApi().apis()] == [
        (ApiKey.SASL_HANDSHAKE, 0, 1),
        (ApiKey.SASL_AUTHENTICATE, 0, 2),
    ]


@pytest.mark.parametrize(("protocol", "told"), [("PLAINTEXT", 1), ("SSL", 1), ("SASL_SSL", 0)])
def test_a_login_where_there_is_none_is_told(
    protocol: str, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    logins = Logins("L", 10, lambda: 0.0)
    client = ConnectionContext("c", "L", protocol, "127.0.0.1", 1, logins=logins)
    context = RequestContext(
        17,
        1,
        7,
        "me",
        "127.0.0.1",
        "L",
        "c",
        UNLIMITED,
        security_protocol=protocol,
        connection=client,
    )
    answers: list[Any] = []
    SaslApi().handle_handshake(context, SaslHandshakeRequest("PLAIN"), answers.append)
    assert [one.error_code for one in answers] == [34]
    line = (
        f"listener L by SASL (channelId=c) (the listener has no SASL: its protocol is {protocol})"
    )
    assert [line in one for one in caplog.messages] == [True] * told
