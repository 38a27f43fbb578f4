"""The client's half of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677).

The client proves that it knows the password without sending it. It rejects a server that cannot
prove that it knows the user, so a false node learns nothing that could log in.

`SaltedPasswords` caches the slow part. A password is salted once for each salt and number of
iterations; further logins take microseconds.
"""

from __future__ import annotations

import hmac
from binascii import b2a_base64
from collections.abc import Callable

from broker.config.security_settings import Secret
from broker.security.sasl.scram_messages import (
    TOKEN_EXTENSION,
    MalformedScram,
    read_server_final,
    read_server_first,
    written_name,
)
from broker.security.sasl.server_mechanism import SaslRefused
from controller.metadata.scram_credential import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    ScramMechanism,
    client_key,
    credential_of,
    salted_password,
)

SALTS_MAX = 4
"""The number of salted forms of one password that are cached. A user has one salt; another salt
comes with a new password, or from another cluster."""
_GS2 = b"n,,"


class SaltedPasswords:
    """A cache of one user's salted password. Several threads may use it."""

    def __init__(self, mechanism: ScramMechanism, password: Secret) -> None:
        self.mechanism = mechanism
        self._password = password
        self._salted: dict[tuple[bytes, int], bytes] = {}

    def of(self, salt: bytes, iterations: int) -> bytes:
        """Return the salted password, and cache it. If it is not in the cache, this takes
        milliseconds of CPU, without the interpreter's lock."""
        cached = self._salted.get((salt, iterations))
        if cached is not None:
            return cached
        salted = salted_password(self.mechanism, self._password.value, salt, iterations)
        others = list(self._salted.items())[1 - SALTS_MAX :]
        self._salted = {**dict(others), (salt, iterations): salted}
        return salted


class ScramClient:
    """The client's half of one login."""

    def __init__(
        self,
        name: str,
        passwords: SaltedPasswords,
        nonce: Callable[[], str],
        *,
        by_token: bool = False,
    ) -> None:
        """`nonce` returns a new text at each call: printable ASCII without commas. `by_token`: the
        name is the id of a delegation token, the password its HMAC in base64."""
        extension = TOKEN_EXTENSION if by_token else ""
        self._bare = f"n={written_name(name)},r={(own := nonce())}{extension}".encode()
        self._nonce = own
        self._passwords = passwords
        self._server_signature: bytes | None = None

    def first(self) -> bytes:
        """Return the client's first message: the header, the name and the client's nonce."""
        return _GS2 + self._bare

    def challenge(self, token: bytes) -> bytes | None:
        """Return the client's final message to the server's first message, or None after the
        server's final message proved that it knows the user. Raises SaslRefused."""
        try:
            if self._server_signature is None:
                return self._prove(token)
            self._check(token, self._server_signature)
        except MalformedScram as error:
            raise SaslRefused(f"the server sent {error}") from error
        return None

    def _prove(self, server_first: bytes) -> bytes:
        """Return the client's final message, with the proof that it knows the password.

        Raises SaslRefused for a wrong nonce or too few or too many iterations, MalformedScram for
        bytes that are no first message.
        """
        first = read_server_first(server_first)
        if not first.nonce.startswith(self._nonce) or first.nonce == self._nonce:
            raise SaslRefused("the server's nonce is not the client's and more")
        if not ITERATIONS_MIN <= first.iterations <= ITERATIONS_MAX:
            raise SaslRefused(
                f"the server asks for {first.iterations} iterations, "
                f"not {ITERATIONS_MIN} to {ITERATIONS_MAX}"
            )
        mechanism = self._passwords.mechanism
        salted = self._passwords.of(first.salt, first.iterations)
        without_proof = b"c=%b,r=%b" % (b2a_base64(_GS2, newline=False), first.nonce.encode())
        signed = b",".join((self._bare, server_first, without_proof))
        credential = credential_of(mechanism, salted, first.salt, first.iterations)
        key = client_key(mechanism, salted)
        signature = hmac.digest(credential.stored_key, signed, mechanism.hash_name)
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        self._server_signature = hmac.digest(credential.server_key, signed, mechanism.hash_name)
        return without_proof + b",p=" + b2a_base64(proof, newline=False)

    def _check(self, token: bytes, expected: bytes) -> None:
        """Raise SaslRefused unless the server's final message proves that it knows the user,
        MalformedScram if the bytes are no final message."""
        final = read_server_final(token)
        if final.error is not None:
            raise SaslRefused(f"the server refuses: {final.error}")
        if not hmac.compare_digest(final.signature, expected):
            raise SaslRefused("the server does not prove that it knows the user")
