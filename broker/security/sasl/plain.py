"""PLAIN (RFC 4616): a name and a password in one message.

The users are options of the listener's JAAS text, `user_<name>="<password>"`. `username` and
`password` there are the node's own, for its connections to other nodes; no client can log in with
them. An unknown user and a wrong password get the same error after the same time.

Follows Kafka's `PlainSaslServer` and `PlainServerCallbackHandler`.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import Protocol

from broker.config.security_settings import Secret
from broker.security.sasl.server_mechanism import SaslRefused

_USER_OPTION = "user_"
_PARTS = 3
_INVALID = "Authentication failed: Invalid username or password"
_NO_NAME = "Authentication failed: username not specified"
_NO_PASSWORD = "Authentication failed: password not specified"
OTHER_AUTHORIZATION_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class PlainUsers:
    """The users of one listener and their passwords."""

    def __init__(self, options: Mapping[str, Secret]) -> None:
        """Read the users from the `options` of the listener's JAAS text: `user_<name>` with the
        password as its value."""
        self._passwords = {
            name.removeprefix(_USER_OPTION).encode(): password.value.encode()
            for name, password in options.items()
            if name.startswith(_USER_OPTION)
        }

    def authenticate(self, name: bytes, password: bytes) -> bool:
        """Return whether the user exists and has this password."""
        expected = self._passwords.get(name)
        same = hmac.compare_digest(b"" if expected is None else expected, password)
        return same and expected is not None


class Users(Protocol):
    """The interface of `PlainUsers`, which `broker.plugins.logins` implements too."""

    def authenticate(self, name: bytes, password: bytes) -> bool:
        """Return whether the user exists and has this password."""


def read_plain(token: bytes) -> tuple[bytes, bytes, bytes]:
    """Return authorization id, name and password. Raises SaslRefused if the token is malformed."""
    parts = token.split(b"\0", _PARTS)
    if len(parts) != _PARTS:
        raise SaslRefused(
            f"Invalid SASL/PLAIN response: expected {_PARTS} tokens, got {len(parts)}"
        )
    return parts[0], parts[1], parts[2]


class PlainServer:
    """The server's half of one login."""

    by_token = False
    expires_at_ms = None

    def __init__(self, users: Users) -> None:
        self.complete = False
        self.refusal = ""
        self.principal_name = ""
        self._users = users

    def evaluate(self, token: bytes, now_ms: int) -> bytes:
        """Check a token of authorization id, name and password, with a NUL between them. Set the
        principal's name, complete the login and return an empty challenge. Raises SaslRefused if
        the token is malformed, the password is wrong, or the authorization id is another name."""
        authorization_id, name, password = read_plain(token)
        if not name:
            raise SaslRefused(_NO_NAME)
        if not password:
            raise SaslRefused(_NO_PASSWORD)
        if not self._users.authenticate(name, password):
            raise SaslRefused(_INVALID)
        if authorization_id and authorization_id != name:
            raise SaslRefused(OTHER_AUTHORIZATION_ID)
        self.principal_name = name.decode()
        self.complete = True
        return b""


class PlainClient:
    """The client's half of one login."""

    def __init__(self, name: str, password: Secret) -> None:
        self._name = name
        self._password = password

    def first(self) -> bytes:
        """Return the only token: no authorization id, the name, the password."""
        return f"\0{self._name}\0{self._password.value}".encode()

    def challenge(self, token: bytes) -> bytes | None:
        """Return None, because the login is complete. Raises SaslRefused if the server sent a
        challenge."""
        if token:
            raise SaslRefused(f"a challenge of {len(token)} bytes, where PLAIN has none")
        return None
