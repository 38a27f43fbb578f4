"""The class that a principal builder extends: it decides which principal a connection has.

It is Kafka's `KafkaPrincipalBuilder`; its argument, `Peer`, is Kafka's `AuthenticationContext`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple


class Peer(NamedTuple):
    """The client of a connection, and how it authenticated."""

    usual: str | None
    """The principal that the connection has without a builder, such as `User:alice`. It is
    `User:ANONYMOUS` if the listener authenticates no clients, and None if no rule of
    `ssl.principal.mapping.rules` matches."""
    listener: str
    security_protocol: str
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    host: str
    """The client's IP address. An IPv6 address is written in full, as Java's `getHostAddress` does:
    `0:0:0:0:0:0:0:1`. A link-local address ends with the number of its interface,
    `fe80:0:0:0:0:0:0:1%2`. `ipaddress.ip_address` parses all of these."""
    mechanism: str | None = None
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; None without SASL."""
    user: str | None = None
    """The user that logged in by SASL; None without SASL."""
    certificate_name: str | None = None
    """The distinguished name of the client's certificate, `CN=alice,O=Acme`. None if the client
    sent no certificate, or was not asked for one."""
    certificate_alternative_names: tuple[str, ...] = ()
    """The subject alternative names of the certificate: `DNS:alice.example.org`,
    `URI:spiffe://example.org/alice`, `IP:` and an address as in `host`."""


class PrincipalBuilder(ABC):
    """The class that `principal.builder.class` names, also behind `listener.name.<listener>.`. Each
    listener has an object of its own.

    It is called on the event loop, once for each connection, and again when a client authenticates
    again; then it must return the same principal. If it raises, the connection is rejected.
    """

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Read the node's settings. Does nothing unless a subclass overrides it. The broker calls
        this once, before the first connection; if it raises, the node does not start.

        Settings with the listener's prefix are in `settings` under their plain names too.
        """

    @abstractmethod
    def principal(self, peer: Peer) -> str:
        """Return the client's principal as `Type:name`, such as `User:alice`, with at most 1,000
        characters. Quotas, ACLs and logs use it. Any other value, or an exception, rejects the
        connection."""
