"""Each secured listener of a node has a guard, which changes with the node's dynamic configs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.config.parse import parse_config, with_overrides
from broker.config.security.changes import changed_listeners
from broker.config.values import BrokerConfig
from broker.node.security.guards import Guards
from broker.plugins.node_plugins import NodePlugins
from broker.security.listener_guard import ListenerGuard
from broker.security.sasl.server_mechanism import BlockingCall
from controller.metadata.delta import MetadataDelta
from controller.metadata.image import MetadataImage, ResourceType
from ground.config_def import ConfigError
from ground.sim_scheduler import SimBlocking, SimScheduler
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode_response, encode_request
from protocol.messages.metadata import MetadataRequest
from protocol.messages.metadata_records import ConfigRecord
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from protocol.messages.sasl_handshake import SaslHandshakeRequest
from tests import certificates

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
KEYSTORE = "listener.name.tls.ssl.keystore.location"
USERS = "listener.name.both.plain.sasl.jaas.config"


def texts(folder: Path, **more: str) -> dict[str, str]:
    tls = certificates.pem_files(folder, certificates.server())
    return {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CTL",
        "controller.quorum.voters": "1@localhost:9093",
        "listeners": "PLAINTEXT://localhost:9092,TLS://localhost:9094,BOTH://localhost:9095,"
        "CTL://localhost:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL,BOTH:SASL_SSL,CTL:PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tls.keystore_location),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tls.truststore_location),
        "sasl.enabled.mechanisms": "PLAIN",
        USERS: f'{PLAIN} required user_a="one";',
        **more,
    }


def named(_mechanism: str, user: str) -> str:
    return f"User:{user}"


def refuse(api_key: int, _request: Any, error: ErrorCode) -> Any:
    raise KeyError(api_key, error)


def guards(config: BrokerConfig) -> Guards:
    return Guards(config, lambda *_: None, bytes, float, SimScheduler())


def made(folder: Path) -> tuple[BrokerConfig, Guards, dict[str, ListenerGuard]]:
    config = parse_config(texts(folder))
    all_of_them = guards(config)
    found = {name: all_of_them.guard(name, refuse) for name in config.listener_security}
    return config, all_of_them, {name: one for name, one in found.items() if one is not None}


def lets_in(guard: ListenerGuard, user: str, password: str) -> bool:
    authenticator = guard.authenticator(bytes, named)
    assert authenticator is not None
    handshake = encode_request(SaslHandshakeRequest("PLAIN"), 1, 1, "me")[4:]
    authenticator.received(memoryview(handshake), 0)
    token = encode_request(SaslAuthenticateRequest(f"\0{user}\0{password}".encode()), 2, 2, "me")
    try:
        answer = authenticator.received(memoryview(token[4:]), 0)
    except Exception as refused:  # noqa: BLE001  SaslFailed, which a node without security lacks
        assert type(refused).__name__ == "SaslFailed"
        return False
    return not decode_response(ApiKey.SASL_AUTHENTICATE, memoryview(answer), 2)[1].error_code


def test_a_listener_has_a_guard_if_it_is_secured(tmp_path: Path) -> None:
    _, all_of_them, found = made(tmp_path)
    assert sorted(found) == ["BOTH", "TLS"]
    assert found["TLS"].authenticator(bytes, named) is None
    assert lets_in(found["BOTH"], "a", "one") and not lets_in(found["BOTH"], "a", "two")
    assert [one.listener_name for one in all_of_them.logins()] == ["TLS", "BOTH"]


def test_an_error_names_the_key_as_it_is_written(tmp_path: Path) -> None:
    for key, value in (
        ("ssl.keystore.location", "/nowhere"),
        (KEYSTORE, "/nowhere"),
    ):
        config = parse_config(texts(tmp_path, **{key: value}))
        with pytest.raises(ConfigError, match=rf"/nowhere for configuration {key}:"):
            guards(config).guard("TLS", refuse)


def test_a_request_that_is_not_served_is_no_bug_of_ours(tmp_path: Path) -> None:
    _, _, found = made(tmp_path)
    authenticator = found["BOTH"].authenticator(bytes, named)
    assert authenticator is not None
    handshake = encode_request(SaslHandshakeRequest("PLAIN"), 1, 1, "me")[4:]
    authenticator.received(memoryview(handshake), 0)
    with pytest.raises(Exception, match="METADATA is|API key 3 is not served") as failed:
        authenticator.received(memoryview(encode_request(MetadataRequest(), 9, 2, "me")[4:]), 0)
    assert not isinstance(failed.value, KeyError | ProtocolError)


def change(
    config: BrokerConfig, all_of_them: Guards, before: MetadataImage, name: str, text: str
) -> tuple[Any, MetadataImage]:
    """What is said of it, and the metadata after it was stored all the same."""
    told = dict(before.config(ResourceType.BROKER, "1"))
    listeners = changed_listeners(config, told, {**told, name: text}, (name,))
    fault = all_of_them.validate(with_overrides(config, {**told, name: text}), listeners)
    delta = MetadataDelta(before)
    delta.replay(ConfigRecord(ResourceType.BROKER, "1", name, text))
    image = delta.apply(1, 1, 1)
    all_of_them.metadata_changed(delta, image)
    return fault, image


def test_a_dynamic_config_gives_new_logins_other_users(tmp_path: Path) -> None:
    config, all_of_them, found = made(tmp_path)
    text = f'{PLAIN} required user_a="two" user_b="b";'
    fault, _ = change(config, all_of_them, MetadataImage(), USERS, text)
    assert fault is None
    assert not lets_in(found["BOTH"], "a", "one")
    assert lets_in(found["BOTH"], "a", "two") and lets_in(found["BOTH"], "b", "b")


def test_a_store_that_cannot_be_loaded_is_refused_and_what_was_served_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config, all_of_them, found = made(tmp_path)
    context = found["TLS"].tls_context
    fault, image = change(config, all_of_them, MetadataImage(), KEYSTORE, "/nowhere")
    assert fault is not None and fault.code is ErrorCode.INVALID_REQUEST
    assert found["TLS"].tls_context is context
    assert "listener TLS stays as it was secured before" in caplog.text
    good = str(tmp_path / "keystore.pem")
    fault, _ = change(config, all_of_them, image, KEYSTORE, good)
    assert fault is None
    assert found["TLS"].tls_context is not context


def test_tokens_are_judged_where_a_listener_takes_them(tmp_path: Path) -> None:
    config = parse_config(
        texts(
            tmp_path,
            **{
                "sasl.enabled.mechanisms": "OAUTHBEARER",
                "listener.name.both.oauthbearer.sasl.jaas.config": f"{OAUTH} required;",
                "ottla.sasl.oauthbearer.unsecured.tokens.allowed": "true",
            },
        )
    )
    all_of_them = guards(config)
    guard = all_of_them.guard("BOTH", refuse)
    assert guard is not None
    authenticator = guard.authenticator(bytes, named)
    assert authenticator is not None
    all_of_them.close()


# --- plug-ins ------------------------------------------------------------------------------------

MODULE = """
from ottla.plugins.logins import PasswordCheck, ScramCredentials, TokenCheck
from ottla.plugins.principal import PrincipalBuilder

class Builder(PrincipalBuilder):
    def principal(self, peer):
        return f"Team:{peer.listener}"

class Passwords(PasswordCheck):
    def is_right(self, user, password):
        return password == "mine"

class Users(ScramCredentials):
    def credential(self, user):
        return None

class Tokens(TokenCheck):
    def validate(self, token):
        raise ValueError
"""
CALLBACK = "sasl.server.callback.handler.class"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


@pytest.fixture
def with_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[BrokerConfig, Guards]]:
    (tmp_path / "ottla_test_guards.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    own = "listener.name.both"
    config = parse_config(
        texts(
            tmp_path,
            **{
                "listener.name.plaintext.principal.builder.class": "ottla_test_guards:Builder",
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
                f"{own}.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
                f"{own}.oauthbearer.sasl.jaas.config": f"{OAUTH} required;",
                f"{own}.plain.{CALLBACK}": "ottla_test_guards:Passwords",
                f"{own}.scram-sha-256.{CALLBACK}": "ottla_test_guards:Users",
                f"{own}.oauthbearer.{CALLBACK}": "ottla_test_guards:Tokens",
            },
        )
    )
    scheduler = SimScheduler()
    plugins = NodePlugins(config, scheduler, SimBlocking(scheduler))
    yield config, Guards(config, lambda *_: None, bytes, float, scheduler, plugins=plugins)
    sys.modules.pop("ottla_test_guards", None)


def test_a_listener_without_security_has_a_guard_where_somebody_names_its_clients(
    with_plugins: tuple[BrokerConfig, Guards],
) -> None:
    _, all_of_them = with_plugins
    guard = all_of_them.guard("PLAINTEXT", refuse)
    assert guard is not None and guard.authenticator(bytes, named) is None
    assert guard.principal_by_certificate(None, "1.2.3.4") == "Team:PLAINTEXT"
    assert all_of_them.guard("CTL", refuse) is None


def test_mechanisms_that_somebody_judges_ask_him_also_after_a_change(
    with_plugins: tuple[BrokerConfig, Guards],
) -> None:
    config, all_of_them = with_plugins
    guard = all_of_them.guard("BOTH", refuse)
    assert guard is not None
    change(config, all_of_them, MetadataImage(), USERS, f'{PLAIN} required user_a="one";')
    messages = {
        "PLAIN": b"\0a\0one",
        "SCRAM-SHA-256": b"n,,n=a,r=b",
        "OAUTHBEARER": b"n,,\x01auth=Bearer x\x01\x01",
    }
    for name, message in messages.items():
        authenticator = guard.authenticator(bytes, named)
        assert authenticator is not None
        handshake = encode_request(SaslHandshakeRequest(name), 1, 1, "me")[4:]
        authenticator.received(memoryview(handshake), 0)
        token = encode_request(SaslAuthenticateRequest(message), 2, 2, "me")[4:]
        assert isinstance(authenticator.received(memoryview(token), 0), BlockingCall), name
