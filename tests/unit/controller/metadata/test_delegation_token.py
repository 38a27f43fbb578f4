from __future__ import annotations

import hashlib
import hmac

import pytest

from controller.metadata.delegation_token import DelegationToken, TokenKey

TOKEN = DelegationToken("id", "User:owner", "User:asker", ("User:renewer",), 100, 900, 500)


def test_the_hmac_is_of_the_id_under_the_key() -> None:
    """As Apache Kafka makes it: the replay of `test_delegation_tokens` has only new ids."""
    key = TokenKey("a key")
    expected = hmac.new(b"a key", b"id", hashlib.sha512).digest()
    assert key.hmac_of("id") == expected
    assert "a key" not in repr(key) and "a key" not in str(key)


def test_a_token_is_found_by_its_hmac_as_long_as_it_is_there() -> None:
    key = TokenKey("a key")
    other = TOKEN._replace(token_id="other")
    tokens = {"id": TOKEN, "other": other}
    assert key.token_of(key.hmac_of("id"), tokens) is TOKEN
    assert key.token_of(key.hmac_of("other"), tokens) is other
    assert key.token_of(key.hmac_of("none"), tokens) is None
    assert key.token_of(TokenKey("another").hmac_of("id"), tokens) is None
    renewed = TOKEN._replace(expiry_ms=700)
    assert key.token_of(key.hmac_of("id"), {"id": renewed}) is renewed
    assert key.token_of(key.hmac_of("other"), {"id": renewed}) is None
    assert key.token_of(b"", {}) is None


@pytest.mark.parametrize(
    ("principal", "changes", "sees"),
    [
        ("User:owner", True, True),
        ("User:renewer", True, True),
        ("User:asker", False, True),
        ("User:other", False, False),
        ("owner", False, False),
    ],
)
def test_whose_it_is(principal: str, changes: bool, sees: bool) -> None:
    assert (TOKEN.belongs_to(principal), TOKEN.concerns(principal)) == (changes, sees)


@pytest.mark.parametrize(("now_ms", "over"), [(100, False), (500, False), (501, True)])
def test_it_expires(now_ms: int, over: bool) -> None:
    assert TOKEN.has_expired(now_ms) is over
    assert TOKEN._replace(expiry_ms=2_000, max_ms=500).has_expired(now_ms) is over
