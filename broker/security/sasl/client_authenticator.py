"""The client's half of SASL on one connection: answers in, frames out, until the login is made.

Owns: which request is next, and how long the login is good. Never: a socket, the clock, or a
mechanism's own messages. Who has the connection sends nothing else while a login is under way, the
first one or a later one (KIP-368), and begins a later one with an object of its own before the life
of the last is over: `renewal_ms`.

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
"""Of a login's life, after which the next one begins: as Kafka's clients do."""
_SHOWN_LETTERS = 300


class SaslClient:
    """One login. To be read only: `lifetime_ms`, for how long it is good, once it is made; 0: for
    ever."""

    def __init__(
        self,
        mechanism_name: str,
        mechanism: ClientMechanism,
        client_id: str,
        next_correlation_id: Callable[[], int],
    ) -> None:
        """`next_correlation_id`: of the connection, which may have had requests before."""
        self.lifetime_ms = 0
        self._name = mechanism_name
        self._mechanism = mechanism
        self._client_id = client_id
        self._next_correlation_id = next_correlation_id
        self._correlation_id = 0
        self._named = False

    def begin(self) -> bytes:
        """The first frame, its size first."""
        return self._frame(SaslHandshakeRequest(self._name), HANDSHAKE_VERSION)

    def received(self, answer: memoryview) -> bytes | None:
        """The next frame to an answer, which is without its size; None: the login is made.

        May take milliseconds, for a password. Raises SaslRefused where the login fails, with what
        to tell the operator, and ProtocolError where the answer is none.
        """
        if not self._named:
            self._named = True
            self._check_mechanism(answer)
            token: bytes | None = self._mechanism.first()
        else:
            token = self._mechanism.challenge(self._token_of(answer))
        if token is None:
            return None
        return self._frame(SaslAuthenticateRequest(token), AUTHENTICATE_VERSION)

    def renewal_ms(self, chance: float) -> int | None:
        """How long after this login the next one is to begin; None: there is no need. `chance`,
        from 0 to 1, keeps those who came at once from coming at once again."""
        if not self.lifetime_ms:
            return None
        return int(self.lifetime_ms * (RENEWAL_FROM + RENEWAL_SPREAD * chance))

    # --- inside ---------------------------------------------------------------------------------

    def _check_mechanism(self, answer: memoryview) -> None:
        correlation_id, response = decode_answer(SaslHandshakeResponse, answer, HANDSHAKE_VERSION)
        self._check(correlation_id)
        error: int = response.error_code
        if error == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            enabled = _shown(", ".join(response.mechanisms))
            raise SaslRefused(f"the listener has no SASL mechanism {self._name}, but: {enabled}")
        if error == ErrorCode.ILLEGAL_SASL_STATE:
            raise SaslRefused("the listener has no SASL: its protocol is PLAINTEXT or SSL")
        if error:
            raise SaslRefused(f"SaslHandshake is answered with {ErrorCode(error).name}")

    def _token_of(self, answer: memoryview) -> bytes:
        correlation_id, response = decode_answer(
            SaslAuthenticateResponse, answer, AUTHENTICATE_VERSION
        )
        self._check(correlation_id)
        error: int = response.error_code
        if error:
            text = _shown(response.error_message or "")
            alone = error == ErrorCode.SASL_AUTHENTICATION_FAILED and text
            raise SaslRefused(text if alone else f"{ErrorCode(error).name} {text}".rstrip())
        self.lifetime_ms = max(response.session_lifetime_ms, 0)
        return bytes(response.auth_bytes)

    def _check(self, correlation_id: int) -> None:
        if correlation_id != self._correlation_id:
            raise ProtocolError(f"an answer to {correlation_id}, not {self._correlation_id}")

    def _frame(self, request: Message, version: int) -> bytes:
        self._correlation_id = self._next_correlation_id()
        return encode_request(request, version, self._correlation_id, self._client_id)


def _shown(text: str) -> str:
    """A peer's text in a line of ours."""
    cut = text[:_SHOWN_LETTERS]
    return "".join(letter if letter.isprintable() else "?" for letter in cut)
