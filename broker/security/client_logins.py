"""Logins by SASL of this node, or of a command, into listeners of others.

Owns what is worth keeping from one login to the next: of a password its salted forms. A token comes
from whoever keeps it. Each login is a `SaslLogin`, whose failures are OSErrors with a line that
says what to do. Never: a socket. Loaded only where there is something to log in to.

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
    """The listener lets this one not in, or cannot be believed."""


class ClientLogins:
    """By one mechanism, with one set of credentials."""

    def __init__(
        self,
        settings: MechanismSettings,
        key_prefix: str,
        random_bytes: Callable[[int], bytes],
        token: Callable[[], str] | None,
    ) -> None:
        """`token` gives one for OAUTHBEARER and raises SaslRefused where there is none; it may
        block. Raises ConfigError."""
        self._name = settings.name
        self._random_bytes = random_bytes
        # A node that is alone needs no name: it connects to nobody.
        self._lacking = password_fault(settings)
        self._new_mechanism: NewClientMechanism | None = None
        if self._lacking is None:
            others = {}
            if settings.name == _OAUTHBEARER:
                assert token is not None, "who logs in by token has where to get one"
                others[_OAUTHBEARER] = _with_tokens(settings, key_prefix, token)
            self._new_mechanism = client_mechanism(settings, self._nonce, others)

    def login(self, client_id: str) -> SaslLogin:
        """For a new connection, or for the same again. Raises LoginRefused."""
        if self._new_mechanism is None:
            raise LoginRefused(f"sasl.jaas.config has no {self._lacking} to log in with")
        mechanism = self._new_mechanism()
        # The login's own: no request is under way meanwhile that is not told by its turn.
        numbers = count(1).__next__
        return SaslLogin(SaslClient(self._name, mechanism, client_id, numbers), self._name)

    def _nonce(self) -> str:
        return b64encode(self._random_bytes(NONCE_BYTES)).decode()


def _with_tokens(
    settings: MechanismSettings, key_prefix: str, token: Callable[[], str]
) -> Callable[[], ClientMechanism]:
    # PyJWT and cryptography come with these.
    from broker.security.sasl.oauthbearer.client import OAuthBearerClient
    from broker.security.sasl.oauthbearer.parts import client_extensions

    extensions = client_extensions(key_prefix, settings)
    return lambda: OAuthBearerClient(token, extensions)


class SaslLogin:
    """One login (`broker.security.client_guard.ClientLogin`)."""

    def __init__(self, client: SaslClient, mechanism: str) -> None:
        self._client = client
        self._mechanism = mechanism

    @property
    def lifetime_ms(self) -> int:
        """For how long the login is good, once it is made; 0: for ever."""
        return self._client.lifetime_ms

    def begin(self) -> bytes:
        """The first frame, its size first."""
        return self._client.begin()

    def received(self, answer: bytes) -> bytes | None:
        """The next frame to an answer, which is without its size; None: the login is made. Raises
        LoginRefused."""
        try:
            return self._client.received(memoryview(answer))
        except SaslRefused as refused:
            raise LoginRefused(self._advised(refused.text)) from None
        except ProtocolError as error:
            raise LoginRefused(f"its answer to the login is none: {error}") from None

    def _advised(self, text: str) -> str:
        if self._mechanism == _OAUTHBEARER or not text.startswith("Authentication failed"):
            return text
        return f"{text}: check username and password in sasl.jaas.config"
