"""A token's parts, strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.security.sasl.oauthbearer.jwt_compact import (
    HEADER_CHARACTERS_MAX,
    TokenRefused,
    date_ms,
    json_object,
    principal_name,
    take_apart,
)
from tests.golden.oauth_issuer import base64url

HEADER = base64url(b'{"alg":"none"}')


def test_the_parts() -> None:
    parts = take_apart(f"{HEADER}.abc.{base64url(b'signed')}")
    assert parts.header == {"alg": "none"}
    assert (parts.claims, parts.signature) == ("abc", b"signed")
    assert parts.signed == f"{HEADER}.abc".encode()


def test_a_signature_may_be_padded_or_missing() -> None:
    assert take_apart(f"{HEADER}.abc.YQ==").signature == b"a"
    assert take_apart(f"{HEADER}.abc.").signature == b""


@pytest.mark.parametrize(
    "token",
    ["", "a", "a.b", "a.b.c.d", "..", f"{HEADER}..c", f".{HEADER}.c", f"{HEADER}.abc.!", "é.é.é"],
)
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(TokenRefused):
        take_apart(token)


def test_a_header_has_a_limit() -> None:
    long = base64url(json.dumps({"alg": "none", "x": "x" * HEADER_CHARACTERS_MAX}).encode())
    with pytest.raises(TokenRefused, match="more than 8192 characters"):
        take_apart(f"{long}.abc.")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "5",
        "null",
        "",
        "{",
        '{"a":1,"a":2}',
        '{"a":{"b":1,"b":2}}',
        '{"a":NaN}',
        '{"a":Infinity}',
        "[" * 3000,
        '{"a":' + "1" * 5000 + "}",
        "\ufeff{}",
    ],
)
def test_json_is_an_object_with_each_name_once(text: str) -> None:
    with pytest.raises(TokenRefused):
        json_object(base64url(text.encode()), "payload")


@pytest.mark.parametrize("part", ["a", "ab=", "a+b", "a/b", "a b", "é"])
def test_base64_is_that_of_urls(part: str) -> None:
    with pytest.raises(TokenRefused, match="not base64 of URLs"):
        json_object(part, "payload")


def test_utf_8_only() -> None:
    with pytest.raises(TokenRefused):
        json_object(base64url(b'{"a":"\xff"}'), "payload")


@pytest.mark.parametrize(("value", "ms"), [(5, 5000), (5.5, 5500), (-1, -1000), (0, 0)])
def test_a_date(value: Any, ms: int) -> None:
    assert date_ms({"exp": value}, "exp") == ms


@pytest.mark.parametrize(
    "value", [None, "5", True, [5], {}, 1e400, float("nan"), 10**18, -(10**18), 1e300]
)
def test_no_date(value: Any) -> None:
    with pytest.raises(TokenRefused, match="claim exp"):
        date_ms({"exp": value}, "exp")


def test_a_date_that_is_missing() -> None:
    with pytest.raises(TokenRefused, match="claim exp is missing"):
        date_ms({}, "exp")


def test_a_name_is_trimmed() -> None:
    assert principal_name({"sub": " älice "}, "sub") == "älice"


@pytest.mark.parametrize("value", [None, 5, True, ["a"], "", "  ", "\ud800"])
def test_no_name(value: Any) -> None:
    with pytest.raises(TokenRefused, match="claim sub"):
        principal_name({"sub": value}, "sub")
