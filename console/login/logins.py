"""Logins to a console: by its token, or by a user name and a password; and what the cookie of a
logged-in browser holds.

Cookies stay valid over a restart of the console, if the token or the password file stays. The
cookie of a user ends with the user's password. Blocks while it hashes a password.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Protocol

from console.login.passwords import PasswordFile, PasswordHash, hash_of

WEEK_S = 7 * 24 * 3600
"""The lifetime of a cookie."""
USER, PASSWORD, TOKEN = "user", "password", "token"
"""The fields of the form."""
_LOGGED_OUT_MAX = 10_000


class Login(Protocol):
    """The way by which browsers log in to a console."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the form."""

    def cookie_of(self, form: Mapping[str, str]) -> str | None:
        """Return the value of the cookie for a filled-in form, None if the form is wrong."""

    def is_valid(self, cookie: str) -> bool:
        """Return whether a cookie is that of a logged-in browser."""

    def log_out(self, cookie: str) -> None:
        """End the validity of a cookie, if this login can."""


class TokenLogin:
    """A login by the console's token, which is also the value of the cookie."""

    fields = (TOKEN,)

    def __init__(self, token: str) -> None:
        self._token = token

    def cookie_of(self, form: Mapping[str, str]) -> str | None:
        """Return the token if it is in the form."""
        return self._token if self.is_valid(form.get(TOKEN, "").strip()) else None

    def is_valid(self, cookie: str) -> bool:
        """Return whether this is the token."""
        return hmac.compare_digest(cookie.encode("utf-8", "replace"), self._token.encode())

    def log_out(self, cookie: str) -> None:
        """Do nothing: the token stays valid, the browser drops its cookie."""


class PasswordLogin:
    """A login by a user name and a password of a file.

    A cookie is `USER.EXPIRES.NONCE.SIGNATURE`. The key of the signature is made of the user's hash
    in the file, so it changes with the password.
    """

    fields = (USER, PASSWORD)

    def __init__(
        self,
        file: PasswordFile,
        clock: Callable[[], float] = time.time,
        unknown: PasswordHash | None = None,
    ) -> None:
        """Create the login of the users in a file.

        The password of a user that the file lacks is hashed with `unknown`, so that the rejection
        takes as long as for a wrong password.
        """
        self._file = file
        self._clock = clock
        self._unknown = unknown or hash_of(secrets.token_urlsafe())
        self._lock = Lock()
        self._logged_out: OrderedDict[str, None] = OrderedDict()

    def cookie_of(self, form: Mapping[str, str]) -> str | None:
        """Return a new cookie if the form has a user and its password."""
        user, password = form.get(USER, ""), form.get(PASSWORD, "")
        kept = self._file.hash_of(user)
        if not (kept or self._unknown).matches(password) or kept is None:
            return None
        name = urlsafe_b64encode(user.encode("utf-8", "surrogatepass")).decode().rstrip("=")
        head = f"{name}.{int(self._clock()) + WEEK_S}.{secrets.token_urlsafe(12)}"
        return f"{head}.{_signature(head, kept)}"

    def is_valid(self, cookie: str) -> bool:
        """Return whether the cookie is signed, not expired and not logged out."""
        head, _, signature = cookie.rpartition(".")
        try:
            name, expires, _nonce = head.split(".")
            user = urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
            is_expired = int(expires) < self._clock()
        except ValueError:
            return False
        kept = self._file.hash_of(user)
        if kept is None or is_expired or cookie in self._logged_out:
            return False
        made = _signature(head, kept)
        return hmac.compare_digest(made.encode(), signature.encode("utf-8", "replace"))

    def log_out(self, cookie: str) -> None:
        """Reject this cookie from now on, until the console restarts."""
        if not self.is_valid(cookie):
            return
        with self._lock:
            self._logged_out[cookie] = None
            if len(self._logged_out) > _LOGGED_OUT_MAX:
                self._logged_out.popitem(last=False)


def _signature(head: str, kept: PasswordHash) -> str:
    key = hashlib.sha256(b"ottla console cookie\0" + str(kept).encode()).digest()
    return hmac.new(key, head.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
