"""One SASL mechanism as a server offers it, or as a client logs in by it."""

from __future__ import annotations

import pytest

from broker.config.security.listener_keys import mechanism_scope
from broker.config.security.mechanisms import (
    MECHANISMS,
    SIGNED_LOGINS,
    SIGNED_VALIDATORS,
    check_mechanism,
    client_mechanism,
    password_fault,
    server_mechanism,
)
from broker.config.security_settings import Secret
from ground.config_def import ConfigError

SECURITY = "org.apache.kafka.common.security"
MODULES = {
    "PLAIN": f"{SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{SECURITY}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule",
}


def texts_of(mechanism: str, **more: str) -> dict[str, str]:
    prefix = f"listener.name.l.{mechanism.lower()}."
    texts = {"sasl_jaas_config": f"{MODULES[mechanism]} required;", **more}
    return {prefix + name.replace("_", "."): text for name, text in texts.items()}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_has_its_login_module(mechanism: str) -> None:
    scope = mechanism_scope(texts_of(mechanism), "L", mechanism)
    made = server_mechanism(scope, "L", mechanism)
    assert made.name == mechanism
    assert made.jaas is not None and made.jaas.login_module == MODULES[mechanism]
    assert made.server_callback_class is None
    assert made.max_reauth_ms == 0


def test_what_is_set_for_the_mechanism_is_taken() -> None:
    validator = f"{SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
    texts = texts_of(
        "OAUTHBEARER",
        connections_max_reauth_ms="60000",
        sasl_server_callback_handler_class=validator,
        sasl_oauthbearer_jwks_endpoint_url="file:/keys",
        sasl_oauthbearer_expected_audience="a, b",
    )
    texts["sasl.oauthbearer.expected.issuer"] = "me"
    made = server_mechanism(mechanism_scope(texts, "L", "OAUTHBEARER"), "L", "OAUTHBEARER")
    assert made.server_callback_class == validator
    assert made.max_reauth_ms == 60_000
    assert made.oauth.jwks_endpoint_url == "file:/keys"
    assert made.oauth.expected_audience == ("a", "b")
    assert made.oauth.expected_issuer == "me"
    assert made.oauth.clock_skew_s == 30
    assert not made.oauth.unsecured_tokens_allowed
    assert made.oauth.response_max_bytes == 1_048_576


def test_credentials_for_a_token_are_a_secret() -> None:
    texts = texts_of(
        "OAUTHBEARER",
        sasl_oauthbearer_client_credentials_client_id="node",
        sasl_oauthbearer_client_credentials_client_secret="hush",
        sasl_oauthbearer_scope="kafka",
    )
    made = client_mechanism(mechanism_scope(texts, "L", "OAUTHBEARER"), "node", "OAUTHBEARER")
    assert made.oauth.client_credentials_client_id == "node"
    assert made.oauth.client_credentials_client_secret == Secret("hush")
    assert made.oauth.scope == "kafka"
    assert "hush" not in repr(made)


def test_our_own_keys_are_those_of_the_whole_node() -> None:
    key = "ottla.sasl.oauthbearer.unsecured.tokens.allowed"
    texts = texts_of("OAUTHBEARER", **{key.replace(".", "_"): "true"})
    scope = mechanism_scope(texts, "L", "OAUTHBEARER")
    assert not server_mechanism(scope, "L", "OAUTHBEARER").oauth.unsecured_tokens_allowed
    texts[key] = "true"
    texts["ottla.sasl.oauthbearer.response.max.bytes"] = "2048"
    oauth = server_mechanism(scope, "L", "OAUTHBEARER").oauth
    assert oauth.unsecured_tokens_allowed
    assert oauth.response_max_bytes == 2048


@pytest.mark.parametrize("name", [*SIGNED_VALIDATORS, *SIGNED_LOGINS])
def test_classes_of_tokens_have_an_old_name_too(name: str) -> None:
    half = "server" if name in SIGNED_VALIDATORS else "login"
    texts = texts_of("OAUTHBEARER", **{f"sasl_{half}_callback_handler_class": name})
    made = server_mechanism(mechanism_scope(texts, "L", "OAUTHBEARER"), "L", "OAUTHBEARER")
    assert name in (made.server_callback_class, made.login_callback_class)


@pytest.mark.parametrize(
    ("jaas", "why"),
    [
        ("com.acme.Foo required;", "login module com.acme.Foo: Java classes cannot be loaded"),
        (f"{MODULES['OAUTHBEARER']} required;", f"of PLAIN is {MODULES['PLAIN']}"),
        ('"p w" required;', "login module that is no class"),
        (f"{MODULES['PLAIN']} required", "not terminated by a semicolon"),
    ],
)
def test_a_wrong_text_is_refused_with_its_key(jaas: str, why: str) -> None:
    scope = mechanism_scope(texts_of("PLAIN", sasl_jaas_config=jaas), "L", "PLAIN")
    with pytest.raises(ConfigError) as refused:
        server_mechanism(scope, "L", "PLAIN")
    assert refused.value.name == "listener.name.l.plain.sasl.jaas.config"
    assert why in str(refused.value)


def test_without_a_text_the_key_to_set_is_told() -> None:
    """A text without the mechanism before it is not read, as in Kafka."""
    texts = {"sasl.jaas.config": "hush", "listener.name.l.sasl.jaas.config": "hush"}
    with pytest.raises(ConfigError) as refused:
        server_mechanism(mechanism_scope(texts, "L", "PLAIN"), "L", "PLAIN")
    line = str(refused.value)
    assert line.startswith("listener.name.l.plain.sasl.jaas.config is not set: ")
    assert f"{MODULES['PLAIN']} required ...;" in line and "hush" not in line


@pytest.mark.parametrize(
    "name",
    [
        "sasl.server.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
    ],
)
def test_a_class_of_somebody_else_is_refused(name: str) -> None:
    texts = texts_of("PLAIN", **{name.replace(".", "_"): "com.acme.Handler"})
    with pytest.raises(ConfigError, match="com.acme.Handler: Java classes cannot be loaded"):
        server_mechanism(mechanism_scope(texts, "L", "PLAIN"), "L", "PLAIN")


@pytest.mark.parametrize(
    ("mechanism", "why"),
    [("GSSAPI", "Kerberos"), ("plain", "write it PLAIN"), ("FOO", "FOO is not supported")],
)
def test_other_mechanisms_are_refused_by_name(mechanism: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        check_mechanism("sasl.mechanism.controller.protocol", "listener L", mechanism)


def test_a_client_needs_a_name_and_a_password() -> None:
    jaas = f'{MODULES["PLAIN"]} required user_a="p";'
    scope = mechanism_scope(texts_of("PLAIN", sasl_jaas_config=jaas), "L", "PLAIN")
    made = client_mechanism(scope, "this node", "PLAIN")
    assert password_fault(made) == "username and no password"
    whole = jaas.replace("required", 'required username="u" password="p"')
    scope = mechanism_scope(texts_of("PLAIN", sasl_jaas_config=whole), "L", "PLAIN")
    assert password_fault(client_mechanism(scope, "this node", "PLAIN")) is None
