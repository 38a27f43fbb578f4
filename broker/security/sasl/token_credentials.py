"""The SCRAM credentials of delegation tokens, by which logins with a token are checked (KIP-48).

For SCRAM a token is a user whose name is the token's id, and whose password is its HMAC in base64.
The metadata has neither this password nor a salt, so each node salts the tokens itself, with a new
salt for each token and mechanism. It uses the fewest iterations that SCRAM allows, because an HMAC
cannot be guessed.

Salting takes some milliseconds, so a thread does it: in the background when a token is created, the
newest token first, and at once if a login needs it sooner.

Owns the credentials of the existing tokens. Never decides on a login (`scram`), and never logs or
sends an HMAC or a key.

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
    """A delegation token and the credential that its logins are checked by."""

    token: DelegationToken
    credential: ScramCredential


class Salting(NamedTuple):
    """The salting of a token, after which the caller asks for its credential again."""

    job: Callable[[], Credentials]
    """The salting itself: some milliseconds of CPU, in any thread."""
    keep: Callable[[object], None]
    """The function that stores the result of `job`; it runs on the event loop."""


class TokenCredentials:
    """The SCRAM credentials of the cluster's delegation tokens, as this node salted them."""

    def __init__(
        self,
        key: TokenKey,
        tokens: Callable[[], Tokens],
        mechanisms: Iterable[ScramMechanism],
        random_bytes: Callable[[int], bytes],
    ) -> None:
        """`tokens` returns the tokens that exist now; `mechanisms` are those of the listeners."""
        self._key = key
        self._tokens = tokens
        self._mechanisms = sorted(mechanisms)
        self._random_bytes = random_bytes
        self._salted: dict[str, Credentials] = {}
        self._waiting: list[str] = []
        self._blocking: Blocking | None = None
        self._busy = False

    def login(self, mechanism: ScramMechanism, token_id: str) -> TokenLogin | Salting | None:
        """Return the token and its credential, or the Salting that has to come first; None: no
        token has this id."""
        token = self._tokens().get(token_id)
        if token is None:
            return None
        credentials = self._salted.get(token_id)
        if credentials is None:
            return Salting(
                partial(self._made, token_id, self._salts()), partial(self._keep, token_id)
            )
        return TokenLogin(token, credentials[mechanism])

    def run_blocking(
        self, job: Callable[[], T], done: Callable[[T | None, Exception | None], None]
    ) -> None:
        """Run `job`, a login's salting, in a thread; later call `done` with its result or its
        exception (`broker.security.listener_guard.RunBlocking`). Only after `start`."""
        assert self._blocking is not None, "logins begin after the start"
        self._blocking.submit(job, done)

    def start(self, blocking: Blocking) -> None:
        """Salt all tokens in the background by jobs of `blocking`, and from now on the tokens that
        `changed` reports."""
        self._blocking = blocking
        self.changed(self._tokens())

    def close(self) -> None:
        """Stop salting tokens in the background, and drop those that wait. Logins can no longer
        salt, either."""
        self._blocking = None
        self._waiting.clear()

    def changed(self, tokens: Mapping[str, DelegationToken | None]) -> None:
        """Queue the tokens that were created for salting in the background, and forget the
        credentials of those that were deleted (None)."""
        for token_id, token in tokens.items():
            if token is None:
                self._salted.pop(token_id, None)
            elif token_id not in self._salted:
                self._waiting.append(token_id)
        self._next()

    def _next(self) -> None:
        """Begin to salt the newest waiting token in a thread, unless a salting is in progress.
        Tokens that are salted or deleted meanwhile are skipped."""
        while self._waiting and self._blocking is not None and not self._busy:
            token_id = self._waiting.pop()
            if token_id not in self._salted and token_id in self._tokens():
                self._busy = True
                salts = self._salts()
                self._blocking.submit(
                    partial(self._made, token_id, salts), partial(self._done, token_id)
                )

    def _done(self, token_id: str, made: Credentials | None, _error: Exception | None) -> None:
        """Store the computed credentials and begin the next salting.

        After an error nothing is stored; a login salts that token again.
        """
        self._busy = False
        if made is not None:
            self._keep(token_id, made)
        self._next()

    def _keep(self, token_id: str, made: object) -> None:
        """Store a token's credentials, if the token still exists and has none. A login in progress
        may use the existing credentials."""
        assert isinstance(made, dict)
        if token_id in self._tokens():
            self._salted.setdefault(token_id, made)

    def _salts(self) -> list[bytes]:
        """Return a new random salt for each mechanism."""
        return [self._random_bytes(SALT_BYTES) for _ in self._mechanisms]

    def _made(self, token_id: str, salts: list[bytes]) -> Credentials:
        """Return a token's credentials, one for each mechanism. Runs in any thread."""
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
