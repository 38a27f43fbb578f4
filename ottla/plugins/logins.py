"""Who gets in by SASL: the classes that one's own judge of passwords or tokens extends.

Each is named by `listener.name.<listener>.<mechanism>.sasl.server.callback.handler.class`, where
Kafka names an `AuthenticateCallbackHandler`; there is one object for each listener and mechanism.
They are asked in threads, several questions at a time, so they may wait for another program. Who is
not answered within `ottla.plugins.timeout.ms` is not let in. One that raises refuses the login.
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
        """Called once, before the first question. `settings` are those of the node; what is set
        behind the prefixes of listener and mechanism stands under its plain name, too. `mechanism`
        is its name in SASL, `options` are those of its `sasl.jaas.config`."""


class PasswordCheck(_OfMechanism, ABC):
    """Judges the logins by PLAIN. Who is let in is `User:<user>`."""

    @abstractmethod
    def is_right(self, user: str, password: str) -> bool:
        """Whether that is the user's password. Neither is empty."""


class ScramCredential(NamedTuple):
    """What is kept of a password for SCRAM (RFC 5802). Nobody can log in with it."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int
    """At least 4096."""

    def __repr__(self) -> str:
        return f"ScramCredential([hidden], iterations={self.iterations})"

    @classmethod
    def of_password(
        cls, mechanism: str, password: str, salt: bytes | None = None, iterations: int = 4096
    ) -> ScramCredential:
        """For SCRAM-SHA-256 or SCRAM-SHA-512; without a salt, with a new one."""
        hash_name = mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        salt = os.urandom(16) if salt is None else salt
        salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", hash_name)
        stored_key = hashlib.new(hash_name, client_key).digest()
        return cls(salt, stored_key, hmac.digest(salted, b"Server Key", hash_name), iterations)


class ScramCredentials(_OfMechanism, ABC):
    """Knows the users of SCRAM-SHA-256 or SCRAM-SHA-512, in place of those in the metadata.
    Logins by delegation token do not come here."""

    @abstractmethod
    def credential(self, user: str) -> ScramCredential | None:
        """What is kept of that user's password, for the mechanism that `configure` named; None:
        there is no such user."""


class TokenRefused(Exception):
    """A token lets nobody in. The text is for the node's log; the client does not get it."""


class ValidToken(NamedTuple):
    """Whom a token lets in, and for how long."""

    user: str
    expires_at_ms: int
    """Milliseconds since 1970: then the login ends."""


class TokenCheck(_OfMechanism, ABC):
    """Judges the tokens of OAUTHBEARER. Who is let in is `User:<user>`."""

    @abstractmethod
    def validate(self, token: str) -> ValidToken:
        """Whose token that is. Raises TokenRefused."""
