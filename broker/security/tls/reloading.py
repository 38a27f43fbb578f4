"""TLS that changes while it is used: new certificates for new connections.

Both halves: `ListenerTls` serves, `ClientTls` is how this node connects to others.

Owns the context that new connections get, and the settings that it was made of. A reload reads all
stores again, also under the same paths; what cannot be loaded is refused and changes nothing. Open
connections keep what they have. Serves no connection itself.

Follows KIP-226 (dynamic keystores), KIP-1119 (changes of names), and a running Kafka 4.3 in what it
refuses.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from broker.config.security_settings import TlsSettings
from broker.security.tls.contexts import (
    client_context_and_certificate,
    server_context_and_certificate,
)
from broker.security.tls.der import DerError
from broker.security.tls.peer_certificate import distinguished_name, subject_alternative_names
from broker.security.tls.self_trust import check_connects, nodes_client_context, refusal
from broker.security.tls.stores import keystore_key
from ground.config_def import ConfigError


class ListenerTls:
    """The server half of one listener. `between_nodes`: other nodes connect to it, so its keystore
    must be trusted by its own truststore. ConfigError: it cannot start with these settings."""

    def __init__(self, key_prefix: str, tls: TlsSettings, *, between_nodes: bool = False) -> None:
        self._key_prefix = key_prefix
        self._between_nodes = between_nodes
        self._loaded = _load(key_prefix, tls, between_nodes)

    @property
    def context(self) -> ssl.SSLContext:
        """What new connections get."""
        return self._loaded.context

    @property
    def settings(self) -> TlsSettings:
        """What `context` was made of."""
        return self._loaded.settings

    def check(self, tls: TlsSettings) -> None:
        """Read the stores that `tls` names, and keep what is served. ConfigError: a reload would
        refuse them."""
        self._read(tls)

    def reload(self, tls: TlsSettings) -> None:
        """Read the stores anew. ConfigError: they are refused, and all stays as it was."""
        self._loaded = self._read(tls)

    def _read(self, tls: TlsSettings) -> _Loaded:
        old, new = self._loaded, _load(self._key_prefix, tls, self._between_nodes)
        key = keystore_key(self._key_prefix, tls)
        _check_names(key, old.settings, old.names, new.names)
        if old.client_half is None or new.client_half is None:
            return new
        if refusal(old.client_half, old.context) is None:  # else it has expired, and tells nothing
            # While the other nodes of the cluster have what this one had.
            check_connects(key, old.client_half, new.context)
            check_connects(key, new.client_half, old.context)
        return new


class ClientTls:
    """The client half of one listener of others. ConfigError: it cannot be with these settings.

    Whether its own keystore is trusted by the truststore beside it is no matter here: a client
    trusts servers, and shows its certificate to somebody else's truststore.
    """

    def __init__(self, key_prefix: str, tls: TlsSettings) -> None:
        self._key_prefix = key_prefix
        self._settings = tls
        self.context, self._names = _load_client(key_prefix, tls)
        """What new connections get; to be read only."""

    def check(self, tls: TlsSettings) -> None:
        """See `ListenerTls`."""
        self._read(tls)

    def reload(self, tls: TlsSettings) -> None:
        """See `ListenerTls`."""
        self.context, self._names = self._read(tls)
        self._settings = tls

    def _read(self, tls: TlsSettings) -> tuple[ssl.SSLContext, _Names | None]:
        context, names = _load_client(self._key_prefix, tls)
        if self._names is not None and names is not None:
            key = keystore_key(self._key_prefix, tls)
            _check_names(key, self._settings, self._names, names)
        return context, names


@dataclass(frozen=True, slots=True)
class _Names:
    """Those in a certificate."""

    distinguished: str
    alternative: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What was made of settings and their stores at one moment."""

    settings: TlsSettings
    context: ssl.SSLContext
    client_half: ssl.SSLContext | None
    """As another node would connect; None where none does."""
    names: _Names


def _load(key_prefix: str, tls: TlsSettings, between_nodes: bool) -> _Loaded:
    context, own = server_context_and_certificate(key_prefix, tls)
    client_half = nodes_client_context(key_prefix, tls) if between_nodes else None
    key = keystore_key(key_prefix, tls)
    if client_half is not None:
        check_connects(key, client_half, context)
    return _Loaded(tls, context, client_half, _names(key, own))


def _load_client(key_prefix: str, tls: TlsSettings) -> tuple[ssl.SSLContext, _Names | None]:
    context, own = client_context_and_certificate(key_prefix, tls)
    return context, None if own is None else _names(keystore_key(key_prefix, tls), own)


def _names(key: str, certificate: bytes) -> _Names:
    try:
        return _Names(distinguished_name(certificate), subject_alternative_names(certificate))
    except DerError as error:
        raise ConfigError(
            key, f"{key}: the names in the certificate are broken: {error}."
        ) from None


def _check_names(key: str, settings: TlsSettings, before: _Names, after: _Names) -> None:
    """The node keeps its name, and all its further ones, unless `settings`, those it has, allow a
    change.

    New settings cannot allow it: these two are read at a start only.
    """
    if before.distinguished != after.distinguished and not settings.allow_dn_changes:
        raise ConfigError(
            key,
            f"{key}: the distinguished name changes from {before.distinguished} to "
            f"{after.distinguished}; ssl.allow.dn.changes=true at the start lets it.",
        )
    lost = [name for name in before.alternative if name not in after.alternative]
    if lost and not settings.allow_san_changes:
        raise ConfigError(
            key,
            f"{key}: the new certificate lacks {', '.join(lost)}; "
            "ssl.allow.san.changes=true at the start lets it.",
        )
