"""How a command connects, from Kafka's client keys."""

from __future__ import annotations

import pytest

from broker.config.security.client_properties import client_security, client_warnings
from broker.config.security_settings import PLAINTEXT_CLIENT, Secret
from ground.config_def import ConfigError

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
FILE = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": f'{SCRAM} required username="u" password="hush";',
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "/ca.pem",
    "ssl.endpoint.identification.algorithm": "",
}


def test_without_keys_it_is_plain_text() -> None:
    assert client_security({}) == PLAINTEXT_CLIENT


def test_tls_and_a_mechanism() -> None:
    made = client_security(FILE)
    assert made.security_protocol == "SASL_SSL"
    assert made.tls is not None
    assert (made.tls.truststore_type, made.tls.truststore_location) == ("PEM", "/ca.pem")
    assert made.tls.endpoint_identification_algorithm == ""
    assert made.mechanism is not None and made.mechanism.jaas is not None
    assert made.mechanism.name == "SCRAM-SHA-512"
    assert made.mechanism.jaas.options["password"] == Secret("hush")
    assert "hush" not in repr(made)
    assert list(client_warnings(FILE)) == []


def test_tls_alone_needs_no_mechanism() -> None:
    made = client_security({"security.protocol": "ssl"})
    assert made.tls is not None and made.mechanism is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"security.protocol": "TLS"}, "Invalid value TLS for configuration security.protocol"),
        ({"sasl.mechanism": "GSSAPI"}, "sasl.mechanism: .*GSSAPI"),
        ({"sasl.jaas.config": f"{SCRAM} required;"}, "has no username and no password"),
        ({"sasl.jaas.config": "x"}, "sasl.jaas.config: "),
        ({"ssl.client.auth": "maybe"}, "ssl.client.auth"),
    ],
)
def test_what_cannot_work_is_refused_by_its_key(changes: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why) as refused:
        client_security({**FILE, **changes})
    assert "hush" not in str(refused.value)


def test_a_mechanism_and_its_text_must_be_set() -> None:
    with pytest.raises(ConfigError, match="set sasl.mechanism to one of PLAIN"):
        client_security({"security.protocol": "SASL_SSL"})
    with pytest.raises(ConfigError, match="sasl.jaas.config is not set: "):
        client_security({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"})


def test_keys_that_are_ignored_are_named() -> None:
    texts = {
        "bootstrap.servers": "x:1",
        "request.timeout.ms": "5",
        "ssl.provider": "BC",
        "sasl.kerberos.service.name": "kafka",
        "security.protocl": "SSL",
    }
    assert list(client_warnings(texts)) == [
        "ssl.provider is ignored: Ottla does not support this key in a client",
        "sasl.kerberos.service.name is ignored: Ottla does not support this key in a client",
        "security.protocl is ignored: it is not a key of a client",
    ]


def test_a_file_that_is_something_else_is_warned_of_in_one_line() -> None:
    assert list(client_warnings(dict.fromkeys(("root", "daemon", "bin", "sys", "sync"), ""))) == [
        "root, daemon, bin and 2 more are ignored: are they keys of a client?"
    ]
