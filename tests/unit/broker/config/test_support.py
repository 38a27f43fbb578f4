"""Keys that Ottla refuses, ignores with a warning, or does not know."""

from __future__ import annotations

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER
from broker.config.support import (
    ignored_keys,
    is_default,
    reject_unsupported_keys,
    unknown_key,
    unused_security,
)
from broker.config.values import shown
from ground.config_def import ConfigError


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ssl.engine.factory.class", "a:B"),
        ("ssl.engine.factory.class", "a.B"),
        ("remote.log.storage.system.enable", "true"),
    ],
)
def test_a_guarding_key_is_refused_in_one_line_that_names_it(name: str, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        reject_unsupported_keys({name: text})
    line = str(refused.value)
    assert line.startswith(f"{name} is set, but ")
    assert "\n" not in line


def test_a_guarding_key_at_its_default_is_fine() -> None:
    reject_unsupported_keys(
        {
            "principal.builder.class": (
                "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
            ),
            "authorizer.class.name": "",
        }
    )


def test_who_names_super_users_and_no_authorizer_is_told() -> None:
    """Else the broker would be open where its owner believes it closed."""
    texts = {
        "super.users": "User:admin",
        "allow.everyone.if.no.acl.found": "false",
        "early.start.listeners": "CONTROLLER, OTHER",
        "controller.listener.names": "OTHER,CONTROLLER",
    }
    assert list(ignored_keys(texts)) == [
        "super.users=User:admin is ignored: authorizer.class.name is not set, and everybody may "
        "do everything"
    ]
    judged = {**texts, "authorizer.class.name": STANDARD_AUTHORIZER}
    assert list(ignored_keys(judged)) == []


def test_a_listener_of_a_broker_does_not_open_early() -> None:
    texts = {
        "early.start.listeners": "CONTROLLER,INTERNAL",
        "controller.listener.names": "CONTROLLER",
    }
    assert list(ignored_keys(texts)) == [
        "early.start.listeners=CONTROLLER,INTERNAL is ignored: a broker's listeners open when it "
        "knows the ACLs"
    ]


def test_a_key_of_no_effect_gives_one_warning() -> None:
    texts = {
        "telemetry.max.bytes": "5",
        "background.threads": "10",
        "num.io.threads": "3",
        "transaction.state.log.min.isr": "1",
        "ottla.log.level": "INFO",
    }
    assert list(ignored_keys(texts)) == [
        "telemetry.max.bytes=5 is ignored: Ottla does not support this key yet"
    ]


def test_what_limits_groups_that_are_not_served_is_not_called_ignored() -> None:
    texts = {
        "group.consumer.max.session.timeout.ms": "50000",
        "group.consumer.session.timeout.ms": "46000",
        "group.coordinator.rebalance.protocols": "classic",
        "group.streams.max.standby.replicas": "1",
        "group.streams.max.size": "5",
    }
    read = "applies to configs of groups that Ottla does not support yet"
    assert list(ignored_keys(texts)) == [
        f"group.streams.max.standby.replicas=1 {read}",
        "group.streams.max.size=5 is ignored: Ottla does not support this key yet",
    ]


@pytest.mark.parametrize(
    ("name", "text", "default"),
    [
        ("log.preallocate", "true", "false"),
    ],
)
def test_a_key_that_is_kept_but_not_acted_on_warns(name: str, text: str, default: str) -> None:
    """Who counts on it must learn that nothing is done by it yet."""
    (line,) = ignored_keys({name: text})
    assert line == f"{name}={text} is kept and told to clients, but has no effect yet"
    assert list(ignored_keys({name: default})) == []


def test_an_unknown_key_is_named_with_the_nearest_that_exists() -> None:
    assert str(unknown_key("num.io.thread")) == (
        "unknown configuration key num.io.thread; did you mean num.io.threads?"
    )
    assert str(unknown_key("quite.another.thing.altogether")) == (
        "unknown configuration key quite.another.thing.altogether"
    )
    assert "removed in Apache Kafka 4.0" in str(unknown_key("zookeeper.connect"))
    assert "is a property of Java" in str(unknown_key("java.security.auth.login.config"))


def test_keys_that_only_java_has_a_use_for_warn() -> None:
    texts = {
        "ssl.provider": "BC",
        "listener.name.x.ssl.secure.random.implementation": "DRBG",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": "hush",
        "listener.name.x.plain.sasl.jaas.config": "hush",
    }
    assert list(ignored_keys(texts)) == [
        "ssl.provider=BC is ignored: it chooses between implementations of Java",
        "listener.name.x.ssl.secure.random.implementation=DRBG is ignored: it chooses between "
        "implementations of Java",
        "sasl.kerberos.service.name=kafka is ignored: Kerberos (GSSAPI) is not supported",
        "sasl.jaas.config is ignored: set listener.name.<listener>.<mechanism>.sasl.jaas.config",
    ]


def test_a_key_of_security_that_no_listener_uses_warns() -> None:
    """Its owner believes that the listeners are closed."""
    texts = {"ssl.keystore.location": "/k", "ssl.client.auth": "none", "sasl.jaas.config": "hush"}
    tls, sasl = unused_security(texts, {"PLAINTEXT"})
    assert tls.startswith("ssl.keystore.location has no effect: no listener is SSL or SASL_SSL")
    assert sasl.startswith("sasl.jaas.config has no effect: no listener is SASL_PLAINTEXT or")
    assert list(unused_security(texts, {"SASL_SSL", "PLAINTEXT"})) == []
    assert len(list(unused_security(texts, {"SASL_PLAINTEXT"}))) == 1
    assert list(unused_security({"ssl.client.auth": "none"}, {"PLAINTEXT"})) == []


def test_passwords_are_never_shown() -> None:
    assert shown("listener.name.x.plain.sasl.jaas.config", "p") == "[hidden]"
    assert shown("listener.name.x.ssl.key.pasword", "p") == "[hidden]"
    assert shown("listener.name.x.ssl.client.auth", "none") == "none"
    assert shown("ssl.key.password", "p") == "[hidden]"
    assert shown("num.partitions", "3") == "3"


def test_defaults_are_recognised_by_value() -> None:
    assert is_default("num.partitions", " 1")
    assert not is_default("num.partitions", "2")
    assert not is_default("num.partitions", "x")
    assert not is_default("node.id", "1")
