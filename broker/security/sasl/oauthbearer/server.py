"""The server's half of OAUTHBEARER: a client's first message in, a principal or a rejection out.

`OAuthBearerServer` is one login. A `TokenJudge` checks the token: `SignedTokens` here, or
`unsecured_tokens.UnsecuredTokens`; one judge serves all connections of a listener. A rejection
takes two steps: the answer to the token is a challenge with a JSON text, the client acknowledges
it, and then the login fails with the same text. The reason is for the log alone.

Different on purpose: after a rejection Kafka accepts another token on the same connection. RFC 7628
ends the login there, and so does this module.

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
"""The longest first message that is parsed. Tokens are made to fit an HTTP header, and servers
accept no longer headers. Parsing half a megabyte, which `sasl.server.max.receive.size` allows,
would block the event loop for 50 ms."""
_READ = b"\x01"
_MESSAGE = re.compile(
    rb"n,(?:a=((?:[\x02-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+))?,\x01"
    rb"((?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_AUTH = re.compile(rb"(?:^|\x01)auth=([^\x01]*)")
_BEARER = re.compile(rb"bearer +([A-Za-z0-9._~+/-]+=*)", re.IGNORECASE)


class TokenJudge(Protocol):
    """The check of a listener's tokens."""

    def judge(self, token: str, now_ms: int) -> AcceptedToken:
        """Return the token's principal name and expiry. Raises TokenRefused if the token is invalid
        at `now_ms`."""

    def start(self, blocking: Blocking) -> None:
        """Refresh the keys regularly from now on, if there are any, by jobs of `blocking`."""

    def close(self) -> None:
        """Stop refreshing the keys."""


class SignedTokens:
    """The judge of tokens that an issuer signed."""

    def __init__(self, validator: JwtValidator, jwks: Jwks) -> None:
        self._validator = validator
        self._jwks = jwks

    def judge(self, token: str, now_ms: int) -> AcceptedToken:
        """Return the token's principal name and expiry. Raises TokenRefused; if the token's key is
        unknown, it also begins to read the issuer's keys again in a thread."""
        try:
            return self._validator.validate(token, self._jwks.keys, now_ms)
        except UnknownKey:
            self._jwks.refresh_for_unknown_key()
            raise

    def start(self, blocking: Blocking) -> None:
        """Refresh the keys regularly from now on, by jobs of `blocking`."""
        self._jwks.start(blocking)

    def close(self) -> None:
        """Stop refreshing the keys."""
        self._jwks.close()


class OAuthBearerServer:
    """The server's half of one login by token."""

    by_token = False
    """Always False, because an OAuth token is no delegation token."""

    def __init__(self, judge: TokenJudge) -> None:
        self._judge = judge
        self._error_json: str | None = None
        self.refusal = ""
        self.complete = False
        self.principal_name = ""
        self.expires_at_ms: int | None = None

    def evaluate(self, token: bytes, now_ms: int) -> bytes:
        """Return the next challenge. It is empty if the token is accepted: then the login is
        complete, with principal and expiry. Otherwise it is the JSON text of the error.

        Raises SaslRefused at the message after that text, for a malformed message, and for an
        authorization id that is not the principal's name.
        """
        if self._error_json is not None:
            raise SaslRefused(self._error_json if token == _READ else "", self.refusal)
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
        """Set `refusal` to the reason, and return the error JSON that the client gets first (RFC
        7628). The client's next message ends the login."""
        self.refusal = str(refused)
        status = "insufficient_scope" if refused.required_scope else "invalid_token"
        self._error_json = f'{{"status":"{status}"}}'
        if refused.required_scope:
            scope = json.dumps(f"[{', '.join(refused.required_scope)}]")
            self._error_json = f'{{"status":"{status}", "scope":{scope}}}'
        return self._error_json.encode()


def first_message(message: bytes) -> tuple[str | None, str]:
    """Return the authorization id (None: none) and the token of a client's first message.

    The form of extensions is checked and their values are ignored, as by Kafka's handlers. Raises
    SaslRefused if the message is malformed or has more than MESSAGE_BYTES_MAX bytes.
    """
    if len(message) > MESSAGE_BYTES_MAX:
        raise SaslRefused("", f"the first message has more than {MESSAGE_BYTES_MAX} bytes")
    match = _MESSAGE.fullmatch(message)
    if match is None:
        raise SaslRefused("", "the first message has not the form of RFC 7628")
    auth_values = _AUTH.findall(match[2])
    if len(auth_values) != 1:
        raise SaslRefused("", "the first message has no auth, or more than one")
    bearer = _BEARER.fullmatch(auth_values[0])
    if bearer is None:
        raise SaslRefused("", "auth of the first message is not 'Bearer' and a token")
    authorization_id = match[1]
    return None if authorization_id is None else authorization_id.decode("ascii"), bearer[
        1
    ].decode()


def _printable(text: str) -> str:
    """Return a text for the log: unchanged if it is printable, otherwise in ASCII with escapes."""
    return text if text.isprintable() else ascii(text)[1:-1]
