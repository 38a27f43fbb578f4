"""What logins by delegation token are judged by: the credential of each token (KIP-48).

For SCRAM a token is a user whose name is the token's id, and whose password is its HMAC in base64.
The metadata has no password and no salt of it, so each node salts the tokens for itself: with a
salt of its own for each mechanism, and the fewest iterations that there may be, since nobody
guesses an HMAC.

Salting takes some milliseconds, so a thread does it: in the background as tokens come, the newest
first, and at once where a login needs it sooner.

Owns the credentials of tokens that there are. Never: decides on a login (`scram`), and never tells
an HMAC or a key.

Follows Kafka's `DelegationTokenManager.prepareScramCredentials` and `DelegationTokenCache`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple, TypeVar

from controller.metadata.delegation_token import DelegationToken, TokenKey, Tokens
from controller.metadata.scram_credential import (
    ITERATIONS_MIN,
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted_password,
)
from ground.ports import Blocking

T = TypeVar("T")

SALT_BYTES = 24

Credentials = Mapping[ScramMechanism, ScramCredential]


class TokenLogin(NamedTuple):
    """A token and what it logs in by."""

    token: DelegationToken
    credential: ScramCredential


class Salting(NamedTuple):
    """A token has to be salted first; then it is to be asked for again."""

    job: Callable[[], Credentials]
    """Some milliseconds of CPU, by any thread."""
    keep: Callable[[object], None]
    """What came of it."""


class TokenCredentials:
    """Of one node."""

    def __init__(
        self,
        key: TokenKey,
        tokens: Callable[[], Tokens],
        mechanisms: Iterable[ScramMechanism],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """`tokens` are those of now, `mechanisms` those that a listener has."""
        self._key = key
        self._tokens = tokens
        self._mechanisms = sorted(mechanisms)
        self._random_bytes = random_bytes
        self._known: dict[str, Credentials] = {}
        self._waiting: list[str] = []
        self._blocking: Blocking | None = None
        self._busy = False

    def login(self, mechanism: ScramMechanism, token_id: str) -> TokenLogin | Salting | None:
        """By that token; None: there is no such one."""
        token = self._tokens().get(token_id)
        if token is None:
            return None
        known = self._known.get(token_id)
        if known is None:
            return Salting(
                partial(self._made, token_id, self._salts()), partial(self._keep, token_id)
            )
        return TokenLogin(token, known[mechanism])

    def ask(self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]) -> None:
        """Salt for a login (`broker.security.listener_guard.Ask`)."""
        assert self._blocking is not None, "logins begin after the start"
        self._blocking.submit(job, done)

    def start(self, blocking: Blocking) -> None:
        """Salt the tokens by jobs of `blocking`."""
        self._blocking = blocking
        self.changed(self._tokens())

    def close(self) -> None:
        """No more of that."""
        self._blocking = None
        self._waiting.clear()

    def changed(self, tokens: Mapping[str, DelegationToken | None]) -> None:
        """These are new or others now; None: gone."""
        for token_id, token in tokens.items():
            if token is None:
                self._known.pop(token_id, None)
            elif token_id not in self._known:
                self._waiting.append(token_id)
        self._next()

    def _next(self) -> None:
        """Salt one, and then the others."""
        while self._waiting and self._blocking is not None and not self._busy:
            token_id = self._waiting.pop()
            if token_id not in self._known and token_id in self._tokens():
                self._busy = True
                salts = self._salts()
                self._blocking.submit(
                    partial(self._made, token_id, salts), partial(self._done, token_id)
                )

    def _done(self, token_id: str, made: Credentials | None, _error: Exception | None) -> None:
        self._busy = False
        if made is not None:
            self._keep(token_id, made)
        self._next()

    def _keep(self, token_id: str, made: object) -> None:
        """The first that was made: a login may be under way by it."""
        assert isinstance(made, dict)
        if token_id in self._tokens():
            self._known.setdefault(token_id, made)

    def _salts(self) -> list[bytes]:
        return [self._random_bytes(SALT_BYTES) for _ in self._mechanisms]

    def _made(self, token_id: str, salts: list[bytes]) -> Credentials:
        """By any thread."""
        password = b64encode(self._key.hmac_of(token_id)).decode()
        return {
            mechanism: credential_of(
                mechanism,
                salted_password(mechanism, password, salt, ITERATIONS_MIN),
                salt,
                ITERATIONS_MIN,
            )
            for mechanism, salt in zip(self._mechanisms, salts, strict=True)
        }
