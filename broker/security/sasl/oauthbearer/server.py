"""The server half of OAUTHBEARER: a client's first message in, a principal or a refusal out.

`OAuthBearerServer` is one login. What judges the token is a `TokenJudge`: `SignedTokens` here, or
`unsecured_tokens.UnsecuredTokens`; one serves all connections of a listener. A refusal takes
two steps: the answer to the token is a JSON text without an error, the client says that it read it,
and then the login fails with the same text. The reason stays here, for the log.

Different on purpose: after a refusal Kafka lets the client try another token on the same
connection. RFC 7628 has it end there, and so does this.

Follows RFC 7628, RFC 5801 (the header before the first byte 1), KIP-255, KIP-342 (extensions).
"""

from __future__ import annotations

import json
import re
from typing import Protocol

from broker.security.sasl.oauthbearer.jwks import Jwks
from broker.security.sasl.oauthbearer.jwt_compact import AcceptedToken, TokenRefused
from broker.security.sasl.oauthbearer.jwt_validator import JwtValidator, UnknownKey
from broker.security.sasl.server_mechanism import SaslRefused
from ground.ports import Blocking

MESSAGE_BYTES_MAX = 65_536
"""A token is made to be a header of HTTP, and servers take none longer. Reading half a megabyte, as
much as `sasl.server.max.receive.size` lets in, would hold the loop for 50 ms."""
_READ = b"\x01"
_MESSAGE = re.compile(
    rb"n,(?:a=((?:[\x02-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++))?,\x01"
    rb"((?:[A-Za-z]++=[\x21-\x7e \t\r\n]++\x01)*+)\x01"
)
_AUTH = re.compile(rb"(?:^|\x01)auth=([^\x01]*)")
_BEARER = re.compile(rb"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


class TokenJudge(Protocol):
    """Says whether a token lets somebody in."""

    def judge(self, token: str, now_ms: int) -> AcceptedToken:
        """Who, and until when. Raises TokenRefused."""

    def start(self, blocking: Blocking) -> None:
        """Keep what it judges by fresh from now on, by jobs of `blocking`."""

    def close(self) -> None:
        """Keep nothing fresh any more."""


class SignedTokens:
    """Judges tokens that an issuer signed."""

    def __init__(self, validator: JwtValidator, jwks: Jwks) -> None:
        self._validator = validator
        self._jwks = jwks

    def judge(self, token: str, now_ms: int) -> AcceptedToken:
        """By the keys that are known now; has them read again where the token's is not there."""
        try:
            return self._validator.validate(token, self._jwks.keys, now_ms)
        except UnknownKey:
            self._jwks.missing()
            raise

    def start(self, blocking: Blocking) -> None:
        """Keep the keys fresh."""
        self._jwks.start(blocking)

    def close(self) -> None:
        """Read no more keys."""
        self._jwks.close()


class OAuthBearerServer:
    """One login by token."""

    by_token = False
    """That means a delegation token."""

    def __init__(self, judge: TokenJudge) -> None:
        self._judge = judge
        self._told: str | None = None
        self.refusal = ""
        self.complete = False
        self.principal_name = ""
        self.expires_at_ms: int | None = None

    def evaluate(self, token: bytes, now_ms: int) -> bytes:
        """The next challenge: empty after a token that is taken. Raises SaslRefused."""
        if self._told is not None:
            raise SaslRefused(self._told if token == _READ else "", self.refusal)
        authorization_id, bearer = first_message(token)
        try:
            accepted = self._judge.judge(bearer, now_ms)
        except TokenRefused as refused:
            return self._refuse(refused)
        name = accepted.principal_name
        if authorization_id is not None and authorization_id != name:
            raise SaslRefused(
                "Authentication failed: Client requested an authorization id "
                f"({_printable(authorization_id)}) that is different from the token's principal "
                f"name ({_printable(name)})"
            )
        self.complete = True
        self.principal_name = name
        self.expires_at_ms = accepted.expires_at_ms
        return b""

    def _refuse(self, refused: TokenRefused) -> bytes:
        self.refusal = str(refused)
        status = "insufficient_scope" if refused.required_scope else "invalid_token"
        self._told = f'{{"status":"{status}"}}'
        if refused.required_scope:
            scope = json.dumps(f"[{', '.join(refused.required_scope)}]")
            self._told = f'{{"status":"{status}", "scope":{scope}}}'
        return self._told.encode()


def first_message(message: bytes) -> tuple[str | None, str]:
    """(the authorization id where there is one, the token) of a client's first message.

    Extensions are checked and left alone, as Kafka's own handlers do. Raises SaslRefused.
    """
    if len(message) > MESSAGE_BYTES_MAX:
        raise SaslRefused("", f"the first message has more than {MESSAGE_BYTES_MAX} bytes")
    found = _MESSAGE.fullmatch(message)
    if found is None:
        raise SaslRefused("", "the first message has not the form of RFC 7628")
    named = _AUTH.findall(found[2])
    if len(named) != 1:
        raise SaslRefused("", "the first message has no auth, or more than one")
    bearer = _BEARER.fullmatch(named[0])
    if bearer is None:
        raise SaslRefused("", "auth of the first message is not 'Bearer' and a token")
    authorization_id = found[1]
    return None if authorization_id is None else authorization_id.decode("ascii"), bearer[
        1
    ].decode()


def _printable(text: str) -> str:
    """A text without line ends and the like: it is written to the log."""
    return text if text.isprintable() else ascii(text)[1:-1]
