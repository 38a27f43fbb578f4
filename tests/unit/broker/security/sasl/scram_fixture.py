"""Users for tests of SCRAM, and a client that can do each step wrong."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode

from controller.metadata.scram_credential import (
    ScramCredential,
    ScramMechanism,
    client_key,
    credential_of,
    salted_password,
)

SHA_256, SHA_512 = ScramMechanism
SALT = b"salt and more of it"
ITERATIONS = 4096
SERVER_NONCE = "server-nonce"
PASSWORDS = {"alice": "alice-secret", "a,b=c": "comma"}
_SALTED = {
    (mechanism, name): salted_password(mechanism, password, SALT, ITERATIONS)
    for mechanism in ScramMechanism
    for name, password in PASSWORDS.items()
}


def credentials(mechanism: ScramMechanism, name: str) -> ScramCredential | None:
    salted = _SALTED.get((mechanism, name))
    return None if salted is None else credential_of(mechanism, salted, SALT, ITERATIONS)


def salted_of(mechanism: ScramMechanism, name: str) -> bytes:
    return _SALTED[mechanism, name]


def final_message(
    mechanism: ScramMechanism,
    salted: bytes,
    first_bare: bytes,
    server_first: bytes,
    channel: bytes = b"n,,",
    nonce: bytes | None = None,
) -> bytes:
    """The client's last message."""
    if nonce is None:
        nonce = server_first.split(b",")[0][2:]
    without_proof = b"c=" + b64encode(channel) + b",r=" + nonce
    signed = b",".join((first_bare, server_first, without_proof))
    key = client_key(mechanism, salted)
    stored = hashlib.new(mechanism.hash_name, key).digest()
    signature = hmac.digest(stored, signed, mechanism.hash_name)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    return without_proof + b",p=" + b64encode(proof)


def salt_of(server_first: bytes) -> bytes:
    return b64decode(server_first.split(b",s=")[1].split(b",")[0])
