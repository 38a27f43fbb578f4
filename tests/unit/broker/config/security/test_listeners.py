"""How listeners are secured, and how a node connects to others."""

from __future__ import annotations

import pytest

from broker.config.endpoints import EndPoint
from broker.config.security.listeners import (
    PeerListeners,
    controller_security,
    inter_broker_security,
    listener_security,
    security_of_listener,
    security_warnings,
)
from broker.config.security_settings import ListenerSecurity, Secret, TlsSettings
from ground.config_def import ConfigError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
JAAS = f'{PLAIN} required username="b" password="hush" user_b="hush";'
SASL = {
    "listener.name.l.sasl.enabled.mechanisms": "PLAIN",
    "listener.name.l.plain.sasl.jaas.config": JAAS,
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.mechanism.controller.protocol": "PLAIN",
}


def peers(protocol: str, alone: bool = False) -> PeerListeners:
    return PeerListeners("L", "L", {"L": protocol}, alone)


def test_a_plain_listener_has_nothing() -> None:
    assert security_of_listener({}, "L", "PLAINTEXT") == ListenerSecurity("L", "PLAINTEXT")


def test_every_key_of_tls_has_its_field() -> None:
    values = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/k",
        "ssl.keystore.password": "kp",
        "ssl.key.password": "p",
        "ssl.keystore.key": "key",
        "ssl.keystore.certificate.chain": "chain",
        "ssl.truststore.type": "PKCS12",
        "ssl.truststore.location": "/t",
        "ssl.truststore.password": "tp",
        "ssl.truststore.certificates": "certs",
        "ssl.client.auth": "required",
        "ssl.enabled.protocols": "TLSv1.2",
        "ssl.protocol": "TLSv1.2",
        "ssl.cipher.suites": "A,B",
        "ssl.endpoint.identification.algorithm": "",
        "ssl.principal.mapping.rules": "RULE:a/b/,DEFAULT",
        "ssl.allow.dn.changes": "true",
        "ssl.allow.san.changes": "true",
    }
    wanted = TlsSettings(
        "PEM",
        "/k",
        Secret("kp"),
        Secret("p"),
        Secret("key"),
        "chain",
        "PKCS12",
        "/t",
        Secret("tp"),
        "certs",
        "required",
        ("TLSv1.2",),
        "TLSv1.2",
        ("A", "B"),
        "",
        "RULE:a/b/,DEFAULT",
        True,
        True,
    )
    assert security_of_listener(values, "L", "SSL").tls == wanted
    prefixed = {f"listener.name.l.{name}": text for name, text in values.items()}
    assert security_of_listener(prefixed, "L", "SSL").tls == wanted
    assert security_of_listener({}, "L", "SSL").tls == TlsSettings()


def test_sasl_ssl_asks_for_certificates_only_by_its_own_key() -> None:
    plain = {**SASL, "ssl.client.auth": "required"}
    made = listener_security(plain, [EndPoint("L", "SASL_SSL", None, 1)])
    assert made["L"].tls is not None and made["L"].tls.client_auth == "none"
    (line,) = security_warnings(plain, made)
    assert "set listener.name.l.ssl.client.auth to ask for certificates there" in line
    own = {**SASL, "listener.name.l.ssl.client.auth": "requested"}
    tls = security_of_listener(own, "L", "SASL_SSL").tls
    assert tls is not None and tls.client_auth == "requested"


def test_a_sasl_listener_has_its_mechanisms_in_their_order() -> None:
    texts = {
        **SASL,
        "listener.name.l.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "listener.name.l.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "listener.name.l.sasl.server.max.receive.size": "1000",
        "connection.failed.authentication.delay.ms": "7",
    }
    sasl = security_of_listener(texts, "L", "SASL_PLAINTEXT").sasl
    assert sasl is not None
    assert [one.name for one in sasl.mechanisms] == ["SCRAM-SHA-512", "PLAIN"]
    assert (sasl.server_max_receive_bytes, sasl.failed_authentication_delay_ms) == (1000, 7)
    assert sasl.mechanisms[1].jaas is not None
    assert sasl.mechanisms[1].jaas.options["user_b"] == Secret("hush")


def test_a_sasl_listener_without_settings_names_the_key_to_set() -> None:
    """GSSAPI is Kafka's default of every mechanism."""
    with pytest.raises(ConfigError) as refused:
        security_of_listener({}, "L", "SASL_PLAINTEXT")
    assert refused.value.name == "listener.name.l.sasl.enabled.mechanisms"
    assert "listener L (SASL_PLAINTEXT)" in str(refused.value)
    assert "GSSAPI" in str(refused.value) and "SCRAM-SHA-512" in str(refused.value)


def test_a_sasl_listener_without_mechanisms_is_refused() -> None:
    texts = {**SASL, "listener.name.l.sasl.enabled.mechanisms": ""}
    with pytest.raises(ConfigError, match="listener.name.l.sasl.enabled.mechanisms is empty"):
        security_of_listener(texts, "L", "SASL_SSL")


def test_the_client_half_reads_the_keys_of_the_same_listener() -> None:
    texts = {**SASL, "listener.name.l.ssl.truststore.location": "/t", "ssl.truststore.type": "PEM"}
    servers = listener_security(texts, [EndPoint("L", "SASL_SSL", None, 1)])
    for make in (inter_broker_security, controller_security):
        client = make(texts, peers("SASL_SSL"), servers)
        assert client.security_protocol == "SASL_SSL"
        assert client.tls is not None
        assert (client.tls.truststore_location, client.tls.truststore_type) == ("/t", "PEM")
        assert client.mechanism is not None and client.mechanism.jaas is not None
        assert client.mechanism.name == "PLAIN"
        assert client.mechanism.jaas.options["password"] == Secret("hush")


def test_nodes_without_the_listener_have_its_client_half() -> None:
    """A broker that is no controller does not listen where it connects to controllers."""
    client = controller_security(SASL, peers("SASL_PLAINTEXT"), {})
    assert client.mechanism is not None and client.mechanism.name == "PLAIN"


def test_the_mechanism_between_nodes_must_be_enabled() -> None:
    texts = {**SASL, "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256"}
    servers = listener_security(texts, [EndPoint("L", "SASL_PLAINTEXT", None, 1)])
    with pytest.raises(ConfigError) as refused:
        inter_broker_security(texts, peers("SASL_PLAINTEXT"), servers)
    assert refused.value.name == "sasl.mechanism.inter.broker.protocol"
    assert "must be included in listener.name.l.sasl.enabled.mechanisms" in str(refused.value)


def test_the_default_mechanism_between_nodes_is_refused_by_name() -> None:
    texts = {name: text for name, text in SASL.items() if "controller" not in name}
    servers = listener_security(texts, [EndPoint("L", "SASL_PLAINTEXT", None, 1)])
    with pytest.raises(ConfigError, match=r"sasl\.mechanism\.controller\.protocol: .*GSSAPI"):
        controller_security(texts, peers("SASL_PLAINTEXT"), servers)


def test_a_node_that_others_need_logs_in_by_a_password() -> None:
    texts = {**SASL, "listener.name.l.plain.sasl.jaas.config": f'{PLAIN} required user_b="hush";'}
    servers = listener_security(texts, [EndPoint("L", "SASL_PLAINTEXT", None, 1)])
    with pytest.raises(ConfigError, match="has no username and no password") as refused:
        inter_broker_security(texts, peers("SASL_PLAINTEXT"), servers)
    assert "hush" not in str(refused.value)
    alone = inter_broker_security(texts, peers("SASL_PLAINTEXT", alone=True), servers)
    assert alone.mechanism is not None
    assert list(security_warnings(texts, servers)) == [], "a node that is alone logs in to nobody"
