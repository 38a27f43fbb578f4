"""The reload of TLS stores in a running node: new certificates for new connections.

`ListenerTls` is for a listener, `ClientTls` for connections to other nodes.

Owns the context of new connections, and the settings that it was made of. A reload reads all stores
again, even if their paths are the same. If a store cannot be loaded, the reload fails and nothing
changes. Open connections keep their context. Never handles a connection itself.

Follows KIP-226 (dynamic keystores), KIP-1119 (changes of names), and a running Kafka in the
changes that it rejects.
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
    """The TLS context of one listener, which can be reloaded."""

    def __init__(self, key_prefix: str, tls: TlsSettings, *, between_nodes: bool = False) -> None:
        """Load the stores. `between_nodes`: other nodes connect to this listener, so its truststore
        must trust its keystore. Raises ConfigError if that is not so, or a store cannot be
        loaded."""
        self._key_prefix = key_prefix
        self._between_nodes = between_nodes
        self._loaded = _load(key_prefix, tls, between_nodes)

    @property
    def context(self) -> ssl.SSLContext:
        """The context of new connections."""
        return self._loaded.context

    @property
    def settings(self) -> TlsSettings:
        """The settings that `context` was made of."""
        return self._loaded.settings

    def check(self, tls: TlsSettings) -> None:
        """Read the stores that `tls` names, and change nothing. Raises ConfigError if a reload
        would fail."""
        self._load_checked(tls)

    def reload(self, tls: TlsSettings) -> None:
        """Read the stores that `tls` names, and use them for new connections. Raises ConfigError if
        they are rejected; then nothing changes."""
        self._loaded = self._load_checked(tls)

    def _load_checked(self, tls: TlsSettings) -> _Loaded:
        """Load the new stores and return them, without using them.

        Raises ConfigError if they cannot be loaded, or change the certificate's names although the
        current settings do not allow it. Also if nodes with old and new stores would not trust each
        other.
        """
        old, new = self._loaded, _load(self._key_prefix, tls, self._between_nodes)
        key = keystore_key(self._key_prefix, tls)
        _check_names(key, old.settings, old.names, new.names)
        if old.client_half is None or new.client_half is None:
            return new
        # If the old stores reject each other, they have expired, and are no test for new stores.
        if refusal(old.client_half, old.context) is None:
            # The other nodes still have stores like the old ones.
            check_connects(key, old.client_half, new.context)
            check_connects(key, new.client_half, old.context)
        return new


class ClientTls:
    """The TLS context of connections to other nodes, which can be reloaded.

    Its truststore need not trust its keystore: another node's truststore checks the client's
    certificate.
    """

    def __init__(self, key_prefix: str, tls: TlsSettings) -> None:
        """Load the stores. Raises ConfigError."""
        self._key_prefix = key_prefix
        self._settings = tls
        self.context, self._names = _load_client(key_prefix, tls)
        """The context of new connections; callers only read it."""

    def check(self, tls: TlsSettings) -> None:
        """Read the stores that `tls` names, and change nothing. Raises ConfigError if a reload
        would fail."""
        self._load_checked(tls)

    def reload(self, tls: TlsSettings) -> None:
        """Read the stores that `tls` names, and use them for new connections. Raises ConfigError if
        they are rejected; then nothing changes."""
        self.context, self._names = self._load_checked(tls)
        self._settings = tls

    def _load_checked(self, tls: TlsSettings) -> tuple[ssl.SSLContext, _Names | None]:
        """Load the new stores and return their context and names, without using them.

        Raises ConfigError if they cannot be loaded, or if the certificate's names change although
        the current settings do not allow it.
        """
        context, names = _load_client(self._key_prefix, tls)
        if self._names is not None and names is not None:
            key = keystore_key(self._key_prefix, tls)
            _check_names(key, self._settings, self._names, names)
        return context, names


@dataclass(frozen=True, slots=True)
class _Names:
    """The names in a certificate."""

    distinguished: str
    alternative: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A listener's context, with the settings and the names of its certificate."""

    settings: TlsSettings
    context: ssl.SSLContext
    client_half: ssl.SSLContext | None
    """The context with which another node connects; None: no other node connects."""
    names: _Names


def _load(key_prefix: str, tls: TlsSettings, between_nodes: bool) -> _Loaded:
    """Load a listener's stores and return their contexts and names.

    Raises ConfigError if they are wrong, or if nodes could not connect to each other with them.
    """
    context, own = server_context_and_certificate(key_prefix, tls)
    client_half = nodes_client_context(key_prefix, tls) if between_nodes else None
    key = keystore_key(key_prefix, tls)
    if client_half is not None:
        check_connects(key, client_half, context)
    return _Loaded(tls, context, client_half, _names_of(key, own))


def _load_client(key_prefix: str, tls: TlsSettings) -> tuple[ssl.SSLContext, _Names | None]:
    """Return the TLS context of a client and the names in its certificate; None: it has no
    certificate. Raises ConfigError if a store cannot be loaded."""
    context, own = client_context_and_certificate(key_prefix, tls)
    return context, None if own is None else _names_of(keystore_key(key_prefix, tls), own)


def _names_of(key: str, certificate: bytes) -> _Names:
    """Return the certificate's names. Raises ConfigError if they are malformed."""
    try:
        return _Names(distinguished_name(certificate), subject_alternative_names(certificate))
    except DerError as error:
        raise ConfigError(
            key, f"{key}: the names in the certificate are broken: {error}."
        ) from None


def _check_names(key: str, settings: TlsSettings, before: _Names, after: _Names) -> None:
    """Raise ConfigError if the distinguished name changes or an alternative name is missing, unless
    `settings`, those before the reload, allow it.

    The new settings cannot allow it, because `ssl.allow.dn.changes` and `ssl.allow.san.changes`
    apply from a start only.
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
