"""A delegation token, the image of all of them, and the key that makes their secrets.

Who has a token logs in as its owner, for as long as it is good. What the holder shows is the
token's HMAC, an HMAC-SHA-512 of its id under `delegation.token.secret.key`, which all nodes share.
So the metadata has ids only, from which nobody can log in, and the HMAC is made where it is needed.

Owns: what a token is, and its HMAC. Never: decides who gets one
(`controller.decisions.delegation_token_control`), and never shows the key or an HMAC.

Follows KIP-48, KIP-373 (tokens for others) and Kafka's `TokenInformation`,
`DelegationTokenImage` and `DelegationTokenManager`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class DelegationToken(NamedTuple):
    """One token. Principals are written as `User:alice`; times are milliseconds of the wall
    clock."""

    token_id: str
    owner: str
    requester: str
    """Who asked for it: the owner, or one who may ask for the owner."""
    renewers: tuple[str, ...]
    issue_ms: int
    max_ms: int
    """No renewal leads beyond."""
    expiry_ms: int

    def belongs_to(self, principal: str) -> bool:
        """Whether that one may renew it and let it expire."""
        return principal == self.owner or principal in self.renewers

    def concerns(self, principal: str) -> bool:
        """Whether that one may see it without any further right."""
        return principal == self.requester or self.belongs_to(principal)

    def has_expired(self, now_ms: int) -> bool:
        """Whether nobody logs in by it any more."""
        return self.expiry_ms < now_ms or self.max_ms < now_ms


Tokens = Mapping[str, DelegationToken]
"""By their ids."""


class TokenKey:
    """`delegation.token.secret.key`, and the HMACs that were made with it."""

    __slots__ = ("_hmacs", "_ids", "_key", "_tokens")

    def __init__(self, secret: str) -> None:
        self._key = secret.encode()
        self._tokens: Tokens | None = None
        self._hmacs: dict[str, bytes] = {}
        self._ids: dict[bytes, str] = {}

    def __repr__(self) -> str:
        return "TokenKey([hidden])"

    def hmac_of(self, token_id: str) -> bytes:
        """What the holder of that token has."""
        import hmac  # a node without tokens starts without it

        return hmac.digest(self._key, token_id.encode(), "sha512")

    def token_of(self, hmac: bytes, tokens: Tokens) -> DelegationToken | None:
        """The one of `tokens` with that HMAC."""
        if tokens is not self._tokens:
            known = self._hmacs
            self._hmacs = {one: known.get(one) or self.hmac_of(one) for one in tokens}
            self._ids = {digest: one for one, digest in self._hmacs.items()}
            self._tokens = tokens
        token_id = self._ids.get(hmac)
        return None if token_id is None else tokens[token_id]
