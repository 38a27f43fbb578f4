"""The client's half of OAUTHBEARER: how this node, or a command, logs in with a token.

`OAuthBearerClient` is one login. `TokenKeeper` holds the token. It fetches the first token at its
start, and the next after four fifths of the token's lifetime, by blocking jobs; it retries with a
backoff. A login never waits for a token: without a valid token it fails, and the connection is
retried. Never opens a socket: the caller gives the function that fetches. Never logs a token.

Follows RFC 7628, KIP-255, KIP-342, KIP-768 and Kafka's `sasl.login.refresh.window.factor`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from broker.security.sasl.oauthbearer.jwt_compact import (
    TokenRefused,
    date_ms,
    json_object,
    take_apart,
)
from broker.security.sasl.server_mechanism import SaslRefused
from ground.ports import Blocking, Scheduler, Timer

_log = logging.getLogger(f"ottla.{__name__}")

REFRESH_WINDOW_FACTOR = 0.8
"""Kafka's default, the part of a token's lifetime after which the next token is fetched. Kafka's
jitter is left out, because a node has one token for all connections."""
_REFRESH_MIN_MS = 1_000
RETRY_BACKOFF_MS = 100
RETRY_BACKOFF_MAX_MS = 10_000
_READ = b"\x01"
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class OAuthBearerClient:
    """The client's half of one login by token."""

    def __init__(self, token: Callable[[], str], extensions: Mapping[str, str]) -> None:
        """`token` returns a token that is valid now, and raises SaslRefused if it has none."""
        self._token = token
        self._extensions = extensions

    def first(self) -> bytes:
        """Return the first message: the token and the extensions. Raises SaslRefused if there is
        no token to send."""
        token = self._token()
        if not _TOKEN.fullmatch(token):
            raise SaslRefused("the token to log in with has characters that no token has")
        pairs = "".join(f"{name}={value}\x01" for name, value in self._extensions.items())
        return f"n,,\x01auth=Bearer {token}\x01{pairs}\x01".encode()

    def challenge(self, token: bytes) -> bytes | None:
        """Return None if the server's message is empty: it accepted the token. Otherwise return the
        byte 1, which acknowledges the rejection; the server's next answer has the error."""
        return _READ if token else None


def extension_fault(name: str, value: str) -> str | None:
    """Return what is wrong with an extension; None: it is valid."""
    if name == "auth" or not _EXTENSION_NAME.fullmatch(name):
        return "its name is not letters, or auth"
    if not _EXTENSION_VALUE.fullmatch(value):
        return "its value is empty or not ASCII"
    return None


@dataclass(frozen=True, slots=True)
class _HeldToken:
    token: str
    expires_at_ms: int


def expiry_ms(token: str) -> int:
    """Return the time of a token's claim `exp`. The signature is not checked: servers do that.

    Raises TokenRefused if the token is malformed.
    """
    return date_ms(json_object(take_apart(token).claims, "payload"), "exp")


class TokenKeeper:
    """The token of one client, which is replaced before it expires."""

    def __init__(
        self, shown_url: str, retrieve: Callable[[], str], scheduler: Scheduler, blocking: Blocking
    ) -> None:
        """`shown_url` is the issuer's URL without secrets, for the log; `retrieve` fetches a token,
        which blocks; it raises OSError."""
        self._shown_url = shown_url
        self._retrieve = retrieve
        self._scheduler = scheduler
        self._blocking = blocking
        self._held: _HeldToken | None = None
        self._failures = 0
        self._lack_reason = "no token has come yet"
        self._timer: Timer | None = None
        self._closed = False
        self._on_first_try: Callable[[], None] | None = None

    def start(self, tried: Callable[[], None]) -> None:
        """Begin to fetch the first token in a thread. `tried` is called once, on the event loop,
        after the first try, also if it failed."""
        self._on_first_try = tried
        self._fetch()

    def _fetch(self) -> None:
        """Fetch a token in a thread; `_done` gets it, or the error."""
        self._blocking.submit(partial(_fetch_token, self._retrieve), self._done)

    def close(self) -> None:
        """Stop fetching tokens. A token that is being fetched is ignored, and `tried` is not
        called."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def token(self) -> str:
        """Return the token. Raises SaslRefused if there is none or it has expired."""
        if self._held is None or self._held.expires_at_ms <= self._scheduler.wall_ms():
            raise SaslRefused(f"no token of {self._shown_url} to log in with: {self._lack_reason}")
        return self._held.token

    def _done(self, held: _HeldToken | None, error: Exception | None) -> None:
        """Store the fetched token, or schedule a retry. After the first try, whatever its result,
        call the `tried` of `start`."""
        if self._closed:
            return
        if held is None:
            self._failed(error)
        else:
            self._store(held)
        tried, self._on_first_try = self._on_first_try, None
        if tried is not None:
            tried()

    def _store(self, held: _HeldToken) -> None:
        """Set the token that `token` returns, and schedule the next fetch at REFRESH_WINDOW_FACTOR
        of its lifetime."""
        if self._failures:
            _log.info("Tokens of %s can be had again", self._shown_url)
        self._failures = 0
        self._held = held
        self._lack_reason = "the last one expired"
        life_ms = held.expires_at_ms - self._scheduler.wall_ms()
        self._arm(max(life_ms * REFRESH_WINDOW_FACTOR, _REFRESH_MIN_MS))

    def _failed(self, error: Exception | None) -> None:
        """Set the reason that `token` gives if it has none, and retry after a growing delay.

        Logs a warning for only the first of several failures. An older token stays in use.
        """
        self._lack_reason = str(error)
        if not self._failures:
            _log.warning("No token can be had of %s: %s", self._shown_url, error)
        self._arm(min(RETRY_BACKOFF_MS << min(self._failures, 32), RETRY_BACKOFF_MAX_MS))
        self._failures += 1

    def _arm(self, delay_ms: float) -> None:
        """Fetch the next token after `delay_ms`."""
        self._timer = self._scheduler.call_later(delay_ms, self._fetch)


def _fetch_token(retrieve: Callable[[], str]) -> _HeldToken:
    """Fetch a token, which blocks, and read its expiry. Raises OSError if it cannot be fetched, or
    is no JWT with a date `exp`."""
    token = retrieve()
    try:
        return _HeldToken(token, expiry_ms(token))
    except TokenRefused as error:
        raise OSError(f"what came is no token of use: {error}") from None
