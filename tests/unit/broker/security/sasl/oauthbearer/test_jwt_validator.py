"""Each check of a signed token, with the reason that the log will have.

What Apache Kafka takes and refuses is compared in `test_server`; here are the reasons, the edges in
time and the settings.
"""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.security_settings import OAuthSettings
from broker.security.sasl.oauthbearer.jwks import KeySet
from broker.security.sasl.oauthbearer.jwt_compact import AcceptedToken, TokenRefused
from broker.security.sasl.oauthbearer.jwt_validator import JwtValidator, UnknownKey
from tests.unit.broker.security.sasl.oauthbearer.tokens_fixture import (
    NOW_MS,
    NOW_S,
    jwks,
    key_set,
    private_keys,
    token,
)


def judged(text: str, now_ms: int = NOW_MS, **settings: Any) -> AcceptedToken:
    return JwtValidator(OAuthSettings(**settings)).validate(text, key_set(), now_ms)


def reason(text: str, now_ms: int = NOW_MS, **settings: Any) -> str:
    with pytest.raises(TokenRefused) as refused:
        judged(text, now_ms, **settings)
    assert not any(part in str(refused.value) for part in text.split(".") if len(part) > 8)
    return str(refused.value)


def test_who_and_until_when() -> None:
    assert judged(token()) == AcceptedToken("alice", (NOW_S + 600) * 1000)


def test_a_token_ends_in_whole_seconds() -> None:
    assert judged(token(exp=NOW_S + 5.9)).expires_at_ms == (NOW_S + 5) * 1000


@pytest.mark.parametrize("key", ["rsa", "second", "p256", "p384", "ed"])
def test_each_kind_of_key(key: str) -> None:
    assert judged(token(key)).principal_name == "alice"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": None}, "claim exp is missing"),
        ({"iat": None}, "claim iat is missing"),
        ({"sub": None}, "claim sub is missing"),
        ({"exp": "soon"}, "claim exp is not a date in seconds"),
        ({"exp": NOW_S - 31}, "the token expired 31 s ago"),
        ({"iat": -1}, "claim iat is negative"),
        ({"iat": NOW_S + 601}, "the token expires before it was issued"),
        ({"nbf": NOW_S + 31}, "the token is not good before 31 s from now (nbf)"),
        ({"exp": NOW_S + 1, "nbf": NOW_S + 2}, "the token expires before it is good (nbf)"),
        ({"sub": " "}, "claim sub is empty"),
        ({"sub": 5}, "claim sub is not a text"),
        ({"scope": " "}, "claim scope has an empty entry, or one that is not a text"),
        ({"scope": ["a", " a"]}, "claim scope has an entry twice"),
        ({"iss": 5}, "claim iss is not a text"),
        ({"jti": 5}, "claim jti is not a text"),
    ],
)
def test_the_reason_of_a_refusal(claims: dict[str, Any], why: str) -> None:
    assert reason(token(**claims)) == why


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({}, "claim aud is missing"),
        ({"aud": "x"}, "claim aud names none of the expected audience"),
        ({"aud": ["x", 5]}, "claim aud is neither a text nor a list of texts"),
        ({"aud": "b"}, "claim iss is not the expected issuer"),
        ({"aud": ["x", "a"], "iss": "http://other"}, "claim iss is not the expected issuer"),
    ],
)
def test_the_addressee_and_the_issuer(claims: dict[str, Any], why: str) -> None:
    asked = {"expected_audience": ("a", "b"), "expected_issuer": "http://issuer"}
    assert reason(token(**claims), **asked) == why


def test_the_skew_of_clocks_is_taken_at_both_ends() -> None:
    short = token(exp=NOW_S + 60, nbf=NOW_S)
    end_ms = (NOW_S + 60 + 30) * 1000
    assert judged(short, end_ms - 1).expires_at_ms == (NOW_S + 60) * 1000
    assert reason(short, end_ms) == "the token expired 30 s ago"
    begin_ms = (NOW_S - 30) * 1000
    assert judged(short, begin_ms).principal_name == "alice"
    assert "not good before" in reason(short, begin_ms - 1)
    assert reason(short, (NOW_S + 60) * 1000, clock_skew_s=0) == "the token expired 0 s ago"


def test_iat_may_be_in_the_future() -> None:
    assert judged(token(iat=NOW_S + 300)).principal_name == "alice"


def test_claims_by_other_names() -> None:
    other = token(user="bob", scp=["a", "a"])
    assert judged(other, sub_claim_name="user").principal_name == "bob"
    assert reason(other, scope_claim_name="scp") == "claim scp has an entry twice"


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({"alg": "none"}, "the algorithm is missing, or none that is taken"),
        ({"alg": "HS256"}, "the algorithm is missing, or none that is taken"),
        ({"alg": "ES256K"}, "the algorithm is missing, or none that is taken"),
        ({"alg": ["RS256"]}, "the algorithm is missing, or none that is taken"),
        ({"alg": None}, "the algorithm is missing, or none that is taken"),
        ({"kid": 5}, "the id of the key is not a text"),
        ({"kid": "p256"}, "no key fits: its key is not for this algorithm"),
        ({"kid": "weak"}, "no key fits: an RSA key has 1024 bits, at least 2048 are needed"),
        ({"kid": "oct"}, "no key fits: a key is neither RSA nor EC nor OKP"),
        ({"kid": "enc"}, "no key fits: a key is not for signatures"),
        ({"kid": "x\n" * 200}, "the issuer has no key with the id '" + "x\\n" * 50 + "'"),
        ({"crit": ["x"]}, "the header asks for what is not known (crit)"),
        ({"cty": "JWT"}, "the token holds another one (cty)"),
    ],
)
def test_headers(header: dict[str, Any], why: str) -> None:
    claims = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 600}
    assert reason(private_keys().token(claims, **header)) == why


def test_an_unknown_key_is_told_apart() -> None:
    text = token("foreign")
    with pytest.raises(UnknownKey):
        judged(text)
    with pytest.raises(TokenRefused) as refused:
        judged(private_keys().token({}, "foreign", kid="rsa"))
    assert not isinstance(refused.value, UnknownKey)
    assert str(refused.value) == "the signature does not fit the key"


def test_without_an_id_the_first_key_that_fits_is_taken() -> None:
    claims = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 600}
    assert judged(private_keys().token(claims, "rsa", kid=None)).principal_name == "alice"
    assert judged(private_keys().token(claims, "p384", "ES384", kid=None)).principal_name == "alice"
    assert "does not fit" in reason(private_keys().token(claims, "second", kid=None))
    with pytest.raises(TokenRefused, match="names no key"):
        JwtValidator(OAuthSettings()).validate(
            private_keys().token(claims, "rsa", kid=None), KeySet.parse(jwks("p256")), NOW_MS
        )


def test_the_claims_of_a_bad_signature_are_not_read() -> None:
    header, _, signature = token().split(".")
    assert reason(f"{header}.!!!!.{signature}") == "the signature does not fit the key"


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 255, 256, 257, 1000])
@pytest.mark.parametrize("key", ["rsa", "p256", "ed"])
def test_signatures_of_every_size(key: str, size: int) -> None:
    header, claims, _ = token(key).split(".")
    assert "signature" in reason(f"{header}.{claims}." + "AAAA" * size)
