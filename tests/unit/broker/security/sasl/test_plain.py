from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.security_settings import Secret
from broker.security.sasl.plain import PlainServer, PlainUsers
from broker.security.sasl.server_mechanism import SaslRefused

USERS = PlainUsers(
    {
        "username": Secret("broker"),
        "password": Secret("broker-secret"),
        "user_alice": Secret("alice-secret"),
        "user_bob": Secret("bob-secret"),
        "user_": Secret("of nobody"),
        "user_empty": Secret(""),
    }
)
INVALID = "Authentication failed: Invalid username or password"


def text_of(token: bytes) -> str:
    server = PlainServer(USERS)
    with pytest.raises(SaslRefused) as refused:
        server.evaluate(token, 0)
    assert not server.complete and not server.principal_name
    return refused.value.text


@pytest.mark.parametrize("token", [b"\0alice\0alice-secret", b"alice\0alice\0alice-secret"])
def test_a_user_is_let_in(token: bytes) -> None:
    server = PlainServer(USERS)
    assert not server.complete
    assert server.evaluate(token, 0) == b""
    assert (server.complete, server.principal_name) == (True, "alice")
    assert server.expires_at_ms is None


@pytest.mark.parametrize(
    "token",
    [
        b"\0alice\0bob-secret",
        b"\0nobody\0alice-secret",
        b"\0broker\0broker-secret",
        b"\0username\0broker",
        b"\0alice\0alice-secre",
        b"\0alice\0alice-secret\xff",
        b"\0alice \0alice-secret",
        b"bob\0alice\0wrong",
    ],
)
def test_all_others_are_told_the_same(token: bytes) -> None:
    assert text_of(token) == INVALID


def test_what_is_missing_is_told() -> None:
    assert text_of(b"\0\0of nobody") == "Authentication failed: username not specified"
    assert text_of(b"\0empty\0") == "Authentication failed: password not specified"
    assert "different from username" in text_of(b"bob\0alice\0alice-secret")


@pytest.mark.parametrize(("token", "parts"), [(b"", 1), (b"a\0b", 2), (b"\0a\0b\0", 4)])
def test_three_parts_are_expected(token: bytes, parts: int) -> None:
    assert text_of(token) == f"Invalid SASL/PLAIN response: expected 3 tokens, got {parts}"
    assert text_of(b"\0" * 500_000).endswith("got 4")


@given(st.binary(max_size=200) | st.lists(st.binary(max_size=9)).map(b"\0".join))
def test_garbage_is_refused(token: bytes) -> None:
    assert text_of(token)
