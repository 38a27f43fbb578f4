"""A SCRAM credential: the values that Kafka stores for a password (RFC 5802, KIP-84).

Two keys are derived from the salted password. With `stored_key` the server checks that a client
knows the password; with `server_key` the server proves that it knows the user. Neither reveals the
password or allows a login as that user.

A node without SCRAM users imports no hash functions.

Follows Kafka's `ScramFormatter` and `ScramMechanism`.

`ottla.plugins.logins.ScramCredential` is the same concept, for the classes of users.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384


class ScramMechanism(IntEnum):
    """The SCRAM mechanisms, by their numbers in records and in requests."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """The mechanism's name in SASL, such as `SCRAM-SHA-256`."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        """The hash function's name in `hashlib`."""
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


SCRAM_MECHANISMS = {mechanism.mechanism_name: mechanism for mechanism in ScramMechanism}
"""The mechanisms by their names in SASL."""


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """The credential of a user for one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        """Return a text without the salt and the keys."""
        return f"ScramCredential([hidden], iterations={self.iterations})"


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """Return the salted password of RFC 5802: PBKDF2 with the mechanism's hash. This takes
    milliseconds of CPU, so do not call it on the event loop of a node that serves other clients."""
    import hashlib

    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def credential_of(
    mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """Return the credential to store for a salted password."""
    import hashlib
    import hmac

    stored_key = hashlib.new(mechanism.hash_name, client_key(mechanism, salted)).digest()
    server_key = hmac.digest(salted, b"Server Key", mechanism.hash_name)
    return ScramCredential(salt, stored_key, server_key, iterations)


def client_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    """Return the ClientKey of RFC 5802, which is derived from the salted password. A client proves
    at login that it has this key."""
    import hmac

    return hmac.digest(salted, b"Client Key", mechanism.hash_name)
