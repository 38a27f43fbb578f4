"""Who may ask the console: the browser of who started it, and no page of another site in it.

A page that the same browser shows can send requests to loopback. Four things keep it out: the token
of the printed link, kept in a cookie that goes along with requests of this site alone; `Host`, so
that a name that was made to point here (DNS rebinding) is refused; `Origin` and `Sec-Fetch-Site`;
and, for writes, JSON, which no form can send. Pure: decides from a request's words.

Follows the Fetch Metadata and Cookie (RFC 6265bis, SameSite) rules that browsers keep.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from protocol.ip_address import canonical_address

TOKEN = "token"
"""Of the printed link's query."""
_READS = ("GET", "HEAD")
_NOT_OPENED = "open the link that ottla console printed: it contains the token\n"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status of HTTP, and one line."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of a request. Names of headers are lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    cookies: Mapping[str, str]


class Gate:
    """Of one console."""

    def __init__(
        self,
        token: str,
        port: int,
        *,
        host: str = "127.0.0.1",
        allowed_hosts: tuple[str, ...] = (),
        allow_writes: bool = False,
    ) -> None:
        self._token = token.encode()
        self._port = port
        self._allow_writes = allow_writes
        home = ("localhost", "127.0.0.1", "::1", host.lower())
        self._home = tuple(map(canonical_address, home))
        self._allowed = tuple(canonical_address(one.lower()) for one in allowed_hosts)
        self._is_open = not is_loopback(host)
        self.cookie = f"ottla_console_{port}"
        """Its name: cookies do not tell ports of a host apart."""

    def is_token(self, text: str) -> bool:
        """Whether that is the one of the link."""
        return hmac.compare_digest(text.encode("utf-8", "replace"), self._token)

    def refusal(self, asked: Asked) -> Refusal | None:
        """Why a request is not answered; None: it is."""
        return self._strange(asked) or self._unknown(asked) or self._write(asked)

    def foreign(self, asked: Asked) -> Refusal | None:
        """The same for who brings the token itself: only where the request comes from."""
        return self._strange(asked)

    def _strange(self, asked: Asked) -> Refusal | None:
        host = asked.headers.get("host", "")
        if not self._is_ours(host):
            return Refusal(
                421, f"this console rejects the host name {host!r}: allow it by --allow-host\n"
            )
        origin = asked.headers.get("origin")
        if origin is not None and origin not in (f"http://{host}", f"https://{host}"):
            return Refusal(403, f"this console rejects requests of pages from {origin}\n")
        site = asked.headers.get("sec-fetch-site", "none")
        if asked.path.startswith("/api/") and site not in ("none", "same-origin"):
            return Refusal(403, "this console rejects requests of pages from other sites\n")
        return None

    def _unknown(self, asked: Asked) -> Refusal | None:
        if self.is_token(asked.cookies.get(self.cookie, "")):
            return None
        return Refusal(401, _NOT_OPENED)

    def _write(self, asked: Asked) -> Refusal | None:
        if asked.method in _READS:
            return None
        if not self._allow_writes:
            return Refusal(
                403, "this console is read-only: start it with --allow-writes to make changes\n"
            )
        kind = asked.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" or "origin" not in asked.headers:
            return Refusal(403, "this console accepts changes only as JSON from its own page\n")
        return None

    def _is_ours(self, host: str) -> bool:
        name, port = _split(host)
        if name in self._allowed:
            return True  # a proxy has a port of its own
        is_known = name in self._home or (self._is_open and _is_address(name))
        return is_known and port == str(self._port)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    """A name can be made to point anywhere, an address is what it is."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _split(host: str) -> tuple[str, str]:
    """Name in lower case, of an address its canonical spelling without brackets, and port."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "80"  # which browsers leave out
    return canonical_address(name.lower()), port
