"""The rules by which a console rejects requests that do not come from its own logged-in page.

A page of another site in the same browser can send requests to loopback. Four things keep it out:
the cookie of the login, which goes along with requests of this site alone; `Host`, so a name that
an attacker made to point here (DNS rebinding) is rejected; `Origin` and `Sec-Fetch-Site`; and, for
writes, JSON, which no form can send. Pure: decides from the headers of a request.

Follows the Fetch Metadata and Cookie (RFC 6265bis, SameSite) rules that browsers keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from console.login.logins import Login
from protocol.ip_address import canonical_address

_READS = ("GET", "HEAD")
_NOT_LOGGED_IN = "log in to the console: reload the page\n"
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The HTTP status of a rejected request, and the reason in one line."""

    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of a request by which the gate decides. The names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    cookies: Mapping[str, str]


class Gate:
    """The gate of a console; `login` knows the cookies of logged-in browsers."""

    def __init__(
        self,
        login: Login,
        port: int,
        *,
        host: str = "127.0.0.1",
        allowed_hosts: tuple[str, ...] = (),
        allow_writes: bool = False,
        behind_tls: bool = False,
    ) -> None:
        """Create the gate of the console at `port`.

        `behind_tls`: browsers reach the console only through a proxy with TLS.
        """
        self.login = login
        self._behind_tls = behind_tls
        self._port = port
        self._allow_writes = allow_writes
        home = ("localhost", "127.0.0.1", "::1", host.lower())
        self._home = tuple(map(canonical_address, home))
        self._allowed = tuple(canonical_address(name.lower()) for name in allowed_hosts)
        self._is_open = not is_loopback(host)
        self.cookie = f"ottla_console_{port}"
        """The name of the cookie, with the port: browsers share cookies among ports of a host."""

    def refusal(self, asked: Asked) -> Refusal | None:
        """Return why a request is rejected; None if the application answers it."""
        return self._strange(asked) or self._unknown(asked) or self._write(asked)

    def foreign(self, asked: Asked) -> Refusal | None:
        """Return why a request is rejected whether or not its browser is logged in."""
        return self._strange(asked)

    def form_refusal(self, asked: Asked) -> Refusal | None:
        """Return why the form of a login or logout is rejected. It must come from the own page, so
        a page of another site can log no browser in or out."""
        strange = self._strange(asked)
        if strange is not None:
            return strange
        kind = asked.headers.get("content-type", "").partition(";")[0].strip().lower()
        site = asked.headers.get("sec-fetch-site", "same-origin")
        if kind != _FORM or "origin" not in asked.headers or site != "same-origin":
            return Refusal(403, "this console accepts logins only from its own page\n")
        return None

    def is_secure(self, asked: Asked) -> bool:
        """Return whether the browser sent a request with TLS: to a proxy whose name is allowed."""
        if self._behind_tls:
            return True
        name, _ = _split(asked.headers.get("host", ""))
        is_https = asked.headers.get("x-forwarded-proto", "").strip().lower() == "https"
        return is_https and name in self._allowed

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
        if self.login.is_valid(asked.cookies.get(self.cookie, "")):
            return None
        return Refusal(401, _NOT_LOGGED_IN)

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
    """Return whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    """Return whether this is an IP address. An attacker can make a name point here, but no
    address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _split(host: str) -> tuple[str, str]:
    """Return the name in lower case, an address in its canonical spelling without brackets; and
    the port."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, "80"  # which browsers leave out
    return canonical_address(name.lower()), port
