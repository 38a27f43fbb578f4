"""The check that two TLS contexts can connect: a handshake in memory, without a socket.

Owns the check that Kafka makes at a start and at a reload of the listener between nodes. A node
with these settings must be able to connect to a node with the same settings. Never checks host
names.
"""

from __future__ import annotations

import ssl
from dataclasses import replace

from broker.config.security_settings import TlsSettings
from broker.security.tls.contexts import client_context, reason_in_words, server_context
from broker.security.tls.stores import keystore_key
from ground.config_def import ConfigError

_TURNS_MAX = 20
"""The limit of rounds, more than any handshake needs."""


def check_trusts_itself(key_prefix: str, tls: TlsSettings) -> None:
    """Raise ConfigError if two nodes with these settings cannot connect to each other."""
    key = keystore_key(key_prefix, tls)
    check_connects(key, nodes_client_context(key_prefix, tls), server_context(key_prefix, tls))


def nodes_client_context(key_prefix: str, tls: TlsSettings) -> ssl.SSLContext:
    """Return the client context of these settings, without the check of host names. Raises
    ConfigError."""
    return client_context(key_prefix, replace(tls, endpoint_identification_algorithm=""))


def check_connects(key: str, client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """Raise ConfigError for `key`, the keystore's configuration key, if `client` or `server`
    rejects the other."""
    reason = refusal(client, server)
    if reason is not None:
        raise ConfigError(
            key,
            f"{key}: nodes with this keystore and the truststore beside it cannot connect to each "
            f"other ({reason}).",
        )


def refusal(client_half: ssl.SSLContext, server_half: ssl.SSLContext) -> str | None:
    """Return why one of the two rejects the other; None: both complete the handshake.

    In TLS 1.3 a client completes the handshake before the server has checked its certificate, so
    the server has to complete it too.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_half.wrap_bio(to_server, to_client, server_side=True)
    waiting = [client_half.wrap_bio(to_client, to_server), server]
    for _ in range(_TURNS_MAX):
        try:
            waiting = [half for half in waiting if not _completes_handshake(half)]
        except ssl.SSLError as error:
            return reason_in_words(error)
        if not waiting:
            return None
    return "the handshake does not end"


def _completes_handshake(half: ssl.SSLObject) -> bool:
    """Continue one side's handshake with the bytes that have arrived.

    Return True if it is complete, False if it needs more bytes. Raises SSLError if it fails.
    """
    try:
        half.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
