"""The client's half of SASL on one connection: answers in, frames out, until the login is complete.

Owns the order of the requests and the lifetime of the login. Never touches a socket, reads the
clock, or parses a mechanism's own messages. The connection's owner sends no other request during a
login. For a re-authentication (KIP-368) it makes a new SaslClient before the last login ends, at
`renewal_ms`.

    << SaslHandshake v1      names the mechanism
    << SaslAuthenticate v2   as often as the mechanism needs
"""

from __future__ import annotations

from collections.abc import Callable

from broker.security.sasl.client_mechanism import ClientMechanism
from broker.security.sasl.server_mechanism import SaslRefused
from protocol.errors import ErrorCode, ProtocolError
from protocol.frames.message_codec import decode_answer, encode_request
from protocol.message import Message
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

HANDSHAKE_VERSION = 1
AUTHENTICATE_VERSION = 2
RENEWAL_FROM, RENEWAL_SPREAD = 0.85, 0.10
"""The part of a login's lifetime after which clients re-authenticate, and its random addition, as
in Kafka's clients."""
_SHOWN_LETTERS = 300


class SaslClient:
    """The client's half of one login. Callers only read `lifetime_ms`: the lifetime of the
    complete login; 0: unlimited."""

    def __init__(
        self,
        mechanism_name: str,
        mechanism: ClientMechanism,
        client_id: str,
        next_correlation_id: Callable[[], int],
    ) -> None:
        """Begin a login without sending anything. `next_correlation_id` belongs to the connection,
        which may have sent requests before."""
        self.lifetime_ms = 0
        self._name = mechanism_name
        self._mechanism = mechanism
        self._client_id = client_id
        self._next_correlation_id = next_correlation_id
        self._correlation_id = 0
        self._has_handshake = False

    def begin(self) -> bytes:
        """Return the frame of the first request, SaslHandshake, with its size prefix."""
        return self._frame(SaslHandshakeRequest(self._name), HANDSHAKE_VERSION)

    def received(self, answer: memoryview) -> bytes | None:
        """Process an answer, without its size prefix. Return the next frame to send, with its size
        prefix, or None if the login is complete.

        May take milliseconds, to hash a password. Raises SaslRefused if the login fails, with a
        text for the operator, and ProtocolError if the answer is malformed.
        """
        if not self._has_handshake:
            self._has_handshake = True
            self._check_mechanism(answer)
            token: bytes | None = self._mechanism.first()
        else:
            token = self._mechanism.challenge(self._token_of(answer))
        if token is None:
            return None
        return self._frame(SaslAuthenticateRequest(token), AUTHENTICATE_VERSION)

    def renewal_ms(self, chance: float) -> int | None:
        """Return the time in ms from this login to the re-authentication, 85 to 95 % of its
        lifetime; None: the login has no end. `chance`, a random number from 0 to 1, spreads clients
        that connected at the same time."""
        if not self.lifetime_ms:
            return None
        return int(self.lifetime_ms * (RENEWAL_FROM + RENEWAL_SPREAD * chance))

    # --- inside ---------------------------------------------------------------------------------

    def _check_mechanism(self, answer: memoryview) -> None:
        """Check the answer to SaslHandshake. Raises SaslRefused for any error in it, such as a
        mechanism that the listener lacks, and ProtocolError if it is malformed."""
        correlation_id, response = decode_answer(SaslHandshakeResponse, answer, HANDSHAKE_VERSION)
        self._check_correlation(correlation_id)
        error: int = response.error_code
        if error == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            enabled = _shown(", ".join(response.mechanisms))
            raise SaslRefused(f"the listener has no SASL mechanism {self._name}, but: {enabled}")
        if error == ErrorCode.ILLEGAL_SASL_STATE:
            raise SaslRefused("the listener has no SASL: its protocol is PLAINTEXT or SSL")
        if error:
            raise SaslRefused(f"SaslHandshake is answered with {ErrorCode(error).name}")

    def _token_of(self, answer: memoryview) -> bytes:
        """Return the server's token in an answer to SaslAuthenticate, and set `lifetime_ms` to the
        session lifetime in it.

        Raises SaslRefused for an error in the answer, ProtocolError if it is malformed.
        """
        correlation_id, response = decode_answer(
            SaslAuthenticateResponse, answer, AUTHENTICATE_VERSION
        )
        self._check_correlation(correlation_id)
        error: int = response.error_code
        if error:
            text = _shown(response.error_message or "")
            alone = error == ErrorCode.SASL_AUTHENTICATION_FAILED and text
            raise SaslRefused(text if alone else f"{ErrorCode(error).name} {text}".rstrip())
        self.lifetime_ms = max(response.session_lifetime_ms, 0)
        return bytes(response.auth_bytes)

    def _check_correlation(self, correlation_id: int) -> None:
        """Raise ProtocolError if the answer belongs to another request."""
        if correlation_id != self._correlation_id:
            raise ProtocolError(f"an answer to {correlation_id}, not {self._correlation_id}")

    def _frame(self, request: Message, version: int) -> bytes:
        """Return the request as a frame with its size prefix, under a new correlation id, which the
        answer must have."""
        self._correlation_id = self._next_correlation_id()
        return encode_request(request, version, self._correlation_id, self._client_id)


def _shown(text: str) -> str:
    """Return a peer's text as it may stand in a message: at most 300 characters, with `?` for each
    unprintable character."""
    cut = text[:_SHOWN_LETTERS]
    return "".join(letter if letter.isprintable() else "?" for letter in cut)
