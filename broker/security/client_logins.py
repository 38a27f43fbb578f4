"""The SASL logins of this node, or of a command, to the listeners of other nodes.

Owns what later logins can reuse: the salted forms of a password. Tokens come from a function that
the caller gives. Each login is a `SaslLogin`, whose failures are OSErrors with a line that says
what to do. Never opens a socket. Loaded only if a connection needs a SASL login.

Follows Kafka's `SaslClientAuthenticator`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from broker.config.security.mechanisms import password_fault
from broker.config.security_settings import MechanismSettings
from broker.security.sasl.client_authenticator import SaslClient
from broker.security.sasl.mechanism_factory import client_mechanism
from broker.security.sasl.server_mechanism import SaslRefused
from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from broker.security.sasl.client_mechanism import ClientMechanism, NewClientMechanism

NONCE_BYTES = 24
_OAUTHBEARER = "OAUTHBEARER"


class LoginRefused(ConnectionError):
    """The listener rejected the login, or could not prove that it knows the user."""


class ClientLogins:
    """The logins by one mechanism with one set of credentials."""

    def __init__(
        self,
        settings: MechanismSettings,
        key_prefix: str,
        random_bytes: Callable[[int], bytes],
        token: Callable[[], str] | None,
    ) -> None:
        """Prepare the mechanism. If the JAAS text lacks the username or the password, `login`
        raises the error. `token` returns a token for OAUTHBEARER, and raises SaslRefused if it has
        none; it may block. Raises ConfigError for wrong extensions of OAUTHBEARER."""
        self._name = settings.name
        self._random_bytes = random_bytes
        # A single node needs no username: it connects to no other node.
        self._lacking = password_fault(settings)
        self._new_mechanism: NewClientMechanism | None = None
        if self._lacking is None:
            token_mechanisms = {}
            if settings.name == _OAUTHBEARER:
                assert token is not None, "who logs in by token has where to get one"
                token_mechanisms[_OAUTHBEARER] = _oauthbearer_logins(settings, key_prefix, token)
            self._new_mechanism = client_mechanism(settings, self._nonce, token_mechanisms)

    def login(self, client_id: str) -> SaslLogin:
        """Return a new login, for a new connection or for the re-authentication of an open one.
        Raises LoginRefused if the JAAS text lacks the username or the password."""
        if self._new_mechanism is None:
            raise LoginRefused(f"sasl.jaas.config has no {self._lacking} to log in with")
        mechanism = self._new_mechanism()
        # Correlation ids of the login alone: no other request is in flight during a login.
        numbers = count(1).__next__
        return SaslLogin(SaslClient(self._name, mechanism, client_id, numbers), self._name)

    def _nonce(self) -> str:
        """Return NONCE_BYTES new random bytes in base64."""
        return b64encode(self._random_bytes(NONCE_BYTES)).decode()


def _oauthbearer_logins(
    settings: MechanismSettings, key_prefix: str, token: Callable[[], str]
) -> Callable[[], ClientMechanism]:
    """Return a function that makes the client's half of an OAUTHBEARER login. Each login calls
    `token` for its first message, which may block.

    Raises ConfigError for wrong extensions.
    """
    # These modules load PyJWT and cryptography.
    from broker.security.sasl.oauthbearer.client import OAuthBearerClient
    from broker.security.sasl.oauthbearer.parts import client_extensions

    extensions = client_extensions(key_prefix, settings)
    return lambda: OAuthBearerClient(token, extensions)


class SaslLogin:
    """The client's half of one login, a `broker.security.client_guard.ClientLogin`."""

    def __init__(self, client: SaslClient, mechanism: str) -> None:
        self._client = client
        self._mechanism = mechanism

    @property
    def lifetime_ms(self) -> int:
        """The lifetime of the login after it is complete, in milliseconds; 0: unlimited."""
        return self._client.lifetime_ms

    def begin(self) -> bytes:
        """Return the frame of the first request, SaslHandshake, with its size prefix."""
        return self._client.begin()

    def received(self, answer: bytes) -> bytes | None:
        """Process an answer, without its size prefix. Return the next frame to send, with its size
        prefix, or None if the login is complete. Raises LoginRefused, with advice for the
        operator."""
        try:
            return self._client.received(memoryview(answer))
        except SaslRefused as refused:
            raise LoginRefused(self._advised(refused.text)) from None
        except ProtocolError as error:
            raise LoginRefused(f"its answer to the login is none: {error}") from None

    def _advised(self, text: str) -> str:
        """Return the server's error text. If it says that the authentication failed, advise to
        check username and password, except for OAUTHBEARER."""
        if self._mechanism == _OAUTHBEARER or not text.startswith("Authentication failed"):
            return text
        return f"{text}: check username and password in sasl.jaas.config"
