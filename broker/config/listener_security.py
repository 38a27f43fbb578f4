"""The security of a listener or of a connection to another node, in the form that every node has.

Named tuples, apart from the TLS and SASL settings (`broker.config.tls_and_sasl`): a node without
security does not load those, because a start must stay fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker.config.plugins import PythonClass
    from broker.config.tls_and_sasl import MechanismSettings, SaslSettings, TlsSettings


class ListenerSecurity(NamedTuple):
    """The security of a listener, its server half."""

    listener_name: str
    security_protocol: str
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    tls: TlsSettings | None = None
    """The settings for SSL and SASL_SSL."""
    sasl: SaslSettings | None = None
    """The settings for SASL_PLAINTEXT and SASL_SSL."""
    principal_builder: PythonClass | None = None
    """The class that names the listener's clients; None: the built-in one."""


class ClientSecurity(NamedTuple):
    """The security of connections from this node, or a command, to a node: the client half."""

    security_protocol: str = "PLAINTEXT"
    tls: TlsSettings | None = None
    mechanism: MechanismSettings | None = None
    """The mechanism of the login, with the client's own credentials in `jaas`."""


PLAINTEXT_CLIENT = ClientSecurity()
