"""What the network asks about a new connection."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.config.security_settings import ListenerSecurity, MechanismSettings, SaslSettings
from broker.security.listener_guard import ListenerGuard
from broker.security.logins import Logins
from storage.config_def import ConfigError
from tests import certificates

TLS = certificates.pem_values(certificates.server(), certificates.authority())
SASL = SaslSettings((MechanismSettings("PLAIN"),), failed_authentication_delay_ms=250)


def guard(security: ListenerSecurity) -> ListenerGuard:
    def never(_name: str) -> None:
        raise AssertionError

    return ListenerGuard(
        security, Logins("L", 1, float), never, lambda *_: None, between_nodes=False
    )


def test_tls_alone_has_a_context_and_names() -> None:
    made = guard(ListenerSecurity("L", "SSL", replace(TLS, client_auth="requested")))
    assert made.tls_context is not None
    assert made.authenticator(bytes) is None
    assert made.refusal_delay_s == 0
    assert made.principal_of(None) == "User:ANONYMOUS"
    alice = certificates.client().der
    assert made.principal_of(alice) == "User:CN=alice,OU=Data,O=Acme,C=AT"


def test_a_certificate_that_nobody_asked_for_names_nobody() -> None:
    made = guard(ListenerSecurity("L", "SSL", TLS))
    assert made.principal_of(certificates.client().der) == "User:ANONYMOUS"


def test_sasl_has_an_authenticator_for_each_connection_and_a_delay() -> None:
    made = guard(ListenerSecurity("L", "SASL_PLAINTEXT", sasl=SASL))
    assert made.tls_context is None
    first, second = made.authenticator(bytes), made.authenticator(bytes)
    assert first is not None and second is not None and first is not second
    assert made.refusal_delay_s == 0.25


def test_a_reload_gives_new_connections_another_context_and_a_bad_one_changes_nothing() -> None:
    security = ListenerSecurity("L", "SSL", TLS)
    bad = ListenerSecurity("L", "SSL", replace(TLS, truststore_certificates="nonsense"))
    made = guard(security)
    before = made.tls_context
    made.check(security)
    assert made.tls_context is before
    made.replace(security, None)
    after = made.tls_context
    assert after is not before
    no_rule = ListenerSecurity("L", "SSL", replace(TLS, principal_mapping_rules="RULE:"))
    for wrong in (bad, no_rule):
        with pytest.raises(ConfigError):
            made.check(wrong)
        with pytest.raises(ConfigError):
            made.replace(wrong, None)
    assert made.tls_context is after


def test_what_cannot_be_loaded_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="keystore"):
        guard(ListenerSecurity("L", "SSL", certificates.pem_values(None)))
