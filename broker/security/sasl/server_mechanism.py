"""The interface of a SASL mechanism on the server's side: tokens in, challenges out, a name at the
end.

One object serves one login. It knows neither frames nor connections; `authenticator` takes its
tokens from requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias


class SaslRefused(Exception):
    """A rejected login.

    `text` is sent to the peer; empty: a text that gives no reason. `reason` is for the log; empty:
    `text` says all.
    """

    def __init__(self, text: str = "", reason: str = "") -> None:
        """Store the text for the peer and the reason for the log. `str()` is the reason, or the
        text if the reason is empty."""
        super().__init__(reason or text)
        self.text = text
        self.reason = reason


class BlockingCall(NamedTuple):
    """A blocking call that a mechanism needs before it can answer."""

    job: Callable[[], object]
    """The call, which runs in a thread."""
    resume: Callable[[object, int], bytes | BlockingCall]
    """The function that continues the login. It takes the result of the job, or the exception that
    the job raised, and the time, and returns and raises as `evaluate` does."""


class ServerMechanism(Protocol):
    """The server's half of one login."""

    @property
    def complete(self) -> bool:
        """Whether the client is authenticated. Then no more tokens are evaluated."""

    @property
    def principal_name(self) -> str:
        """The name in the principal `User:<name>`; valid after the login is complete."""

    @property
    def by_token(self) -> bool:
        """Whether a delegation token of this principal logged in; valid after the login is
        complete."""

    @property
    def expires_at_ms(self) -> int | None:
        """The time at which the client's token expires, on the clock of `now_ms`; None: never."""

    @property
    def refusal(self) -> str:
        """The reason of the rejection that the last challenge carried, for the log; empty if it
        carried none."""

    def evaluate(self, token: bytes, now_ms: int) -> bytes | BlockingCall:
        """Process a token of the client. Return the challenge that answers it, or a blocking call
        that has to run first; then no token comes before its `resume` was called. Raises
        SaslRefused, which ends the login."""


NewServerMechanism: TypeAlias = Callable[[str], ServerMechanism]
"""A function that begins a login by the mechanism of this name, which is an enabled mechanism."""
