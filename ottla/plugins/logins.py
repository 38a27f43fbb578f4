"""The classes that a check of SASL passwords, SCRAM credentials or tokens extends.

Each is named by `listener.name.<listener>.<mechanism>.sasl.server.callback.handler.class`, where
Kafka names an `AuthenticateCallbackHandler`. Each listener and mechanism has an object of its own.
They are called in threads, several at the same time, so they may wait for another program. A login
is rejected if the class raises, or does not answer within `ottla.plugins.timeout.ms`.

`TokenRefused` and `ScramCredential` are for users' classes. The broker has the same two concepts
with the same names in `jwt_compact` and `controller.metadata.scram_credential`.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple


class _OfMechanism:
    def configure(
        self, settings: Mapping[str, str], mechanism: str, options: Mapping[str, str]
    ) -> None:
        """Read the node's settings. Does nothing unless a subclass overrides it. The broker calls
        this once, before the first login; if it raises, the node does not start.

        Settings with the prefix of this listener and mechanism are in `settings` under their plain
        names too. `mechanism` is the SASL name of the mechanism; `options` are those of its
        `sasl.jaas.config`.
        """


class PasswordCheck(_OfMechanism, ABC):
    """A check of PLAIN logins. The principal of a successful login is `User:<user>`."""

    @abstractmethod
    def is_right(self, user: str, password: str) -> bool:
        """Return True if `password` is the user's password, otherwise False. Neither argument is
        empty. A value of another type, or an exception, rejects the login and is logged."""


class ScramCredential(NamedTuple):
    """The salted keys that a server stores of a password for SCRAM (RFC 5802). A client cannot log
    in with them."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int
    """The rounds of the salted hash; at least 4096."""

    def __repr__(self) -> str:
        """Return a text with the iterations, which hides the salt and the keys."""
        return f"ScramCredential([hidden], iterations={self.iterations})"

    @classmethod
    def of_password(
        cls, mechanism: str, password: str, salt: bytes | None = None, iterations: int = 4096
    ) -> ScramCredential:
        """Return the credential of a password for the mechanism `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        `salt` None: draw 16 random bytes. Raises ValueError for an unknown mechanism."""
        hash_name = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        salt = os.urandom(16) if salt is None else salt
        salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", hash_name)
        stored_key = hashlib.new(hash_name, client_key).digest()
        return cls(salt, stored_key, hmac.digest(salted, b"Server Key", hash_name), iterations)


class ScramCredentials(_OfMechanism, ABC):
    """The source of SCRAM-SHA-256 or SCRAM-SHA-512 users, instead of those in the cluster's
    metadata. Logins by delegation token do not use it."""

    @abstractmethod
    def credential(self, user: str) -> ScramCredential | None:
        """Return the user's credential for the mechanism that `configure` named; None if there is
        no such user, which rejects the login."""


class TokenRefused(Exception):
    """The token is not valid. The text is written to the node's log; the client does not see it."""


class ValidToken(NamedTuple):
    """The user of a valid token, and the time at which the token expires."""

    user: str
    expires_at_ms: int
    """Milliseconds since 1970: the time at which the login ends."""


class TokenCheck(_OfMechanism, ABC):
    """A check of OAUTHBEARER tokens. The principal of a successful login is `User:<user>`."""

    @abstractmethod
    def validate(self, token: str) -> ValidToken:
        """Return the user and the expiry of a token. Raises TokenRefused, with the reason for the
        node's log, if the token is not valid."""
