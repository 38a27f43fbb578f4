"""How one listener, or one connection to another node, is secured: what every node has.

Named tuples, and apart from what TLS and SASL are told (`broker.config.tls_and_sasl`): a node
without security does not load that, for a start must stay fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker.config.plugins import PythonClass
    from broker.config.tls_and_sasl import MechanismSettings, SaslSettings, TlsSettings


class ListenerSecurity(NamedTuple):
    """The server half of one listener."""

    listener_name: str
    security_protocol: str
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    tls: TlsSettings | None = None
    """For SSL and SASL_SSL."""
    sasl: SaslSettings | None = None
    """For SASL_PLAINTEXT and SASL_SSL."""
    principal_builder: PythonClass | None = None
    """Who names its clients; None: what is built in."""


class ClientSecurity(NamedTuple):
    """The client half: how this node, or a command of ours, connects to a node."""

    security_protocol: str = "PLAINTEXT"
    tls: TlsSettings | None = None
    mechanism: MechanismSettings | None = None
    """What it logs in by, with its own credentials in `jaas`."""


PLAINTEXT_CLIENT = ClientSecurity()
