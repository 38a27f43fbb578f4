"""A SCRAM credential: what is kept of a password (RFC 5802, KIP-84).

From the salted password come two keys. `stored_key` proves to the server that a client knows the
password; by `server_key` the server proves that it knows the user. Neither gives the password, nor
lets anybody log in as that user.

A node without SCRAM users imports no hash functions.

Follows Kafka's `ScramFormatter` and `ScramMechanism`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384


class ScramMechanism(IntEnum):
    """By their numbers in records and in requests."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """As SASL has it."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """Of its hash function, as `hashlib` has it."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


SCRAM_MECHANISMS = {one.mechanism_name: one for one in ScramMechanism}
"""By the name that SASL has for them."""


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """One user's, for one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential([hidden], iterations={self.iterations})"


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """Some milliseconds of CPU: never on the event loop of a node that serves others."""
    import hashlib

    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def credential_of(
    mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """What is kept of a salted password."""
    import hashlib
    import hmac

    stored_key = hashlib.new(mechanism.hash_name, client_key(mechanism, salted)).digest()
    server_key = hmac.digest(salted, b"Server Key", mechanism.hash_name)
    return ScramCredential(salt, stored_key, server_key, iterations)


def client_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """What a client proves to have."""
    import hmac

    return hmac.digest(salted, b"Client Key", mechanism.hash_name)
