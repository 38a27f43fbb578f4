"""What a secured cluster's files say: keys that make a configuration, each with its reason."""

from __future__ import annotations

import re

import pytest

from broker.config.parse import parse_config
from broker.config.properties import parse_properties
from broker.config.security.client_properties import client_security, client_warnings
from command.cluster_layout import new_layout
from command.cluster_security import NodeSecurity, client_properties

NODE = NodeSecurity("/c/broker-1.pem", "/c/ca.pem", "pass-word_1")


@pytest.mark.parametrize("brokers", [1, 2, 3, 4])
def test_every_file_is_a_configuration_without_a_warning(brokers: int) -> None:
    layout = new_layout(brokers, 20_000)
    for node in layout.nodes:
        text = layout.properties(node, "/c/data", NODE)
        config = parse_config(parse_properties(text))
        assert config.warnings == ()
        assert config.is_secured
        protocols = {one.listener_name: one.security_protocol for one in config.listeners}
        assert protocols.pop("CONTROLLER", "SSL") == "SSL"
        assert protocols == {"SASL_SSL": "SASL_SSL"}
        mechanism = config.inter_broker_security.mechanism
        assert mechanism is not None and mechanism.jaas is not None
        assert mechanism.jaas.options["username"].value == "broker"
        assert mechanism.jaas.options["password"].value == "pass-word_1"


def test_every_key_has_a_line_that_says_why() -> None:
    layout = new_layout(3)
    lines = layout.properties(layout.nodes[0], "/c", NODE).splitlines()
    reasons = [lines[at - 1] for at, line in enumerate(lines) if re.match(r"[a-z0-9._-]+=", line)]
    assert [one for one in reasons if not one.startswith("# ")] == []
    assert sum("pass-word_1" in line for line in lines) == 1


def test_a_client_logs_in_by_its_file() -> None:
    text = client_properties("client", "secret", "localhost:1,localhost:2", "/c/ca.pem")
    keys = parse_properties(text)
    assert list(client_warnings(keys)) == []
    assert keys["bootstrap.servers"] == "localhost:1,localhost:2"
    security = client_security(keys)
    assert security.security_protocol == "SASL_SSL"
    assert security.tls is not None and security.tls.truststore_location == "/c/ca.pem"
    assert security.mechanism is not None and security.mechanism.name == "SCRAM-SHA-512"
