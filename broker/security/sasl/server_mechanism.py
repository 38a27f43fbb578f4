"""What a SASL mechanism is on the server's side: tokens in, challenges out, at last a name.

One object serves one login. It knows neither frames nor connections; `authenticator` has the
conversation around it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias


class SaslRefused(Exception):
    """A login is refused. `text` is told to the peer; empty: the usual one, which tells nothing.

    `reason` is for the log; empty: there is no more to say than `text`.
    """

    def __init__(self, text: str = "", reason: str = "") -> None:
        super().__init__(reason or text)
        self.text = text
        self.reason = reason


class Question(NamedTuple):
    """An answer that needs somebody else's."""

    job: Callable[[], object]
    """Gives that one's; it may block, so it runs in a thread."""
    go_on: Callable[[object, int], bytes | Question]
    """What the job gave, or the exception that it raised, and the time → as `evaluate`."""


class ServerMechanism(Protocol):
    """The server's half of one login."""

    @property
    def complete(self) -> bool:
        """Whether the client is who it says it is. Then nothing more is evaluated."""

    @property
    def principal_name(self) -> str:
        """Who that is, as in `User:<name>`; once it is complete."""

    @property
    def by_token(self) -> bool:
        """Whether it was a delegation token of that one that logged in; once it is complete."""

    @property
    def expires_at_ms(self) -> int | None:
        """When what it showed ends, on the clock of `now_ms`; None: it does not."""

    @property
    def refusal(self) -> str:
        """Why the login is refused, for the log, where a challenge has told the client so; empty:
        it is not."""

    def evaluate(self, token: bytes, now_ms: int) -> bytes | Question:
        """The answer to a token of the client. Raises SaslRefused, after which it is over. After a
        Question nothing is evaluated until it has gone on."""


NewServerMechanism: TypeAlias = Callable[[str], ServerMechanism]
"""Begins a login by the mechanism of that name, which is one of those that are enabled."""
