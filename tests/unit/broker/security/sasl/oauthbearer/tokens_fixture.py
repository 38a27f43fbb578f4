"""Tokens and keys for the tests of this folder: one set of keys for all, made once."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from broker.security.sasl.oauthbearer.jwks import KeySet
from tests.golden.oauth_issuer import Keys

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000


@cache
def private_keys() -> Keys:
    """The keys of an issuer."""
    return Keys()


@cache
def key_set() -> KeySet:
    """What the issuer shows of them."""
    return KeySet.parse(jwks())


def jwks(*names: str) -> bytes:
    """The JWK set of those keys; of all when none is named."""
    shown = private_keys().jwks()
    keys = [key for key in shown["keys"] if not names or key["kid"] in names]
    return json.dumps({"keys": keys}).encode()


def token(key: str = "rsa", **changed: Any) -> str:
    """A signed token; a claim of None is left out."""
    claims = {"sub": "alice", "iat": NOW_S, "exp": NOW_S + 600, **changed}
    made = {"p256": "ES256", "p384": "ES384", "ed": "EdDSA"}.get(key, "RS256")
    kept = {name: value for name, value in claims.items() if value is not None}
    return private_keys().token(kept, key, made)
