"""A node's whole configuration with secured listeners."""

from __future__ import annotations

import pytest

from broker.config.authorizer import STANDARD_AUTHORIZER
from broker.config.endpoints import ListenerLimits
from broker.config.parse import parse_config
from broker.config.security_settings import PLAINTEXT_CLIENT
from ground.config_def import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
PROTOCOLS = "listener.security.protocol.map"
JAAS = f'{PLAIN} required username="b" password="hush" user_b="hush";'
NODE = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CTL",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "IN://localhost:9091,OUT://localhost:9092,CTL://localhost:9093",
    "advertised.listeners": "IN://localhost:9091,OUT://localhost:9092",
    "listener.security.protocol.map": "IN:SASL_PLAINTEXT,OUT:SASL_SSL,CTL:SSL",
    "inter.broker.listener.name": "IN",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.in.plain.sasl.jaas.config": JAAS,
    "listener.name.out.plain.sasl.jaas.config": JAAS,
    "listener.name.ctl.ssl.client.auth": "required",
    "ssl.keystore.location": "/k",
}


def refused(**changes: str | None) -> ConfigError:
    texts: dict[str, str | None] = {**NODE}
    texts |= {name.replace("_", "."): text for name, text in changes.items()}
    with pytest.raises(ConfigError) as error:
        parse_config({name: text for name, text in texts.items() if text is not None})
    assert "\n" not in str(error.value) and "hush" not in str(error.value)
    return error.value


def test_each_listener_and_both_client_halves() -> None:
    config = parse_config(NODE)
    assert config.warnings == ()
    protocols = {name: one.security_protocol for name, one in config.listener_security.items()}
    assert protocols == {"IN": "SASL_PLAINTEXT", "OUT": "SASL_SSL", "CTL": "SSL"}
    tls = config.listener_security["CTL"].tls
    assert tls is not None and (tls.client_auth, tls.keystore_location) == ("required", "/k")
    assert config.inter_broker_security.security_protocol == "SASL_PLAINTEXT"
    assert config.controller_security.security_protocol == "SSL"
    assert config.controller_security.mechanism is None
    assert "hush" not in repr(config)


def test_a_node_of_plain_listeners() -> None:
    texts = {name: text for name, text in NODE.items() if not name.startswith("listener.name")}
    config = parse_config(
        {**texts, "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT,CTL:PLAINTEXT"}
    )
    assert {one.security_protocol for one in config.listener_security.values()} == {"PLAINTEXT"}
    assert config.inter_broker_security == config.controller_security == PLAINTEXT_CLIENT
    assert config.listener_limits == {}


def test_limits_of_a_listener() -> None:
    config = parse_config(
        {
            **NODE,
            "max.connections": "100",
            "listener.name.out.max.connections": "7",
            "listener.name.out.num.network.threads": "2",
            "listener.name.in.num.network.threads": "1",
        }
    )
    assert config.max_connections == 100
    assert config.listener_limits == {"OUT": ListenerLimits(7, 2), "IN": ListenerLimits(None, 1)}


def test_the_listener_between_brokers_may_be_named_by_its_protocol() -> None:
    texts = {
        **NODE,
        "listeners": "SASL_SSL://localhost:9092,CTL://localhost:9093",
        "advertised.listeners": "SASL_SSL://localhost:9092",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CTL:PLAINTEXT",
        "security.inter.broker.protocol": "SASL_SSL",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": JAAS,
    }
    texts = {
        name: text
        for name, text in texts.items()
        if name != "inter.broker.listener.name"
        and not name.startswith(("listener.name.in.", "listener.name.out.", "listener.name.ctl."))
    }
    config = parse_config(texts)
    assert config.inter_broker_listener_name == "SASL_SSL"
    assert config.inter_broker_security.security_protocol == "SASL_SSL"


def test_a_protocol_without_a_listener_is_refused() -> None:
    error = refused(inter_broker_listener_name=None, security_inter_broker_protocol="SSL")
    assert error.name == "security.inter.broker.protocol"
    assert "security.inter.broker.protocol=SSL, but no listener has that name (IN,OUT)" in str(
        error
    )


def test_two_ways_to_name_the_listener_between_brokers_are_refused() -> None:
    error = refused(security_inter_broker_protocol="SASL_PLAINTEXT")
    assert "Only one of inter.broker.listener.name and security.inter.broker.protocol" in str(error)


def test_what_is_missing_or_wrong_is_named() -> None:
    assert refused(sasl_enabled_mechanisms=None).name == "listener.name.in.sasl.enabled.mechanisms"
    assert refused(listener_name_in_plain_sasl_jaas_config=None).name == (
        "listener.name.in.plain.sasl.jaas.config"
    )
    mechanism = "sasl.mechanism.inter.broker.protocol"
    assert refused(sasl_mechanism_inter_broker_protocol=None).name == mechanism
    assert refused(sasl_mechanism_inter_broker_protocol="SCRAM-SHA-256").name == mechanism
    assert refused(ssl_client_auth="maybe").name == "ssl.client.auth"
    assert refused(listener_name_ctl_ssl_client_auth="maybe").name == (
        "listener.name.ctl.ssl.client.auth"
    )
    assert refused(listener_name_out_max_connections="x").name == (
        "listener.name.out.max.connections"
    )
    assert refused(connections_max_reauth_ms="x").name == "connections.max.reauth.ms"
    assert refused(listener_name_out_principal_builder_class="a.B").name == (
        "listener.name.out.principal.builder.class"
    )
    assert "a property of Java" in str(refused(java_security_auth_login_config="/jaas.conf"))


def test_keys_without_effect_are_warned_about() -> None:
    config = parse_config(
        {
            **NODE,
            "listener.name.gone.ssl.client.auth": "none",
            "ssl.keymanager.algorithm": "PKIX",
            "listener.name.ctl.ssl.provider": "BC",
            "sasl.kerberos.service.name": "kafka",
            "sasl.jaas.config": JAAS,
        }
    )
    names = [line.split("=")[0].split(" is ")[0] for line in config.warnings]
    assert sorted(names) == [
        "listener.name.ctl.ssl.provider",
        "listener.name.gone.ssl.client.auth",
        "sasl.jaas.config",
        "sasl.kerberos.service.name",
        "ssl.keymanager.algorithm",
    ]
    assert "hush" not in " ".join(config.warnings)


OPEN = "listener CTL ({}) needs no login, and is enough to change everything in this cluster"
CLIENT_AUTH = "listener.name.ctl.ssl.client.auth"


@pytest.mark.parametrize(
    ("changes", "open_protocol"),
    [
        ({}, None),
        ({CLIENT_AUTH: "requested"}, "SSL"),
        ({CLIENT_AUTH: "none", "authorizer.class.name": STANDARD_AUTHORIZER}, None),
        ({CLIENT_AUTH: "none", PROTOCOLS: "IN:PLAINTEXT,OUT:SASL_SSL,CTL:SSL"}, None),
        (
            {CLIENT_AUTH: None, PROTOCOLS: "IN:SASL_PLAINTEXT,OUT:SASL_SSL,CTL:PLAINTEXT"},
            "PLAINTEXT",
        ),
    ],
)
def test_a_controller_without_a_lock_behind_locked_doors_is_named(
    changes: dict[str, str | None], open_protocol: str | None
) -> None:
    texts = {name: text for name, text in {**NODE, **changes}.items() if text is not None}
    found = [one for one in parse_config(texts).warnings if "needs no login" in one]
    assert [one.partition(", though")[0] for one in found] == (
        [] if open_protocol is None else [OPEN.format(open_protocol)]
    )
