"""All types for the security of listeners and connections, for modules that use TLS or SASL.

A node without security loads only `broker.config.listener_security`.
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
