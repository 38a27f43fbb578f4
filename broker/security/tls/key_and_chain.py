"""A private key with its certificates, as the readers of keystores return it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyAndChain:
    """A private key as unencrypted PEM, and its certificates as DER, the key's own first."""

    key_pem: str
    chain: tuple[bytes, ...]
