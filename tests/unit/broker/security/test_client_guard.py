from __future__ import annotations

import ssl
from typing import Any

import pytest

from broker.config.security_settings import (
    ClientSecurity,
    MechanismSettings,
    TlsSettings,
)
from broker.security.client_guard import PLAINTEXT_GUARD, ClientGuard
from broker.security.connect_failures import SpeaksTls
from ground.config_def import ConfigError
from tests.certificates import pem_values


def test_without_security_there_is_nothing_to_do() -> None:
    assert not PLAINTEXT_GUARD.is_secured
    assert not PLAINTEXT_GUARD.logs_in
    assert PLAINTEXT_GUARD.tls_context is None
    assert str(PLAINTEXT_GUARD) == "PLAINTEXT"


def test_it_says_of_which_kind_connections_are() -> None:
    login: Any = object()
    scram = ClientSecurity("SASL_SSL", pem_values(None), MechanismSettings("SCRAM-SHA-512"))
    guard = ClientGuard(scram, "", lambda client_id: (client_id, login))
    assert guard.login("me") == ("me", login)
    assert str(guard) == "SASL_SSL, SCRAM-SHA-512"
    assert guard.is_secured
    assert guard.logs_in
    assert isinstance(guard.tls_context, ssl.SSLContext)


def test_a_store_that_cannot_be_read_is_told_at_once_with_its_whole_key() -> None:
    broken = ClientSecurity("SSL", TlsSettings(truststore_location="/no/such"))
    with pytest.raises(ConfigError, match=r"listener\.name\.in\.ssl\.truststore\.location"):
        ClientGuard(broken, "listener.name.in.")


def test_a_failure_names_the_key_that_a_node_or_a_command_has() -> None:
    assert "but security.protocol says PLAINTEXT" in PLAINTEXT_GUARD.explain(SpeaksTls(), "b")
    node = ClientGuard(ClientSecurity(), "listener.name.in.")
    assert "listener.security.protocol.map says PLAINTEXT" in node.explain(SpeaksTls(), "b")


def test_new_connections_are_by_what_it_became() -> None:
    made = ClientSecurity("SSL", pem_values(None))
    guard = ClientGuard(made, "listener.name.in.")
    before = guard.tls_context
    broken = made._replace(tls=TlsSettings(truststore_location="/no/such"))
    for change in (guard.check, guard.replace):
        with pytest.raises(ConfigError, match=r"listener\.name\.in\.ssl\.truststore"):
            change(broken)
    assert guard.tls_context is before and guard.security is made
    guard.check(made)
    assert guard.tls_context is before
    guard.replace(made)
    assert guard.tls_context is not before
