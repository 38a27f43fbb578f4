from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.security_settings import Secret
from broker.security.sasl import scram_client
from broker.security.sasl.scram import ScramServer
from broker.security.sasl.scram_client import SALTS_MAX, SaltedPasswords, ScramClient
from broker.security.sasl.server_mechanism import SaslRefused
from controller.metadata.scram_credential import ScramMechanism
from tests.unit.broker.security.sasl.scram_fixture import (
    ITERATIONS,
    PASSWORDS,
    SALT,
    SERVER_NONCE,
    SHA_256,
    credentials,
    salted_of,
)

SERVER_FIRST = b"r=abcserver-nonce,s=c2FsdCBhbmQgbW9yZSBvZiBpdA==,i=4096"
SHARED = SaltedPasswords(SHA_256, Secret(PASSWORDS["alice"]))


def client_of(name: str = "alice", passwords: SaltedPasswords = SHARED) -> ScramClient:
    return ScramClient(name, passwords, lambda: "abc")


@pytest.mark.parametrize("mechanism", ScramMechanism)
@pytest.mark.parametrize("name", PASSWORDS)
def test_both_halves_agree(mechanism: ScramMechanism, name: str) -> None:
    passwords = SaltedPasswords(mechanism, Secret(PASSWORDS[name]))
    client = client_of(name, passwords)
    server = ScramServer(mechanism, credentials, lambda: SERVER_NONCE)
    answer = client.challenge(server.evaluate(client.first(), 0))
    assert answer is not None
    assert client.challenge(server.evaluate(answer, 0)) is None
    assert (server.complete, server.principal_name) == (True, name)
    assert PASSWORDS[name] not in repr(vars(passwords))


def test_a_wrong_password_is_refused() -> None:
    client = client_of(passwords=SaltedPasswords(SHA_256, Secret("wrong")))
    server = ScramServer(SHA_256, credentials, lambda: SERVER_NONCE)
    answer = client.challenge(server.evaluate(client.first(), 0))
    assert answer is not None
    with pytest.raises(SaslRefused):
        server.evaluate(answer, 0)


def test_a_password_is_salted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords = SaltedPasswords(SHA_256, Secret(PASSWORDS["alice"]))
    assert passwords.of(SALT, ITERATIONS) == salted_of(SHA_256, "alice")
    with monkeypatch.context() as broken:
        broken.setattr(scram_client, "salted_password", None)
        assert passwords.of(SALT, ITERATIONS) == salted_of(SHA_256, "alice")
    for number in range(SALTS_MAX):
        assert len(passwords._salted) == min(number + 1, SALTS_MAX)
        passwords.of(b"%d" % number, 1)
    assert (SALT, ITERATIONS) not in passwords._salted
    assert len(passwords._salted) == SALTS_MAX


@pytest.mark.parametrize(
    ("server_first", "text"),
    [
        (b"r=abc,s=c2FsdA==,i=4096", "nonce"),
        (b"r=xabcserver,s=c2FsdA==,i=4096", "nonce"),
        (b"r=abcserver,s=c2FsdA==,i=4095", "4095 iterations"),
        (b"r=abcserver,s=c2FsdA==,i=16385", "16385 iterations"),
        (b"r=abcserver,s=c2FsdA==,i=999999999", "iterations"),
        (b"", "no message"),
        (b"v=AAAA", "no message"),
    ],
)
def test_a_server_that_asks_for_too_much(server_first: bytes, text: str) -> None:
    with pytest.raises(SaslRefused, match=text):
        client_of().challenge(server_first)


@pytest.mark.parametrize(
    ("last", "text"),
    [
        (b"v=AAAA", "does not prove"),
        (b"v=", "does not prove"),
        (b"", "no message"),
        (b"e=other-error", "other-error"),
    ],
)
def test_a_server_that_does_not_know_the_user(last: bytes, text: str) -> None:
    client = client_of()
    client.challenge(SERVER_FIRST)
    with pytest.raises(SaslRefused, match=text):
        client.challenge(last)


@given(st.binary(max_size=100))
def test_garbage_is_refused(token: bytes) -> None:
    client = client_of()
    with pytest.raises(SaslRefused):
        client.challenge(token)
    client.challenge(SERVER_FIRST)
    with pytest.raises(SaslRefused):
        client.challenge(token)
