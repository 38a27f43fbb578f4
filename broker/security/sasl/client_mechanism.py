"""What a SASL mechanism is on the client's side: a first token, then an answer to each challenge.

One object serves one login. `client_authenticator` has the conversation around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias


class ClientMechanism(Protocol):
    """The client's half of one login. Both methods may take milliseconds, for a password, and both
    raise SaslRefused, after which it is over."""

    def first(self) -> bytes:
        """What the client says first."""

    def challenge(self, token: bytes) -> bytes | None:
        """The answer to what the server said; None: the login is made, as far as the client can
        tell."""


NewClientMechanism: TypeAlias = Callable[[], ClientMechanism]
"""Begins a login."""
