"""The server's half of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677, KIP-84).

The server has of a password what cannot log in anywhere (`ScramCredential`). It shows salt and
iterations, the client proves that it knows the password, and the server proves that it knows the
user. Both sign all that was said, with a nonce of each in it, so nothing can be replayed.

Whatever is wrong is told in one text. As in Kafka an unknown user is refused at the first message.
A token that has expired is refused there, too; Kafka lets it in, and closes at the first request.
A delegation token logs in by the extension `tokenauth` (KIP-48), its id for a name and its HMAC for
a password; it comes in as its owner, until it expires. Without the extension it is no user, and
with it a user is no token.

Where RFC 5802 is stricter than Kafka it is kept to: the final message has to repeat the first
one's header, `m=` is refused, and what is signed is what was sent.
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
from broker.security.sasl.server_mechanism import Question, SaslRefused
from broker.security.sasl.token_credentials import Salting, TokenLogin
from controller.metadata.delegation_token import DelegationToken
from controller.metadata.scram_credential import ITERATIONS_MIN, ScramCredential, ScramMechanism

ScramCredentials: TypeAlias = Callable[[ScramMechanism, str], ScramCredential | None]
"""What is kept of a user's password; None: there is no such user."""
TokenLogins: TypeAlias = Callable[[ScramMechanism, str], TokenLogin | Salting | None]
"""What a token logs in by; None: there is no token of that id."""

_USER = "User:"


def no_tokens(_mechanism: ScramMechanism, _token_id: str) -> TokenLogin | None:
    """Where there are none."""
    return None


class ScramServer:
    """One login."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        credentials: ScramCredentials,
        nonce: Callable[[], str],
        tokens: TokenLogins = no_tokens,
    ) -> None:
        """`nonce` gives a text that was never given before: printable ASCII without commas."""
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

    def evaluate(self, token: bytes, now_ms: int) -> bytes | Question:
        """See `ServerMechanism`."""
        try:
            if self._first is None or self._credential is None:
                return self._begin(read_client_first(token), now_ms)
            return self._end(self._first, self._credential, token)
        except MalformedScram as error:
            raise SaslRefused from error

    @property
    def by_token(self) -> bool:
        """See `ServerMechanism`."""
        return self._token is not None

    @property
    def expires_at_ms(self) -> int | None:
        """See `ServerMechanism`."""
        return None if self._token is None else self._token.expiry_ms

    def _begin(self, first: ClientFirst, now_ms: int) -> bytes | Question:
        """Salt, iterations and the nonce of both."""
        if first.by_token:
            found = self._tokens(self._mechanism, first.name)
            if isinstance(found, Salting):
                return Question(found.job, partial(self._begin_salted, first, found))
            credential = None if found is None else self._credential_of_token(found, now_ms)
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
    ) -> bytes | Question:
        if isinstance(outcome, Exception):
            raise SaslRefused(reason=f"the delegation token was not salted: {outcome}")
        salting.keep(outcome)
        return self._begin(first, now_ms)

    def _credential_of_token(self, found: TokenLogin, now_ms: int) -> ScramCredential:
        token = self._token = found.token
        if token.expiry_ms <= now_ms:
            late_s = (now_ms - token.expiry_ms) // 1000
            raise SaslRefused(reason=f"the delegation token expired {late_s} s ago")
        if not token.owner.startswith(_USER):
            raise SaslRefused(reason="the delegation token is not a user's")
        return found.credential

    def _end(self, first: ClientFirst, credential: ScramCredential, token: bytes) -> bytes:
        """The client's proof, and ours."""
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
        return first.name if self._token is None else self._token.owner.removeprefix(_USER)
