"""What settings become, and which of them are refused at the start."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from broker.config.keys import BROKER_CONFIG_DEF
from broker.config.security.mechanisms import OAUTH_KEYS
from broker.config.security_settings import JaasEntry, MechanismSettings, OAuthSettings, Secret
from broker.security.sasl.oauthbearer.client import TokenKeeper
from broker.security.sasl.oauthbearer.jwt_compact import AcceptedToken
from broker.security.sasl.oauthbearer.parts import (
    MadeTokens,
    client_extensions,
    client_tokens,
    server_judge,
    token_now,
)
from broker.security.sasl.oauthbearer.unsecured_tokens import UnsecuredTokens
from broker.security.sasl.server_mechanism import SaslRefused
from ground.config_def import ConfigError
from tests.golden.oauth_cases import RECORDED, STARTS
from tests.unit.broker.security.sasl.oauthbearer.clock_fixture import HandBlocking, HandScheduler
from tests.unit.broker.security.sasl.oauthbearer.tokens_fixture import NOW_MS, NOW_S, jwks, token

PREFIX = "listener.name.sasl.oauthbearer."
PACKAGE = "org.apache.kafka.common.security.oauthbearer"
VALIDATOR = f"{PACKAGE}.OAuthBearerValidatorCallbackHandler"
LOGIN = f"{PACKAGE}.OAuthBearerLoginCallbackHandler"
UNSECURED = f"{PACKAGE}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
UNSECURED_LOGIN = f"{PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"


ANY = {"allow_unverified_audience": True, "allow_unverified_issuer": True}


def settings(
    server: str | None = None,
    login: str | None = None,
    options: dict[str, str] | None = None,
    **oauth: Any,
) -> MechanismSettings:
    secrets = {name: Secret(value) for name, value in (options or {}).items()}
    return MechanismSettings(
        "OAUTHBEARER",
        JaasEntry("…OAuthBearerLoginModule", secrets),
        server,
        login,
        oauth=OAuthSettings(**{**ANY, **oauth}),
    )


def refusal(made: MechanismSettings) -> str:
    with pytest.raises(ConfigError) as refused:
        server_judge(PREFIX, made, HandScheduler())
    return str(refused.value)


@pytest.mark.parametrize("inner", ["", ".secured"])
def test_signed_tokens_by_keys_of_a_file(tmp_path: Path, inner: str) -> None:
    path = tmp_path / "jwks.json"
    path.write_bytes(jwks("rsa"))
    scheduler, blocking = HandScheduler(), HandBlocking()
    named = f"{PACKAGE}{inner}.OAuthBearerValidatorCallbackHandler"
    judge = server_judge(PREFIX, settings(named, jwks_endpoint_url=path.as_uri()), scheduler)
    judge.start(blocking)
    assert judge.judge(token(), NOW_MS) == AcceptedToken("alice", (NOW_S + 600) * 1000)
    path.write_bytes(jwks("p256"))
    scheduler.advance(OAuthSettings().jwks_endpoint_refresh_ms)
    blocking.run()
    assert judge.judge(token("p256"), NOW_MS).principal_name == "alice"
    judge.close()
    assert scheduler.delays() == []


def test_keys_that_cannot_be_read_stop_the_start(tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    made = settings(VALIDATOR, jwks_endpoint_url=path.as_uri())
    key = f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url"
    shown = path.as_uri()
    assert refusal(made) == f"{key}: the keys of {shown} cannot be read: No such file or directory"
    path.write_text("{}")
    assert "it is not a JWK set" in refusal(made)


@pytest.mark.parametrize(
    ("url", "why"),
    [(None, "is not set"), ("keys.json", "a URL begins with https:, http: or file:")],
)
def test_a_url_of_no_use_stops_the_start(url: str | None, why: str) -> None:
    text = refusal(settings(VALIDATOR, jwks_endpoint_url=url))
    assert text.startswith(f"{PREFIX}sasl.oauthbearer.jwks.endpoint.url")
    assert why in text


@pytest.mark.parametrize("name", STARTS)
def test_a_listener_without_audience_or_issuer_starts_where_kafka_does(
    name: str, tmp_path: Path
) -> None:
    path = tmp_path / "jwks.json"
    path.write_bytes(jwks("rsa"))
    oauth: dict[str, Any] = dict.fromkeys(ANY, False)
    for field, key in OAUTH_KEYS.items():
        if key in STARTS[name]:
            oauth[field] = BROKER_CONFIG_DEF[key].parse(STARTS[name][key])
    made = settings(VALIDATOR, jwks_endpoint_url=path.as_uri(), **oauth)
    missing = json.loads(RECORDED.read_text())["starts"][name]
    if missing is None:
        server_judge(PREFIX, made, HandScheduler())
    else:
        assert refusal(made).startswith(f"{PREFIX}{missing} is not set: ")


@pytest.mark.parametrize("what", ["audience", "issuer"])
def test_tokens_for_anybody_are_taken_only_on_purpose_and_with_a_warning(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "jwks.json"
    path.write_bytes(jwks("rsa"))
    expected: dict[str, Any] = {"expected_audience": ("kafka",), "expected_issuer": "me"}
    del expected[f"expected_{what}"]
    allowed = f"allow_unverified_{what}"
    made = {"jwks_endpoint_url": path.as_uri(), **expected}
    text = refusal(settings(VALIDATOR, **made, **{allowed: False}))
    key = f"{PREFIX}sasl.oauthbearer."
    assert text.startswith(f"{key}expected.{what} is not set: ")
    assert text.endswith(f"or set {key}allow.unverified.{what}=true")
    assert not caplog.records
    server_judge(PREFIX, settings(VALIDATOR, **made, **{allowed: True}), HandScheduler())
    (warning,) = caplog.records
    assert f"whatever their {what} is (sasl.oauthbearer.allow.unverified.{what})" in (
        warning.getMessage()
    )


@pytest.mark.parametrize("chosen", [None, UNSECURED])
def test_unsecured_tokens_are_taken_only_on_purpose_and_with_a_warning(
    chosen: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    text = refusal(settings(chosen, jwks_endpoint_url="https://issuer/keys"))
    assert text.startswith(f"{PREFIX}sasl.server.callback.handler.class is not set to {VALIDATOR}")
    assert "ottla.sasl.oauthbearer.unsecured.tokens.allowed=true" in text
    assert "\n" not in text
    assert not caplog.records
    judge = server_judge(PREFIX, settings(chosen, unsecured_tokens_allowed=True), HandScheduler())
    assert isinstance(judge, UnsecuredTokens)
    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    assert "listener.name.sasl.oauthbearer: OAUTHBEARER takes tokens that nobody signed" in (
        warning.getMessage()
    )


@pytest.mark.parametrize("chosen", [None, UNSECURED_LOGIN])
def test_a_client_with_unsecured_tokens(chosen: str | None) -> None:
    made = settings(login=chosen, options={"unsecuredLoginStringClaim_sub": "node"})
    scheduler = HandScheduler()
    tokens = client_tokens("", made, scheduler, HandBlocking())
    assert isinstance(tokens, MadeTokens)
    tokens.start(list)
    judge = UnsecuredTokens("", {})
    first = tokens.token()
    scheduler.advance(5000)
    assert judge.judge(first, NOW_MS).principal_name == "node"
    assert judge.judge(tokens.token(), NOW_MS + 5000).expires_at_ms == NOW_MS + 3_605_000
    tokens.close()
    assert token_now("", made, NOW_MS) == first


def test_a_client_without_a_name_stops_the_start() -> None:
    with pytest.raises(ConfigError, match="^sasl.jaas.config: set unsecuredLoginStringClaim_sub"):
        client_tokens("", settings(), HandScheduler(), HandBlocking())


def test_a_client_with_tokens_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = settings(login=LOGIN, token_endpoint_url=path.as_uri())
    blocking = HandBlocking()
    tokens = client_tokens("", made, HandScheduler(), blocking)
    assert isinstance(tokens, TokenKeeper)
    tokens.start(list)
    blocking.run()
    with pytest.raises(SaslRefused, match="No such file or directory"):
        tokens.token()
    with pytest.raises(SaslRefused, match=f"no token of {path.as_uri()} to log in with: No such"):
        token_now("", made, NOW_MS)
    path.write_text(token())
    tokens.start(list)
    blocking.run()
    assert tokens.token() == token() == token_now("", made, NOW_MS)


@pytest.mark.parametrize(
    ("options", "oauth", "good"),
    [
        ({}, {}, False),
        ({"clientId": "a"}, {}, False),
        ({"clientSecret": "s3cret"}, {}, False),
        ({"clientId": "a", "clientSecret": "s3cret", "scope": "x"}, {}, True),
        ({"clientId": "a"}, {"client_credentials_client_secret": Secret("s3cret")}, True),
    ],
)
def test_an_issuer_is_asked_with_credentials(
    options: dict[str, str], oauth: dict[str, Any], good: bool
) -> None:
    url = {"token_endpoint_url": "http://127.0.0.1:9/token"}
    made = settings(login=LOGIN, options=options, **oauth, **url)
    if good:
        assert isinstance(client_tokens("", made, HandScheduler(), HandBlocking()), TokenKeeper)
        return
    with pytest.raises(ConfigError) as refused:
        client_tokens("", made, HandScheduler(), HandBlocking())
    assert str(refused.value).startswith("sasl.oauthbearer.client.credentials.client.id: set it")
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ssl.truststore.location": "/nowhere"}, "ssl.truststore.location"),
        ({"ssl.protocol": "SSLv3"}, "ssl.protocol"),
    ],
)
def test_tls_to_an_issuer_is_told_by_the_jaas_text(options: dict[str, str], why: str) -> None:
    found = {"clientId": "a", "clientSecret": "s3cret", **options}
    url = "https://127.0.0.1:9/token"
    made = settings(login=LOGIN, options=found, token_endpoint_url=url)
    with pytest.raises(ConfigError) as refused:
        client_tokens("", made, HandScheduler(), HandBlocking())
    assert refused.value.name == f"sasl.jaas.config: {why}"
    signed = settings(VALIDATOR, options=found, jwks_endpoint_url="https://127.0.0.1:9/keys")
    assert f"{PREFIX}sasl.jaas.config: {why}" in refusal(signed)


def test_extensions_of_the_jaas_text() -> None:
    options = {"extension_traceId": "1", "unsecuredLoginExtension_x": "2", "clientId": "a"}
    assert client_extensions("", settings(options=options)) == {"traceId": "1", "x": "2"}
    with pytest.raises(ConfigError, match="^sasl.jaas.config: extension_a-b: its name"):
        client_extensions("", settings(options={"extension_a-b": "1"}))
