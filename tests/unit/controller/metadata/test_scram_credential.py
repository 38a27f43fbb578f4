"""What is kept of a password, by the example of RFC 7677."""

from __future__ import annotations

import base64
import hashlib
import hmac

from controller.metadata.scram_credential import (
    SCRAM_MECHANISMS,
    ScramMechanism,
    client_key,
    credential_of,
    salted_password,
)

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
AUTH_MESSAGE = (
    b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
)
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SERVER_SIGNATURE = "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_the_keys_are_those_of_the_example() -> None:
    mechanism = SCRAM_MECHANISMS["SCRAM-SHA-256"]
    salted = salted_password(mechanism, "pencil", SALT, 4096)
    kept = credential_of(mechanism, salted, SALT, 4096)
    server_signature = hmac.digest(kept.server_key, AUTH_MESSAGE, "sha256")
    assert base64.b64encode(server_signature).decode() == SERVER_SIGNATURE
    signature = hmac.digest(kept.stored_key, AUTH_MESSAGE, "sha256")
    key = client_key(mechanism, salted)
    proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
    assert base64.b64encode(proof).decode() == PROOF
    assert hashlib.sha256(key).digest() == kept.stored_key


def test_a_credential_is_not_printed() -> None:
    salted = salted_password(ScramMechanism.SCRAM_SHA_512, "secret", b"salt", 4096)
    kept = credential_of(ScramMechanism.SCRAM_SHA_512, salted, b"salt", 4096)
    assert len(kept.stored_key) == len(kept.server_key) == 64
    assert repr(kept) == "ScramCredential([hidden], iterations=4096)"
