"""What the network asks about a new connection."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker.config.security_settings import ListenerSecurity, MechanismSettings, SaslSettings
from broker.security.listener_guard import BuildPrincipal, ListenerGuard, NoPrincipal
from broker.security.logins import Logins
from ground.config_def import ConfigError
from ottla.plugins.principal import Peer
from tests import certificates

TLS = certificates.pem_values(certificates.server(), certificates.authority())
SASL = SaslSettings((MechanismSettings("PLAIN"),), failed_authentication_delay_ms=250)


HOST = "1.2.3.4"


def named(_mechanism: str, user: str) -> str:
    return f"User:{user}"


def guard(
    security: ListenerSecurity, build_principal: BuildPrincipal | None = None
) -> ListenerGuard:
    def never(_name: str) -> None:
        raise AssertionError

    return ListenerGuard(
        security,
        Logins("L", 1, float),
        never,
        lambda *_: None,
        between_nodes=False,
        build_principal=build_principal,
    )


def test_tls_alone_has_a_context_and_names() -> None:
    made = guard(ListenerSecurity("L", "SSL", replace(TLS, client_auth="requested")))
    assert made.tls_context is not None
    assert made.authenticator(bytes, named) is None
    assert made.refusal_delay_s == 0
    assert made.principal_by_certificate(None, HOST) == "User:ANONYMOUS"
    alice = certificates.client().der
    assert made.principal_by_certificate(alice, HOST) == "User:CN=alice,OU=Data,O=Acme,C=AT"


def test_a_certificate_that_nobody_asked_for_names_nobody() -> None:
    made = guard(ListenerSecurity("L", "SSL", TLS))
    alice = certificates.client().der
    assert made.principal_by_certificate(alice, HOST) == "User:ANONYMOUS"


def test_a_name_that_no_rule_maps_is_nobody() -> None:
    rules = replace(TLS, client_auth="required", principal_mapping_rules="RULE:^CN=bob$/b/")
    made = guard(ListenerSecurity("L", "SSL", rules))
    with pytest.raises(NoPrincipal, match="no rule of ssl.principal.mapping.rules"):
        made.principal_by_certificate(certificates.client().der, HOST)


def test_a_builder_has_the_last_word_and_is_told_how_the_peer_came_in() -> None:
    told: list[Peer] = []

    def name(peer: Peer) -> str:
        told.append(peer)
        return f"User:{len(told)}"

    alice = certificates.client().der
    asked = replace(TLS, client_auth="required", principal_mapping_rules="RULE:^CN=bob$/b/")
    assert guard(ListenerSecurity("P", "PLAINTEXT"), name).principal_by_certificate(None, HOST) == (
        "User:1"
    )
    guard(ListenerSecurity("T", "SSL", asked), name).principal_by_certificate(alice, HOST)
    both = guard(ListenerSecurity("B", "SASL_SSL", asked, SASL), name)
    assert both.principal_by_sasl("PLAIN", "al", alice, HOST) == "User:3"
    unasked = guard(ListenerSecurity("U", "SASL_SSL", TLS, SASL), name)
    unasked.principal_by_sasl("PLAIN", "al", alice, HOST)
    certificate = "CN=alice,OU=Data,O=Acme,C=AT", told[1].certificate_alternative_names
    assert told == [
        Peer("User:ANONYMOUS", "P", "PLAINTEXT", HOST),
        Peer(None, "T", "SSL", HOST, None, None, *certificate),
        Peer("User:al", "B", "SASL_SSL", HOST, "PLAIN", "al", *certificate),
        Peer("User:al", "U", "SASL_SSL", HOST, "PLAIN", "al"),
    ]


def test_a_certificate_whose_names_cannot_be_read_is_nobodys() -> None:
    asked = replace(TLS, client_auth="required")
    made = guard(ListenerSecurity("T", "SSL", asked), lambda _: "User:x")
    with pytest.raises(NoPrincipal, match="cannot be read"):
        made.principal_by_certificate(b"nonsense", HOST)


def test_without_a_builder_the_login_names_the_peer() -> None:
    made = guard(ListenerSecurity("L", "SASL_PLAINTEXT", sasl=SASL))
    assert made.principal_by_sasl("PLAIN", "al", None, HOST) == "User:al"


def test_sasl_has_an_authenticator_for_each_connection_and_a_delay() -> None:
    made = guard(ListenerSecurity("L", "SASL_PLAINTEXT", sasl=SASL))
    assert made.tls_context is None
    first, second = made.authenticator(bytes, named), made.authenticator(bytes, named)
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
