"""Who is at the other end of a connection: the class that a principal builder of one's own extends.

As Kafka's `KafkaPrincipalBuilder`; what it is told is the `AuthenticationContext` there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple


class Peer(NamedTuple):
    """How a connection has authenticated."""

    usual: str | None
    """The principal that it has without a builder, such as `User:alice`; `User:ANONYMOUS` where
    nobody was asked; None where no rule of `ssl.principal.mapping.rules` matches."""
    listener: str
    security_protocol: str
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    host: str
    """The client's address. Of IPv6 it is in full, as Java's `getHostAddress` has it:
    `0:0:0:0:0:0:0:1`, a link-local one with the number of its interface, `fe80:0:0:0:0:0:0:1%2`.
    `ipaddress.ip_address` reads it."""
    mechanism: str | None = None
    """PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER; None without SASL."""
    user: str | None = None
    """Who logged in by it."""
    certificate_name: str | None = None
    """The distinguished name of the client's certificate, `CN=alice,O=Acme`; None where it showed
    none, or was not asked for one."""
    certificate_alternative_names: tuple[str, ...] = ()
    """Its further names: `DNS:alice.example.org`, `URI:spiffe://example.org/alice`,
    `IP:` and an address as in `host`."""


class PrincipalBuilder(ABC):
    """Names each connection that has authenticated (`principal.builder.class`, also behind
    `listener.name.<listener>.`). There is one object for each listener.

    It is asked on the event loop, once a connection, and again when a client logs in again: then
    the answer must be the same. One that raises refuses the connection.
    """

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027  not all need it
        """Called once, before the first question. `settings` are those of the node; what is set
        behind the listener's prefix stands under its plain name, too."""

    @abstractmethod
    def principal(self, peer: Peer) -> str:
        """`Type:name`, such as `User:alice`. Quotas, ACLs and logs know the client by this."""
