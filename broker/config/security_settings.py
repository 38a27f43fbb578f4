"""All types of what secures a listener or a connection, for those that need TLS or SASL anyway.

A node without security loads `broker.config.listener_security` alone.
"""

from __future__ import annotations

from broker.config.listener_security import PLAINTEXT_CLIENT, ClientSecurity, ListenerSecurity
from broker.config.tls_and_sasl import (
    JaasEntry,
    MechanismSettings,
    OAuthSettings,
    SaslSettings,
    Secret,
    TlsSettings,
)

__all__ = [
    "PLAINTEXT_CLIENT",
    "ClientSecurity",
    "JaasEntry",
    "ListenerSecurity",
    "MechanismSettings",
    "OAuthSettings",
    "SaslSettings",
    "Secret",
    "TlsSettings",
]
