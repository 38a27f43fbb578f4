"""Each secured listener of a node has a guard, and no other one."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from broker.config.parse import single_node_config
from broker.config.security_settings import ListenerSecurity, MechanismSettings, SaslSettings
from broker.node.guards import Guards
from tests import certificates

TLS = certificates.pem_values(certificates.server(), certificates.authority())
SASL = SaslSettings((MechanismSettings("SCRAM-SHA-256"),))


def test_a_listener_has_a_guard_if_it_is_secured() -> None:
    config = single_node_config()._replace(
        listener_security=MappingProxyType(
            {
                "PLAINTEXT": ListenerSecurity("PLAINTEXT", "PLAINTEXT"),
                "TLS": ListenerSecurity("TLS", "SSL", replace(TLS, client_auth="required")),
                "BOTH": ListenerSecurity("BOTH", "SASL_SSL", TLS, SASL),
            }
        )
    )
    guards = Guards(config, lambda *_: None, bytes, float)
    assert guards.guard("PLAINTEXT", lambda *_: None) is None
    tls, both = (guards.guard(name, lambda *_: None) for name in ("TLS", "BOTH"))
    assert tls is not None and tls.authenticator(bytes) is None
    assert both is not None and both.authenticator(bytes) is not None
    assert [one.listener_name for one in guards.logins()] == ["TLS", "BOTH"]
