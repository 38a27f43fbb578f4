"""The client half of OAUTHBEARER: how this node, or a command, logs in with a token.

`OAuthBearerClient` is one login. `TokenKeeper` has the token: it gets one when it starts, for which
its starter may wait, and the next when four fifths of the life of the last are over, as blocking
jobs, and tries again with a backoff where that fails. A login never waits for it: without a good
token it is refused, and who connects tries again. A core. Never logs a token.

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
"""Kafka's default. Without its jitter: a node has one token, not one a connection."""
_REFRESH_MIN_MS = 1_000
RETRY_BACKOFF_MS = 100
RETRY_BACKOFF_MAX_MS = 10_000
_READ = b"\x01"
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class OAuthBearerClient:
    """One login by token."""

    def __init__(self, token: Callable[[], str], extensions: Mapping[str, str]) -> None:
        """`token` gives one that is good now, and raises SaslRefused where there is none."""
        self._token = token
        self._extensions = extensions

    def first(self) -> bytes:
        """The first message. Raises SaslRefused."""
        token = self._token()
        if not _TOKEN.fullmatch(token):
            raise SaslRefused("the token to log in with has characters that no token has")
        pairs = "".join(f"{name}={value}\x01" for name, value in self._extensions.items())
        return f"n,,\x01auth=Bearer {token}\x01{pairs}\x01".encode()

    def challenge(self, token: bytes) -> bytes | None:
        """None: done. A refusal is acknowledged; the error itself comes in the next answer."""
        return _READ if token else None


def extension_fault(name: str, value: str) -> str | None:
    """What is wrong with an extension; None: nothing."""
    if name == "auth" or not _EXTENSION_NAME.fullmatch(name):
        return "its name is not letters, or auth"
    if not _EXTENSION_VALUE.fullmatch(value):
        return "its value is empty or not ASCII"
    return None


@dataclass(frozen=True, slots=True)
class _Held:
    token: str
    expires_at_ms: int


def expiry_ms(token: str) -> int:
    """When a token ends, by its own word: its signature is for the server to check.

    Raises TokenRefused.
    """
    return date_ms(json_object(take_apart(token).claims, "payload"), "exp")


class TokenKeeper:
    """The token of one client, got again before it ends."""

    def __init__(
        self, where: str, retrieve: Callable[[], str], scheduler: Scheduler, blocking: Blocking
    ) -> None:
        """`where` is the issuer's URL as it may be shown; `retrieve` blocks and raises OSError."""
        self._where = where
        self._retrieve = retrieve
        self._scheduler = scheduler
        self._blocking = blocking
        self._held: _Held | None = None
        self._failures = 0
        self._why = "no token has come yet"
        self._timer: Timer | None = None
        self._closed = False
        self._tried: Callable[[], None] | None = None

    def start(self, tried: Callable[[], None]) -> None:
        """Get the first token; then `tried`, once, also where it could not be had."""
        self._tried = tried
        self._get()

    def _get(self) -> None:
        self._blocking.submit(partial(_checked, self._retrieve), self._done)

    def close(self) -> None:
        """Get no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def token(self) -> str:
        """The token, if it is good now. Raises SaslRefused."""
        if self._held is None or self._held.expires_at_ms <= self._scheduler.wall_ms():
            raise SaslRefused(f"no token of {self._where} to log in with: {self._why}")
        return self._held.token

    def _done(self, held: _Held | None, error: Exception | None) -> None:
        if self._closed:
            return
        if held is None:
            self._failed(error)
        else:
            self._got(held)
        tried, self._tried = self._tried, None
        if tried is not None:
            tried()

    def _got(self, held: _Held) -> None:
        if self._failures:
            _log.info("Tokens of %s can be had again", self._where)
        self._failures = 0
        self._held = held
        self._why = "the last one expired"
        life_ms = held.expires_at_ms - self._scheduler.wall_ms()
        self._arm(max(life_ms * REFRESH_WINDOW_FACTOR, _REFRESH_MIN_MS))

    def _failed(self, error: Exception | None) -> None:
        self._why = str(error)
        if not self._failures:
            _log.warning("No token can be had of %s: %s", self._where, error)
        self._arm(min(RETRY_BACKOFF_MS << min(self._failures, 32), RETRY_BACKOFF_MAX_MS))
        self._failures += 1

    def _arm(self, delay_ms: float) -> None:
        self._timer = self._scheduler.call_later(delay_ms, self._get)


def _checked(retrieve: Callable[[], str]) -> _Held:
    token = retrieve()
    try:
        return _Held(token, expiry_ms(token))
    except TokenRefused as error:
        raise OSError(f"what came is no token of use: {error}") from None
