"""The reader of OAUTHBEARER's keys and tokens, from an `https:`, `http:` or `file:` URL.

Uses sockets, files and the clock. Each reading blocks, so a node calls it as a blocking job. Each
has a deadline and a limit on the bytes of its answer. A redirect is an error, because only the
configuration says which server may get a secret. Raises no other error than `EndpointError`, whose
text has no secret and no URL.

Follows RFC 6749 (4.4, client credentials) and KIP-768.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlencode, urlsplit

_CONNECT_MS = 10_000
_READ_MS = 10_000
"""The default read timeout, in milliseconds. Kafka's default is no limit; the broker's threads for
blocking jobs have other work."""
_SCHEMES = ("https", "http", "file")
_PIECE_BYTES = 65_536
_TOO_LATE = "no answer in time"


class EndpointError(OSError):
    """A failed reading; `str()` says why."""


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """The timeouts and the size limit of one reading; None is the default of this module."""

    connect_timeout_ms: int | None
    read_timeout_ms: int | None
    response_max_bytes: int

    @property
    def connect_s(self) -> float:
        """The longest time to connect, in seconds."""
        return (_CONNECT_MS if self.connect_timeout_ms is None else self.connect_timeout_ms) / 1000

    @property
    def read_s(self) -> float:
        """The longest time from connecting to the end of the answer, in seconds."""
        return (_READ_MS if self.read_timeout_ms is None else self.read_timeout_ms) / 1000


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """The client's id, its secret, and the scope that it wants a token for; None: no scope."""

    client_id: str
    client_secret: str
    scope: str | None


TlsContext = Callable[[], ssl.SSLContext]


def checked_url(url: str) -> str:
    """Return a URL without the parts that may be secret (user, query), to be logged. Raises
    ValueError, with one line, if the URL cannot be read from."""
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES:
        raise ValueError("a URL begins with https:, http: or file:")
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise ValueError("a URL of a file is file:///path/from/the/root")
        return f"file://{parts.path}"
    if not parts.hostname:
        raise ValueError("a URL has no host")
    port = "" if parts.port is None else f":{parts.port}"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path}"


def reader(url: str, limits: EndpointLimits, tls: TlsContext) -> Callable[[], bytes | None]:
    """Return a function that reads `url` at each call, which blocks. It returns the bytes, or None
    if a file is unchanged since the last call. It raises EndpointError."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return _FileReader(unquote(parts.path), limits.response_max_bytes)
    return lambda: _exchange(parts, limits, tls, "GET", {}, None)


def token_from(
    url: str, limits: EndpointLimits, tls: TlsContext, credentials: ClientCredentials | None
) -> str:
    """Return a token: from the issuer for the client's credentials, or the text of a file. Blocks.
    Raises EndpointError."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        text = _FileReader(unquote(parts.path), limits.response_max_bytes)()
        return (text or b"").decode("ascii", "replace").strip()
    assert credentials is not None, "an issuer is asked without credentials"
    form = {"grant_type": "client_credentials"}
    if credentials.scope:
        form["scope"] = credentials.scope
    headers = {
        "Authorization": _basic(credentials),
        "Content-Type": "application/x-www-form-urlencoded",
    }
    return _token_of(_exchange(parts, limits, tls, "POST", headers, urlencode(form).encode()))


def _token_of(answer: bytes) -> str:
    """Return the access token of an issuer's answer. Raises EndpointError if it has none."""
    try:
        body = json.loads(answer)
    except (ValueError, RecursionError):
        body = None
    token = body.get("access_token") if isinstance(body, dict) else None
    if not isinstance(token, str) or not token.strip():
        raise EndpointError("the issuer's answer has no access_token")
    return token.strip()


def _basic(credentials: ClientCredentials) -> str:
    """Return the Authorization header, with id and secret as they are. RFC 6749 2.3.1 wants them
    URL-encoded, which few issuers expect."""
    pair = f"{credentials.client_id}:{credentials.client_secret}"
    return "Basic " + b64encode(pair.encode()).decode()


class _FileReader:
    """A reader that returns a file's bytes only if the file has changed since the last call."""

    def __init__(self, path: str, max_bytes: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._last_stamp: tuple[int, int, int] | None = None

    def __call__(self) -> bytes | None:
        """Return the file's bytes, None if its time, size and inode are those of the last call.
        Raises EndpointError if it cannot be read, or has more than `max_bytes`."""
        try:
            with open(self._path, "rb") as file:
                status = os.fstat(file.fileno())
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                if stamp == self._last_stamp:
                    return None
                data = file.read(self._max_bytes + 1)
        except OSError as error:
            raise EndpointError(error.strerror or "the file cannot be read") from None
        if len(data) > self._max_bytes:
            raise EndpointError(_too_large(self._max_bytes))
        self._last_stamp = stamp
        return data


def _exchange(
    url: SplitResult,
    limits: EndpointLimits,
    tls: TlsContext,
    method: str,
    headers: Mapping[str, str],
    body: bytes | None,
) -> bytes:
    """Send an HTTP request over a new connection and return the body of its answer. Raises
    EndpointError for a failed connection, an exceeded limit, or a status other than 200, also a
    redirect."""
    host = url.hostname or ""
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    connection = (
        http.client.HTTPSConnection(host, url.port, timeout=limits.connect_s, context=tls())
        if url.scheme == "https"
        else http.client.HTTPConnection(host, url.port, timeout=limits.connect_s)
    )
    try:
        connection.connect()
        with _deadline(connection.sock, limits.read_s):
            connection.request(method, target, body, {"Accept": "application/json", **headers})
            with connection.getresponse() as answer:
                if answer.status != http.client.OK:
                    raise EndpointError(f"the answer is HTTP {answer.status}, not 200")
                return _body(answer, limits.response_max_bytes)
    except EndpointError:
        raise
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise EndpointError(_failure_text(error)) from None
    finally:
        connection.close()


def _body(answer: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """Return the answer's body. Raises EndpointError if it is cut or longer than `max_bytes`."""
    data = bytearray()
    while piece := answer.read1(min(_PIECE_BYTES, max_bytes + 1 - len(data))):
        data += piece
        if len(data) > max_bytes:
            raise EndpointError(_too_large(max_bytes))
    if answer.length:
        raise EndpointError("the answer ends too early")
    return bytes(data)


@contextlib.contextmanager
def _deadline(connected: socket.socket, seconds: float) -> Iterator[None]:
    """Shut the connection down if the block takes longer than `seconds`, even if bytes still
    arrive. At the end of that block raise EndpointError in place of its own error."""
    connected.settimeout(seconds)
    timed_out = threading.Event()

    def end() -> None:
        """Shut the connection down, because its time is over."""
        timed_out.set()
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connected, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        yield
    except Exception:
        if not timed_out.is_set():
            raise
    finally:
        timer.cancel()
    if timed_out.is_set():
        raise EndpointError(_TOO_LATE)


def _too_large(max_bytes: int) -> str:
    """Return the error text for an answer or file with more than `max_bytes`."""
    return f"it has more than {max_bytes} bytes (ottla.sasl.oauthbearer.response.max.bytes)"


def _failure_text(error: Exception) -> str:
    """Return the reason of a failed HTTP request in words."""
    if isinstance(error, TimeoutError):
        return _TOO_LATE
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or 'the handshake failed'}"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return f"the answer is not HTTP ({type(error).__name__})"
