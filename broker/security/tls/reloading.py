"""TLS of one listener that changes while it serves: new certificates for new connections.

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
from broker.security.tls.contexts import server_context_and_certificate
from broker.security.tls.der import DerError
from broker.security.tls.peer_certificate import distinguished_name, subject_alternative_names
from broker.security.tls.self_trust import check_connects, nodes_client_context
from broker.security.tls.stores import keystore_key
from storage.config_def import ConfigError


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
        _check_names(key, old, new)
        if old.client_half is not None and new.client_half is not None:
            # While the other nodes of the cluster have what this one had.
            check_connects(key, old.client_half, new.context)
            check_connects(key, new.client_half, old.context)
        return new


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What was made of settings and their stores at one moment."""

    settings: TlsSettings
    context: ssl.SSLContext
    client_half: ssl.SSLContext | None
    """As another node would connect; None where none does."""
    distinguished_name: str
    alternative_names: tuple[str, ...]


def _load(key_prefix: str, tls: TlsSettings, between_nodes: bool) -> _Loaded:
    context, own = server_context_and_certificate(key_prefix, tls)
    client_half = nodes_client_context(key_prefix, tls) if between_nodes else None
    key = keystore_key(key_prefix, tls)
    if client_half is not None:
        check_connects(key, client_half, context)
    try:
        names = distinguished_name(own), subject_alternative_names(own)
    except DerError as error:
        raise ConfigError(
            key, f"{key}: the names in the certificate are broken: {error}."
        ) from None
    return _Loaded(tls, context, client_half, *names)


def _check_names(key: str, old: _Loaded, new: _Loaded) -> None:
    """The node keeps its name, and all its further ones, unless the settings it has allow a change.

    New settings cannot allow it: these two are read at a start only.
    """
    before, after = old.distinguished_name, new.distinguished_name
    if before != after and not old.settings.allow_dn_changes:
        raise ConfigError(
            key,
            f"{key}: the distinguished name changes from {before} to {after}; "
            "ssl.allow.dn.changes=true at the start lets it.",
        )
    lost = [name for name in old.alternative_names if name not in new.alternative_names]
    if lost and not old.settings.allow_san_changes:
        raise ConfigError(
            key,
            f"{key}: the new certificate lacks {', '.join(lost)}; "
            "ssl.allow.san.changes=true at the start lets it.",
        )
