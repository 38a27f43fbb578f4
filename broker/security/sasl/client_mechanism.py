"""The interface of a SASL mechanism on the client's side: a first token, then an answer to each
challenge.

One object serves one login. `client_authenticator` puts its tokens into requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias


class ClientMechanism(Protocol):
    """The client's half of one login. Both methods may take milliseconds, to hash a password. Both
    raise SaslRefused, after which the object is of no use."""

    def first(self) -> bytes:
        """Return the client's first token. May block for milliseconds. Raises SaslRefused."""

    def challenge(self, token: bytes) -> bytes | None:
        """Return the answer to a token of the server; None: the client's half is complete. May
        block for milliseconds. Raises SaslRefused if the token is wrong or the server rejects the
        login."""


NewClientMechanism: TypeAlias = Callable[[], ClientMechanism]
"""A function that begins a login."""
