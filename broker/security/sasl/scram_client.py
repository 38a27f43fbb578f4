"""The client's half of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677).

The client proves that it knows the password without telling it, and does not believe a server that
cannot prove to know the user: who only pretends to be a node learns nothing to log in with.

`SaltedPasswords` has what is slow. A password is salted once for a salt and a number of iterations;
each further login takes microseconds.
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
"""Salted forms of one password that are kept. A user has one salt; another one comes with another
password, or from another cluster."""
_GS2 = b"n,,"


class SaltedPasswords:
    """One user's password, salted. May be asked by several threads."""

    def __init__(self, mechanism: ScramMechanism, password: Secret) -> None:
        self.mechanism = mechanism
        self._password = password
        self._salted: dict[tuple[bytes, int], bytes] = {}

    def of(self, salt: bytes, iterations: int) -> bytes:
        """Milliseconds of CPU, without the interpreter's lock, where it was not asked before."""
        known = self._salted.get((salt, iterations))
        if known is not None:
            return known
        salted = salted_password(self.mechanism, self._password.value, salt, iterations)
        others = list(self._salted.items())[1 - SALTS_MAX :]
        self._salted = {**dict(others), (salt, iterations): salted}
        return salted


class ScramClient:
    """One login."""

    def __init__(
        self,
        name: str,
        passwords: SaltedPasswords,
        nonce: Callable[[], str],
        *,
        by_token: bool = False,
    ) -> None:
        """`nonce` gives a text that was never given before: printable ASCII without commas.
        `by_token`: the name is the id of a delegation token, the password its HMAC in base64."""
        extension = TOKEN_EXTENSION if by_token else ""
        self._bare = f"n={written_name(name)},r={(own := nonce())}{extension}".encode()
        self._nonce = own
        self._passwords = passwords
        self._server_signature: bytes | None = None

    def first(self) -> bytes:
        """See `ClientMechanism`."""
        return _GS2 + self._bare

    def challenge(self, token: bytes) -> bytes | None:
        """See `ClientMechanism`."""
        try:
            if self._server_signature is None:
                return self._prove(token)
            self._check(token, self._server_signature)
        except MalformedScram as error:
            raise SaslRefused(f"the server sent {error}") from error
        return None

    def _prove(self, server_first: bytes) -> bytes:
        """The last message."""
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
        """The server's proof."""
        final = read_server_final(token)
        if final.error is not None:
            raise SaslRefused(f"the server refuses: {final.error}")
        if not hmac.compare_digest(final.signature, expected):
            raise SaslRefused("the server does not prove that it knows the user")
