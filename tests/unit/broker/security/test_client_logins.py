"""Logins of a client against the authenticator of a listener, both without sockets."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from broker.config.security_settings import JaasEntry, MechanismSettings, SaslSettings, Secret
from broker.security.client_logins import ClientLogins, LoginRefused
from broker.security.sasl.authenticator import SaslAuthenticator, SaslFailed
from broker.security.sasl.mechanism_factory import server_mechanisms
from controller.metadata.scram_credential import (
    SCRAM_MECHANISMS,
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted_password,
)

PASSWORD = "right"
NOW_MS = 1_000


def settings(name: str, password: str = PASSWORD, user: str = "node") -> MechanismSettings:
    options = {"username": Secret(user), "password": Secret(password), "user_node": Secret("right")}
    return MechanismSettings(name, JaasEntry("Login", options))


def credential(mechanism: ScramMechanism, name: str) -> ScramCredential | None:
    if name != "node":
        return None
    salted = salted_password(mechanism, PASSWORD, b"salt", 4096)
    return credential_of(mechanism, salted, b"salt", 4096)


def listener(name: str, max_reauth_ms: int = 0) -> SaslAuthenticator:
    offered = replace(settings(name), max_reauth_ms=max_reauth_ms)
    sasl = SaslSettings((offered,))
    mechanisms = server_mechanisms(sasl, credential, lambda: f"{random.getrandbits(64):x}")
    return SaslAuthenticator(sasl, mechanisms, lambda _: b"", lambda *_: None)


def converse(logins: ClientLogins, server: SaslAuthenticator) -> int:
    """Have it; the life of the login."""
    login = logins.login("node-1")
    frame: bytes | None = login.begin()
    while frame is not None:
        try:
            answer = server.received(memoryview(frame)[4:], NOW_MS)
        except SaslFailed as failed:
            assert failed.answer is not None
            answer = failed.answer
        frame = login.received(answer)
    return login.lifetime_ms


def logins_of(made: MechanismSettings) -> ClientLogins:
    return ClientLogins(made, "", random.randbytes, None)


@pytest.mark.parametrize("name", ["PLAIN", *SCRAM_MECHANISMS])
def test_a_node_is_let_in_again_and_again(name: str) -> None:
    logins = logins_of(settings(name))
    for _ in range(2):
        server = listener(name)
        assert converse(logins, server) == 0
        assert server.principal == "User:node"


def test_a_login_has_a_life_and_is_made_again_on_the_same_connection() -> None:
    logins, server = logins_of(settings("SCRAM-SHA-256")), listener("SCRAM-SHA-256", 3_000)
    assert converse(logins, server) == 3_000
    assert converse(logins, server) == 3_000


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "PLAIN",
            "Authentication failed: Invalid username or password: check username and password in "
            "sasl.jaas.config",
        ),
        (
            "SCRAM-SHA-512",
            "Authentication failed during authentication due to invalid credentials with SASL "
            "mechanism SCRAM-SHA-512: check username and password in sasl.jaas.config",
        ),
    ],
)
@pytest.mark.parametrize("wrong", [{"password": "wrong"}, {"user": "nobody"}])
def test_a_wrong_password_says_what_to_do(name: str, said: str, wrong: Mapping[str, str]) -> None:
    with pytest.raises(LoginRefused) as caught:
        converse(logins_of(settings(name, **wrong)), listener(name))
    assert str(caught.value) == said
    assert isinstance(caught.value, OSError)


def test_a_mechanism_that_the_listener_has_not_is_told_with_those_that_it_has() -> None:
    with pytest.raises(LoginRefused, match="no SASL mechanism PLAIN, but: SCRAM-SHA-256"):
        converse(logins_of(settings("PLAIN")), listener("SCRAM-SHA-256"))


def test_an_answer_that_is_none_is_refused() -> None:
    login = logins_of(settings("PLAIN")).login("node-1")
    login.begin()
    with pytest.raises(LoginRefused, match="its answer to the login is none"):
        login.received(b"\0")


def test_a_node_without_a_name_starts_and_logs_in_nowhere() -> None:
    alone = MechanismSettings("PLAIN", JaasEntry("Login", {"user_alice": Secret("a")}))
    logins = logins_of(alone)
    with pytest.raises(LoginRefused, match="has no username and no password to log in with"):
        logins.login("node-1")
