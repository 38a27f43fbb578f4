"""Whether two contexts of TLS get on with each other: a handshake in memory, without a socket.

Owns the check that Kafka makes at a start and at a reload for the listener between nodes: a node
that has these settings must be able to connect to one that has them. Host names are not checked.
"""

from __future__ import annotations

import ssl
from dataclasses import replace

from broker.config.security_settings import TlsSettings
from broker.security.tls.contexts import client_context, reason_in_words, server_context
from broker.security.tls.stores import keystore_key
from ground.config_def import ConfigError

_TURNS_MAX = 20
"""More messages than any handshake has."""


def check_trusts_itself(key_prefix: str, tls: TlsSettings) -> None:
    """ConfigError where a node with these settings refuses another one with the same settings."""
    key = keystore_key(key_prefix, tls)
    check_connects(key, nodes_client_context(key_prefix, tls), server_context(key_prefix, tls))


def nodes_client_context(key_prefix: str, tls: TlsSettings) -> ssl.SSLContext:
    """The client half of these settings, for a check without a host name."""
    return client_context(key_prefix, replace(tls, endpoint_identification_algorithm=""))


def check_connects(key: str, client: ssl.SSLContext, server: ssl.SSLContext) -> None:
    """ConfigError of `key`, which names the keystore, where one of the two refuses the other."""
    reason = refusal(client, server)
    if reason is not None:
        raise ConfigError(
            key,
            f"{key}: nodes with this keystore and the truststore beside it cannot connect to each "
            f"other ({reason}).",
        )


def refusal(client_half: ssl.SSLContext, server_half: ssl.SSLContext) -> str | None:
    """Return why one of the two refuses the other; None if both end their handshake.

    In TLS 1.3 a client ends its own before the server has seen its certificate; the server's own
    tells.
    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_half.wrap_bio(to_server, to_client, server_side=True)
    waiting = [client_half.wrap_bio(to_client, to_server), server]
    for _ in range(_TURNS_MAX):
        try:
            waiting = [half for half in waiting if not _done(half)]
        except ssl.SSLError as error:
            return reason_in_words(error)
        if not waiting:
            return None
    return "the handshake does not end"


def _done(half: ssl.SSLObject) -> bool:
    try:
        half.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True
