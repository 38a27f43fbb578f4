"""Logins that somebody's own class judges, through the authenticator's core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker.plugins.logins import plain_logins, scram_logins, token_logins
from broker.plugins.loop_calls import LoopCalls
from broker.security.sasl.server_mechanism import BlockingCall, SaslRefused, ServerMechanism
from ground.ports import AnswerTimeout
from ottla.plugins.logins import (
    PasswordCheck,
    ScramCredential,
    ScramCredentials,
    TokenCheck,
    TokenRefused,
    ValidToken,
)
from tests.unit.broker.security.sasl.scram_fixture import SERVER_NONCE, SHA_256, final_message

NOW = 1_000_000
ALICE = b"\0alice\0secret"
TOKEN = b"n,,\x01auth=Bearer abc\x01\x01"


def calls() -> LoopCalls:
    return LoopCalls("acme:Mine", lambda: 0.0)


def asked(login: ServerMechanism, token: bytes) -> bytes:
    """The answer to a token, with what was asked for in between."""
    said = login.evaluate(token, NOW)
    assert isinstance(said, BlockingCall)
    try:
        outcome = said.job()
    except Exception as error:  # noqa: BLE001  as the Blocking port gives it
        outcome = error
    answer = said.resume(outcome, NOW)
    assert isinstance(answer, bytes)
    return answer


class Passwords(PasswordCheck):
    answer: Any = None

    def is_right(self, user: str, password: str) -> bool:
        if isinstance(self.answer, Exception):
            raise self.answer
        return (user, password) == ("alice", "secret") if self.answer is None else self.answer


def plain(answer: Any = None) -> ServerMechanism:
    check = Passwords()
    check.answer = answer
    return plain_logins(check, calls())()


def test_a_password_is_asked_for_before_anybody_is_in() -> None:
    login = plain()
    said = login.evaluate(ALICE, NOW)
    assert isinstance(said, BlockingCall) and not login.complete
    assert said.resume(said.job(), NOW) == b""
    assert login.complete and login.principal_name == "alice"
    assert (login.expires_at_ms, login.refusal, login.by_token) == (None, "", False)


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0alice\0other", "Authentication failed: Invalid username or password"),
        (b"bob\0alice\0secret", "Authentication failed: Client requested an authorization id"),
    ],
)
def test_a_wrong_password_is_refused_in_the_usual_words(token: bytes, told: str) -> None:
    with pytest.raises(SaslRefused) as refused:
        asked(plain(), token)
    assert refused.value.text.startswith(told)


@pytest.mark.parametrize("token", [b"", b"\0\0secret", b"\0alice\0", b"\0\xff\0secret"])
def test_nobody_is_asked_about_what_is_no_name_and_password(token: bytes) -> None:
    with pytest.raises(SaslRefused):
        plain(AssertionError("asked")).evaluate(token, NOW)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ValueError("password secret"), "acme:Mine raised ValueError"),
        (AnswerTimeout("no answer within 5 ms"), "acme:Mine: no answer within 5 ms"),
        (1, "acme:Mine gave int for an answer, not a bool"),
    ],
)
def test_one_that_gives_no_answer_lets_nobody_in(answer: Any, reason: str) -> None:
    login = plain(answer)
    with pytest.raises(SaslRefused) as refused:
        asked(login, ALICE)
    assert (refused.value.text, refused.value.reason) == ("", reason)
    assert not login.complete


# --- SCRAM ---------------------------------------------------------------------------------------

CREDENTIAL = ScramCredential.of_password("SCRAM-SHA-256", "secret", b"salt")


class Users(ScramCredentials):
    def credential(self, user: str) -> ScramCredential | None:
        if user == "wrong":
            return "no credential"  # type: ignore[return-value]
        return CREDENTIAL if user == "alice" else None


def nobody() -> ServerMechanism:
    raise SaslRefused("what is built in")


def scram(built_in: Callable[[], ServerMechanism] = nobody) -> ServerMechanism:
    return scram_logins(Users(), calls(), SHA_256, lambda: SERVER_NONCE, built_in)()


def test_a_credential_is_asked_for_and_the_rest_is_as_ever() -> None:
    import hashlib

    login, first = scram(), b"n=alice,r=me"
    answer = asked(login, b"n,," + first)
    assert answer.startswith(b"r=me" + SERVER_NONCE.encode()) and not login.complete
    salted = hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 4096)
    final = final_message(SHA_256, salted, first, answer)
    assert isinstance(said := login.evaluate(final, NOW), bytes) and said.startswith(b"v=")
    assert login.complete and login.principal_name == "alice"


@pytest.mark.parametrize("user", [b"bob", b"wrong"])
def test_who_has_no_credential_is_refused(user: bytes) -> None:
    with pytest.raises(SaslRefused):
        asked(scram(), b"n,,n=" + user + b",r=me")


@pytest.mark.parametrize(
    "wrong",
    [
        CREDENTIAL._replace(salt="salt"),
        CREDENTIAL._replace(salt=b""),
        CREDENTIAL._replace(iterations="4096"),
        CREDENTIAL._replace(stored_key=None),
        ScramCredential.of_password("SCRAM-SHA-512", "secret"),
    ],
)
def test_a_credential_that_is_none_is_told_and_lets_nobody_in(
    wrong: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Wrong(ScramCredentials):
        def credential(self, user: str) -> ScramCredential | None:
            return wrong  # type: ignore[no-any-return]

    login = scram_logins(Wrong(), calls(), SHA_256, lambda: SERVER_NONCE, nobody)()
    with pytest.raises(SaslRefused, match="acme:Mine gave a ScramCredential"):
        asked(login, b"n,,n=alice,r=me")
    assert "acme:Mine gave a ScramCredential" in caplog.text


def test_a_delegation_token_is_the_business_of_what_is_built_in() -> None:
    with pytest.raises(SaslRefused, match="what is built in"):
        scram().evaluate(b"n,,n=id,r=me,tokenauth=true", NOW)


# --- OAUTHBEARER ---------------------------------------------------------------------------------


class Tokens(TokenCheck):
    ends_ms = NOW + 60_000

    def validate(self, token: str) -> ValidToken:
        if token != "abc":
            raise TokenRefused("unknown")
        return ValidToken("alice", self.ends_ms)


def test_a_token_is_asked_about_and_says_how_long_it_lasts() -> None:
    login = token_logins(Tokens(), calls())()
    assert asked(login, TOKEN) == b""
    assert (login.complete, login.principal_name) == (True, "alice")
    assert login.expires_at_ms == NOW + 60_000


def test_a_token_that_is_refused_is_so_in_two_steps() -> None:
    login = token_logins(Tokens(), calls())()
    assert asked(login, TOKEN.replace(b"abc", b"xyz")) == b'{"status":"invalid_token"}'
    assert login.refusal == "acme:Mine: unknown"
    with pytest.raises(SaslRefused):
        login.evaluate(b"\x01", NOW)


def test_a_token_that_has_ended_lets_nobody_in() -> None:
    check = Tokens()
    check.ends_ms = NOW
    login = token_logins(check, calls())()
    asked(login, TOKEN)
    assert not login.complete and "ended" in login.refusal


@pytest.mark.parametrize("wrong", [None, ("a", 1), ValidToken("", 1), ValidToken("a", "1")])  # type: ignore[arg-type]
def test_an_answer_about_a_token_that_is_none_lets_nobody_in(wrong: Any) -> None:
    class Wrong(TokenCheck):
        def validate(self, token: str) -> ValidToken:
            return wrong  # type: ignore[no-any-return]

    with pytest.raises(SaslRefused, match="acme:Mine gave "):
        asked(token_logins(Wrong(), calls())(), TOKEN)
