"""Tokens that nobody signed: judged, and made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.config.security_settings import Secret
from broker.security.sasl.oauthbearer.jwt_compact import (
    AcceptedToken,
    TokenRefused,
    json_object,
    take_apart,
)
from broker.security.sasl.oauthbearer.unsecured_tokens import UnsecuredTokens, unsecured_token
from ground.config_def import ConfigError
from tests.golden.oauth_issuer import base64url
from tests.unit.broker.security.sasl.oauthbearer.tokens_fixture import NOW_MS, NOW_S, token

KEY = "sasl.jaas.config"


def options(**texts: str) -> dict[str, Secret]:
    return {name: Secret(value) for name, value in texts.items()}


def made(header: str = '{"alg":"none"}', **claims: Any) -> str:
    whole = {"sub": "alice", "exp": NOW_S + 600, **claims}
    kept = {name: value for name, value in whole.items() if value is not None}
    return f"{base64url(header.encode())}.{base64url(json.dumps(kept).encode())}."


def reason(text: str, **texts: str) -> str:
    with pytest.raises(TokenRefused) as refused:
        UnsecuredTokens(KEY, options(**texts)).judge(text, NOW_MS)
    return str(refused.value)


def test_who_and_until_when() -> None:
    judge = UnsecuredTokens(KEY, {})
    assert judge.judge(made(exp=NOW_S + 0.5), NOW_MS) == AcceptedToken("alice", NOW_MS + 500)


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"sub": None}, "claim sub is missing"),
        ({"exp": None}, "claim exp is missing"),
        ({"exp": NOW_S}, "the token expired 0 s ago"),
        ({"iat": NOW_S + 1}, "claim iat is in the future"),
        ({"iat": NOW_S - 5, "exp": NOW_S - 10}, "the token expired 10 s ago"),
        ({"iat": None, "scope": 5}, "claim scope is neither a text nor a list of texts"),
    ],
)
def test_the_reason_of_a_refusal(claims: dict[str, Any], why: str) -> None:
    assert reason(made(**claims)) == why


def test_a_signed_token_and_a_signature_are_refused() -> None:
    assert reason(token()) == "the algorithm is not none"
    assert reason(made() + "abcd") == "a token without an algorithm has a signature"
    assert reason(made('{"alg":"None"}')) == "the algorithm is not none"


def test_the_skew_of_clocks() -> None:
    judge = UnsecuredTokens(KEY, options(unsecuredValidatorAllowableClockSkewMs="2000"))
    assert judge.judge(made(exp=NOW_S - 1.5), NOW_MS).expires_at_ms == NOW_MS - 1500
    assert judge.judge(made(iat=NOW_S + 2), NOW_MS).principal_name == "alice"
    with pytest.raises(TokenRefused, match="expired 2 s ago"):
        judge.judge(made(exp=NOW_S - 2), NOW_MS)


def test_names_of_claims_and_a_required_scope() -> None:
    asked = options(
        unsecuredValidatorPrincipalClaimName="user",
        unsecuredValidatorScopeClaimName="scp",
        unsecuredValidatorRequiredScope=" kafka  other ",
    )
    judge = UnsecuredTokens(KEY, asked)
    good = made(user="bob", scp=["other", "x", "kafka"])
    assert judge.judge(good, NOW_MS).principal_name == "bob"
    with pytest.raises(TokenRefused) as refused:
        judge.judge(made(user="bob", scp=["other"]), NOW_MS)
    assert refused.value.required_scope == ("kafka", "other")


@pytest.mark.parametrize("text", ["-1", "1.5", "soon", "٣", "9" * 16])
def test_a_skew_that_is_no_number(text: str) -> None:
    with pytest.raises(ConfigError, match="unsecuredValidatorAllowableClockSkewMs"):
        UnsecuredTokens(KEY, options(unsecuredValidatorAllowableClockSkewMs=text))


def test_a_made_token_has_the_claims_of_the_options() -> None:
    text = unsecured_token(
        KEY,
        options(
            unsecuredLoginStringClaim_sub="alice",
            unsecuredLoginListClaim_scope=",kafka,other",
            unsecuredLoginNumberClaim_level="5",
            unsecuredLoginNumberClaim_part="5.5",
            unsecuredLoginListClaim_none="|",
            unsecuredLoginLifetimeSeconds="60",
        ),
        NOW_MS,
    )
    assert text.endswith(".")
    assert json_object(take_apart(text).claims, "payload") == {
        "sub": "alice",
        "scope": ["kafka", "other"],
        "level": 5,
        "part": 5.5,
        "none": [],
        "iat": NOW_S,
        "exp": NOW_S + 60,
    }
    judge = UnsecuredTokens(KEY, options(unsecuredValidatorRequiredScope="kafka"))
    assert judge.judge(text, NOW_MS) == AcceptedToken("alice", NOW_MS + 60_000)


def test_the_name_may_stand_in_another_claim() -> None:
    asked = options(unsecuredLoginPrincipalClaimName="user", unsecuredLoginStringClaim_user="alice")
    claims = json_object(take_apart(unsecured_token(KEY, asked, NOW_MS)).claims, "payload")
    assert claims["user"] == "alice"
    assert claims["exp"] == NOW_S + 3600


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({}, "unsecuredLoginStringClaim_sub"),
        ({"unsecuredLoginNumberClaim_sub": "5"}, "unsecuredLoginStringClaim_sub"),
        ({"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginNumberClaim_x": "y"}, "Claim_x"),
        ({"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginNumberClaim_x": "nan"}, "Claim_x"),
        ({"unsecuredLoginStringClaim_sub": "a", "unsecuredLoginLifetimeSeconds": "x"}, "Lifetime"),
    ],
)
def test_options_that_make_no_token(asked: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError, match=named) as refused:
        unsecured_token(KEY, options(**asked), NOW_MS)
    assert refused.value.name == KEY
