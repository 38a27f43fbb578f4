from __future__ import annotations

import json
from base64 import b64encode
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.security_settings import JaasEntry, MechanismSettings, SaslSettings, Secret
from broker.security.sasl.authenticator import SaslAuthenticator, SaslFailed
from broker.security.sasl.client_authenticator import SaslClient
from broker.security.sasl.mechanism_factory import client_mechanism, server_mechanisms
from broker.security.sasl.server_mechanism import SaslRefused
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import encode_response
from protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeResponse
from tests.golden.sasl_cases import RECORDED
from tests.golden.sasl_talk import PLAIN_USERS, SCRAM_USERS
from tests.unit.broker.security.sasl.scram_fixture import PASSWORDS, SERVER_NONCE, credentials

CONVERSATIONS = json.loads(RECORDED.read_text())
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
NOW = 1_700_000_000_000


def client_of(name: str, user: str = "alice", password: str = "alice-secret") -> SaslClient:
    options = {"username": Secret(user), "password": Secret(password)}
    settings = MechanismSettings(name, JaasEntry("", options))
    new = client_mechanism(settings, lambda: "abc")
    return SaslClient(name, new(), "me", count(1).__next__)


def handshaken(name: str = "PLAIN") -> SaslClient:
    client = client_of(name)
    client.begin()
    client.received(answer(SaslHandshakeResponse(), 1, 1))
    return client


def answer(response: Any, version: int, correlation_id: int) -> memoryview:
    return memoryview(encode_response(response, version, correlation_id).joined())[4:]


# --- with Kafka -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conversation", "mechanism", "user"),
    [
        ("PLAIN good", "PLAIN", "alice"),
        ("PLAIN umlauts", "PLAIN", "ä"),
        ("SCRAM good", "SCRAM-SHA-256", "alice"),
        ("SCRAM name with =2C and =3D", "SCRAM-SHA-256", "a,b=c"),
        ("SCRAM with a password of umlauts", "SCRAM-SHA-256", "utf"),
        ("SCRAM-SHA-512 good", "SCRAM-SHA-512", "bob"),
    ],
)
def test_kafka_lets_it_in(conversation: str, mechanism: str, user: str) -> None:
    """The recorded client has the same nonce, and the recorded server answers what it sent."""
    scram = {(name, kind): password for name, kind, password in SCRAM_USERS}
    password = PLAIN_USERS[user] if mechanism == "PLAIN" else scram[user, mechanism]
    client = client_of(mechanism, user, password)
    frame: bytes | None = client.begin()
    for step in CONVERSATIONS[conversation]["steps"]:
        assert frame is not None
        assert frame[4:].hex() == step["sent"]
        frame = client.received(memoryview(bytes.fromhex(step["answer"])))
    assert frame is None
    assert client.lifetime_ms == 0 and client.renewal_ms(0.5) is None


@pytest.mark.parametrize(
    ("conversation", "mechanism", "text"),
    [
        ("PLAIN wrong password", "PLAIN", "Authentication failed: Invalid username or password"),
        ("SCRAM unknown user", "SCRAM-SHA-256", "Authentication failed during authentication due"),
        ("mechanism 'GSSAPI' v1", "PLAIN", "no SASL mechanism PLAIN, but: PLAIN, SCRAM-SHA-512"),
        ("plaintext: handshake", "PLAIN", "its protocol is PLAINTEXT or SSL"),
    ],
)
def test_kafka_does_not_let_it_in(conversation: str, mechanism: str, text: str) -> None:
    steps = CONVERSATIONS[conversation]["steps"]
    if "plaintext" in conversation:
        steps = [{"answer": "00000001" + steps[2]["answer"][8:]}]
    client = client_of(mechanism)
    client.begin()
    with pytest.raises(SaslRefused, match=text) as refused:
        for step in steps:
            client.received(memoryview(bytes.fromhex(step["answer"])))
    assert "\n" not in refused.value.text and "alice-secret" not in refused.value.text


# --- with ours ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("password", ["alice-secret", "wrong"])
def test_both_halves_agree(mechanism: str, password: str) -> None:
    users = {f"user_{name}": Secret(value) for name, value in PASSWORDS.items()}
    sasl = SaslSettings(
        tuple(MechanismSettings(name, JaasEntry("", users), max_reauth_ms=9) for name in MECHANISMS)
    )
    new = server_mechanisms(sasl, credentials, lambda: SERVER_NONCE)
    server = SaslAuthenticator(sasl, new, bytes, lambda *_: None)
    for again in range(2):
        client = client_of(mechanism, password=password)
        frame: bytes | None = client.begin()
        try:
            while frame is not None:
                frame = client.received(
                    memoryview(server.received(memoryview(frame)[4:], NOW + again * 1_000))
                )
        except SaslFailed as failed:
            assert password == "wrong" and failed.answer is not None
            with pytest.raises(SaslRefused, match="Authentication failed"):
                client.received(memoryview(failed.answer))
            return
        assert password != "wrong"
        assert server.complete and server.principal == "User:alice"
        assert client.lifetime_ms == 9


# --- its life -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chance", "expected_ms"), [(0.0, 850), (0.5, 900), (1.0, 950)])
def test_the_next_login_begins_before_the_end(chance: float, expected_ms: int) -> None:
    client = handshaken()
    assert (
        client.received(answer(SaslAuthenticateResponse(session_lifetime_ms=1_000), 2, 2)) is None
    )
    assert client.renewal_ms(chance) == expected_ms


# --- hostile --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (SaslAuthenticateResponse(58, "no\n" + "x" * 5_000), "^no[?]x{297}$"),
        (SaslAuthenticateResponse(58, None), "^SASL_AUTHENTICATION_FAILED$"),
        (SaslAuthenticateResponse(34, "later"), "^ILLEGAL_SASL_STATE later$"),
        (SaslAuthenticateResponse(9_999), "^UNKNOWN_SERVER_ERROR$"),
        (SaslAuthenticateResponse(auth_bytes=b"more"), "^a challenge of 4 bytes"),
    ],
)
def test_what_a_server_refuses_with(response: SaslAuthenticateResponse, text: str) -> None:
    client = handshaken()
    with pytest.raises(SaslRefused, match=text):
        client.received(answer(response, 2, 2))


def test_an_error_of_the_handshake_is_named() -> None:
    client = client_of("PLAIN")
    client.begin()
    response = SaslHandshakeResponse(int(ErrorCode.UNSUPPORTED_VERSION))
    with pytest.raises(SaslRefused, match="UNSUPPORTED_VERSION"):
        client.received(answer(response, 1, 1))


def test_an_answer_to_another_request() -> None:
    client = client_of("PLAIN")
    client.begin()
    with pytest.raises(ProtocolError):
        client.received(answer(SaslHandshakeResponse(), 1, 2))


def test_a_server_without_proof_is_not_believed() -> None:
    client = handshaken("SCRAM-SHA-256")
    first = b"r=abcx,s=" + b64encode(b"salt") + b",i=4096"
    client.received(answer(SaslAuthenticateResponse(auth_bytes=first), 2, 2))
    with pytest.raises(SaslRefused):
        client.received(answer(SaslAuthenticateResponse(), 2, 3))


@given(st.binary(max_size=60), st.binary(max_size=60), st.sampled_from(MECHANISMS))
def test_garbage_is_refused(first: bytes, second: bytes, mechanism: str) -> None:
    client = client_of(mechanism)
    client.begin()
    with pytest.raises((SaslRefused, ProtocolError)):
        client.received(memoryview(b"\0\0\0\1\0\1" + first))
    for token in (first, second):
        client = handshaken(mechanism)
        try:
            client.received(answer(SaslAuthenticateResponse(auth_bytes=token), 2, 2))
        except SaslRefused:
            continue
        assert mechanism == "PLAIN" and not token
