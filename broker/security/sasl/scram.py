"""The server's half of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677, KIP-84).

The server stores keys derived from a password, which cannot log in anywhere (`ScramCredential`). It
sends the salt and the iterations, the client proves that it knows the password, and the server
proves that it knows the user. Both sign all messages, which have a nonce of each side, so a login
cannot be replayed.

All failures have one text for the client. As in Kafka, an unknown user is rejected at the first
message. So is an expired delegation token; Kafka completes that login and closes the connection at
the first request. A delegation token logs in with the extension `tokenauth` (KIP-48): its id is the
name, its HMAC the password, and the principal is its owner, until the token expires. With the
extension only tokens can log in, without it only users.

RFC 5802 is followed where it is stricter than Kafka. The final message must repeat the header of
the first message, `m=` is rejected, and the signature covers the bytes as they were sent.
"""

from __future__ import annotations

import hashlib
import hmac
from binascii import b2a_base64
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from broker.security.sasl.plain import OTHER_AUTHORIZATION_ID
from broker.security.sasl.scram_messages import (
    ClientFirst,
    MalformedScram,
    read_client_final,
    read_client_first,
)
from broker.security.sasl.server_mechanism import BlockingCall, SaslRefused
from broker.security.sasl.token_credentials import Salting, TokenLogin
from controller.metadata.delegation_token import DelegationToken
from controller.metadata.scram_credential import ITERATIONS_MIN, ScramCredential, ScramMechanism

ScramCredentials: TypeAlias = Callable[[ScramMechanism, str], ScramCredential | None]
"""A function from a user's name to the stored credential; None: no user has this name."""
TokenLogins: TypeAlias = Callable[[ScramMechanism, str], TokenLogin | Salting | None]
"""A function from a delegation token's id to its credential, or to the Salting that has to come
first; None: no token has this id."""

_USER = "User:"


def no_tokens(_mechanism: ScramMechanism, _token_id: str) -> TokenLogin | None:
    """Return None: this listener has no delegation tokens."""
    return None


class ScramServer:
    """The server's half of one login."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        credentials: ScramCredentials,
        nonce: Callable[[], str],
        tokens: TokenLogins = no_tokens,
    ) -> None:
        """`nonce` returns a new text at each call: printable ASCII without commas."""
        self.complete = False
        self.refusal = ""
        self.principal_name = ""
        self._mechanism = mechanism
        self._credentials = credentials
        self._tokens = tokens
        self._token: DelegationToken | None = None
        self._new_nonce = nonce
        self._first: ClientFirst | None = None
        self._credential: ScramCredential | None = None
        self._nonce = ""
        self._server_first = b""

    def evaluate(self, token: bytes, now_ms: int) -> bytes | BlockingCall:
        """Process the client's first or final message and return the server's answer to it. Return
        a BlockingCall if a delegation token has to be salted first. The final message completes the
        login. Raises SaslRefused."""
        try:
            if self._first is None or self._credential is None:
                return self._begin(read_client_first(token), now_ms)
            return self._end(self._first, self._credential, token)
        except MalformedScram as error:
            raise SaslRefused from error

    @property
    def by_token(self) -> bool:
        """Whether a delegation token logged in."""
        return self._token is not None

    @property
    def expires_at_ms(self) -> int | None:
        """The time at which the delegation token expires; None: a user logged in."""
        return None if self._token is None else self._token.expiry_ms

    def _begin(self, first: ClientFirst, now_ms: int) -> bytes | BlockingCall:
        """Return the server's first message: the joint nonce, the salt and the iterations.

        Return a BlockingCall if the delegation token must be salted first. Raises SaslRefused for
        an unknown user or token, an expired token, or another authorization id.
        """
        if first.by_token:
            login = self._tokens(self._mechanism, first.name)
            if isinstance(login, Salting):
                return BlockingCall(login.job, partial(self._begin_salted, first, login))
            credential = None if login is None else self._credential_of_token(login, now_ms)
        else:
            credential = self._credentials(self._mechanism, first.name)
        if credential is None:
            raise SaslRefused
        if first.authorization_id and first.authorization_id != first.name:
            raise SaslRefused(OTHER_AUTHORIZATION_ID)
        if credential.iterations < ITERATIONS_MIN:
            raise SaslRefused
        self._first, self._credential = first, credential
        self._nonce = first.nonce + self._new_nonce()
        salt = b2a_base64(credential.salt, newline=False).decode()
        self._server_first = f"r={self._nonce},s={salt},i={credential.iterations}".encode()
        return self._server_first

    def _begin_salted(
        self, first: ClientFirst, salting: Salting, outcome: object, now_ms: int
    ) -> bytes | BlockingCall:
        """Store the token's salted credentials and return as `_begin` does. `outcome` is the result
        of the salting, or its exception, for which SaslRefused is raised."""
        if isinstance(outcome, Exception):
            raise SaslRefused(reason=f"the delegation token was not salted: {outcome}")
        salting.keep(outcome)
        return self._begin(first, now_ms)

    def _credential_of_token(self, login: TokenLogin, now_ms: int) -> ScramCredential:
        """Return the token's credential, and set the token as that of this login: `by_token`,
        `expires_at_ms` and the principal depend on it.

        Raises SaslRefused if it has expired or its owner is not a user.
        """
        token = self._token = login.token
        if token.expiry_ms <= now_ms:
            late_s = (now_ms - token.expiry_ms) // 1000
            raise SaslRefused(reason=f"the delegation token expired {late_s} s ago")
        if not token.owner.startswith(_USER):
            raise SaslRefused(reason="the delegation token is not a user's")
        return login.credential

    def _end(self, first: ClientFirst, credential: ScramCredential, token: bytes) -> bytes:
        """Check the client's proof, set the principal's name, complete the login, and return the
        server's final message with its own proof.

        Raises SaslRefused if the proof, the nonce or the header is wrong, MalformedScram if the
        bytes are no final message.
        """
        final = read_client_final(token)
        if final.nonce != self._nonce or final.channel != first.gs2:
            raise SaslRefused
        signed = b",".join((first.bare, self._server_first, final.without_proof))
        hash_name = self._mechanism.hash_name
        signature = hmac.digest(credential.stored_key, signed, hash_name)
        if len(final.proof) != len(signature):
            raise SaslRefused
        client_key = bytes(a ^ b for a, b in zip(final.proof, signature, strict=True))
        stored_key = hashlib.new(hash_name, client_key).digest()
        if not hmac.compare_digest(stored_key, credential.stored_key):
            raise SaslRefused
        self.principal_name = self._principal_name(first)
        self.complete = True
        server_signature = hmac.digest(credential.server_key, signed, hash_name)
        return b"v=" + b2a_base64(server_signature, newline=False)

    def _principal_name(self, first: ClientFirst) -> str:
        """Return the user's name; for a delegation token, the name of its owner."""
        return first.name if self._token is None else self._token.owner.removeprefix(_USER)
