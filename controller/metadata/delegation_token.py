"""A delegation token, the image of all tokens, and the key that makes their HMACs.

A client with a token logs in as the token's owner until the token expires. It authenticates with
the token's HMAC: an HMAC-SHA-512 of the id under `delegation.token.secret.key`, which all nodes
share. The metadata has only the ids, which are no use for a login, and each node computes the HMACs
that it needs.

Owns: the fields of a token, and its HMAC. Never: decides which principal gets a token
(`controller.decisions.delegation_token_control`), and never shows the key or an HMAC.

Follows KIP-48, KIP-373 (tokens for others) and Kafka's `TokenInformation`,
`DelegationTokenImage` and `DelegationTokenManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class DelegationToken(NamedTuple):
    """A delegation token. Principals have the form `User:alice`; times are wall-clock
    milliseconds."""

    token_id: str
    owner: str
    requester: str
    """The principal that requested the token: the owner, or one with the right to do so."""
    renewers: tuple[str, ...]
    issue_ms: int
    max_ms: int
    """The end of the token's lifetime, which no renewal extends."""
    expiry_ms: int

    def belongs_to(self, principal: str) -> bool:
        """Return whether `principal` may renew and expire the token."""
        return principal == self.owner or principal in self.renewers

    def concerns(self, principal: str) -> bool:
        """Return whether `principal` may see the token without any further right."""
        return principal == self.requester or self.belongs_to(principal)

    def has_expired(self, now_ms: int) -> bool:
        """Return whether the token has expired, so that no client can log in with it."""
        return self.expiry_ms < now_ms or self.max_ms < now_ms


Tokens = Mapping[str, DelegationToken]
"""All tokens by their ids."""


class TokenKey:
    """The `delegation.token.secret.key`, and a cache of the tokens' HMACs."""

    __slots__ = ("_hmacs", "_ids", "_key", "_tokens")

    def __init__(self, secret: str) -> None:
        self._key = secret.encode()
        self._tokens: Tokens | None = None
        self._hmacs: dict[str, bytes] = {}
        self._ids: dict[bytes, str] = {}

    def __repr__(self) -> str:
        """Return a text without the key."""
        return "TokenKey([hidden])"

    def hmac_of(self, token_id: str) -> bytes:
        """Return the HMAC of a token, with which its holder authenticates."""
        import hmac  # a node without tokens starts without it

        return hmac.digest(self._key, token_id.encode(), "sha512")

    def token_of(self, hmac: bytes, tokens: Tokens) -> DelegationToken | None:
        """Return the token with that HMAC; None if `tokens` has none. For a new `tokens` mapping,
        first compute and cache the HMACs of its tokens."""
        if tokens is not self._tokens:
            hmacs = self._hmacs
            self._hmacs = {
                token_id: hmacs.get(token_id) or self.hmac_of(token_id) for token_id in tokens
            }
            self._ids = {digest: token_id for token_id, digest in self._hmacs.items()}
            self._tokens = tokens
        token_id = self._ids.get(hmac)
        return None if token_id is None else tokens[token_id]
