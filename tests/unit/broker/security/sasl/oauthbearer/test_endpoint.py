"""Reading keys and tokens from a small server on loopback, and from files."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from broker.security.sasl.oauthbearer.endpoint import (
    ClientCredentials,
    EndpointError,
    EndpointLimits,
    checked_url,
    reader,
    token_from,
)
from broker.security.tls.contexts import client_context, server_context
from tests import certificates

LIMITS = EndpointLimits(60_000, 60_000, 1000)
CREDENTIALS = ClientCredentials("ottla", "s3cret:ä", "kafka other")


class Handler(BaseHTTPRequestHandler):
    """Answers by the path that is asked for, and notes what it heard."""

    heard: ClassVar[list[tuple[str, str, dict[str, str], bytes]]] = []
    drips: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.heard.append((self.command, self.path, dict(self.headers), body))
        getattr(self, "do_" + self.path.split("?")[0].strip("/").replace("-", "_"))()

    do_POST = do_GET

    def answer(self, body: bytes, status: int = 200, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        if status == 302:
            self.send_header("Location", "/keys")
        self.end_headers()
        self.wfile.write(body)

    def do_keys(self) -> None:
        self.answer(b"the keys")

    def do_limit(self) -> None:
        self.answer(b"x" * 1000)

    def do_large(self) -> None:
        self.answer(b"x" * 1001)

    def do_endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"x" * 100_000)

    def do_cut(self) -> None:
        self.answer(b"abc", length=10)

    def do_moved(self) -> None:
        self.answer(b"", 302)

    def do_denied(self) -> None:
        self.answer(b'{"error":"invalid_client","secret":"s3cret"}', 401)

    def do_no_http(self) -> None:
        self.wfile.write(b"what?\r\n")

    def do_drip(self) -> None:
        self.send_response(200)
        if self.path.endswith("sized"):
            self.send_header("Content-Length", "900")
        self.end_headers()
        while not self.drips.wait(0.01):
            self.wfile.write(b"x")

    def do_token(self) -> None:
        self.answer(b'{"access_token":" a.b.c ","expires_in":60}')

    def do_no_token(self) -> None:
        self.answer(b'{"token":"a.b.c"}')

    def do_list(self) -> None:
        self.answer(b"[")

    def log_message(self, *args: object) -> None: ...


class Server(ThreadingHTTPServer):
    """Dripping into a closed connection is no error of the test."""

    def handle_error(self, *args: object) -> None: ...


@pytest.fixture(scope="module")
def base() -> Iterator[str]:
    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    Handler.drips.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def secured() -> Iterator[str]:
    server = Server(("127.0.0.1", 0), Handler)
    context = server_context("", certificates.pem_values(certificates.server()))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def no_tls() -> ssl.SSLContext:
    raise AssertionError("plain HTTP needs no TLS")


def read(url: str, limits: EndpointLimits = LIMITS) -> bytes | None:
    return reader(url, limits, no_tls)()


def fault(url: str, limits: EndpointLimits = LIMITS) -> str:
    with pytest.raises(EndpointError) as failed:
        read(url, limits)
    return str(failed.value)


def test_keys_are_read(base: str) -> None:
    assert read(f"{base}/keys?tenant=5") == b"the keys"
    assert Handler.heard[-1][:2] == ("GET", "/keys?tenant=5")
    assert read(f"{base}/limit") == b"x" * 1000


TOO_LARGE = "it has more than 1000 bytes (ottla.sasl.oauthbearer.response.max.bytes)"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("large", TOO_LARGE),
        ("endless", TOO_LARGE),
        ("cut", "the answer ends too early"),
        ("moved", "the answer is HTTP 302, not 200"),
        ("denied", "the answer is HTTP 401, not 200"),
        ("no-http", "the answer is not HTTP (BadStatusLine)"),
    ],
)
def test_answers_of_no_use(base: str, path: str, why: str) -> None:
    assert fault(f"{base}/{path}") == why


@pytest.mark.parametrize("path", ["drip", "drip?sized"])
def test_an_answer_that_drips_has_a_deadline(base: str, path: str) -> None:
    assert fault(f"{base}/{path}", EndpointLimits(60_000, 200, 1000)) == "no answer in time"


def test_nobody_there() -> None:
    assert fault("http://127.0.0.1:9/keys") == "Connection refused"


def test_tls_with_a_server_that_has_none(base: str) -> None:
    url = base.replace("http:", "https:") + "/keys"
    with pytest.raises(EndpointError, match="^TLS: "):
        reader(url, LIMITS, ssl.create_default_context)()


def trusting(authority: certificates.Identity) -> Callable[[], ssl.SSLContext]:
    return lambda: client_context("", certificates.pem_values(None, authority))


def test_keys_by_https_of_one_who_is_trusted(secured: str) -> None:
    assert reader(f"{secured}/keys", LIMITS, trusting(certificates.authority()))() == b"the keys"
    with pytest.raises(EndpointError, match="^TLS: CERTIFICATE_VERIFY_FAILED$"):
        reader(f"{secured}/keys", LIMITS, trusting(certificates.foreign_authority()))()


def test_a_token_is_asked_for_by_the_clients_credentials(base: str) -> None:
    assert token_from(f"{base}/token", LIMITS, no_tls, CREDENTIALS) == "a.b.c"
    method, _, headers, body = Handler.heard[-1]
    assert method == "POST"
    assert headers["Authorization"] == "Basic b3R0bGE6czNjcmV0OsOk"
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert body == b"grant_type=client_credentials&scope=kafka+other"
    token_from(f"{base}/token", LIMITS, no_tls, ClientCredentials("a", "b", None))
    assert Handler.heard[-1][3] == b"grant_type=client_credentials"


@pytest.mark.parametrize("path", ["no-token", "list", "denied", "keys"])
def test_no_token_and_no_secret_in_the_reason(base: str, path: str) -> None:
    with pytest.raises(EndpointError) as failed:
        token_from(f"{base}/{path}", LIMITS, no_tls, CREDENTIALS)
    assert "s3cret" not in str(failed.value)


def test_a_file_is_read_when_it_is_another(tmp_path: Path) -> None:
    path = tmp_path / "key set.json"
    path.write_bytes(b"one")
    again = reader(path.as_uri(), LIMITS, no_tls)
    assert again() == b"one"
    assert again() is None
    path.write_bytes(b"two")
    os.utime(path, (1, 1))
    assert again() == b"two"
    assert again() is None
    path.unlink()
    with pytest.raises(EndpointError, match="No such file or directory"):
        again()
    path.write_bytes(b"x" * 1001)
    with pytest.raises(EndpointError, match="more than 1000 bytes"):
        again()
    path.write_bytes(b"x" * 1000)
    assert again() == b"x" * 1000


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert fault(tmp_path.as_uri()) == "Is a directory"


def test_a_token_may_lie_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("a.b.c\n")
    for _ in range(2):
        assert token_from(path.as_uri(), LIMITS, no_tls, None) == "a.b.c"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:p@Issuer.example:8443/keys?key=s3cret#x", "https://issuer.example:8443/keys"),
        ("http://[::1]:80/keys", "http://[::1]:80/keys"),
        ("file:///etc/keys.json", "file:///etc/keys.json"),
        ("file:/etc/keys.json", "file:///etc/keys.json"),
        ("file://localhost/etc/keys.json", "file:///etc/keys.json"),
    ],
)
def test_what_of_a_url_may_be_shown(url: str, shown: str) -> None:
    assert checked_url(url) == shown


@pytest.mark.parametrize(
    "url", ["", "keys.json", "/keys", "ftp://x/y", "https:", "http:///x", "file:keys", "file://x/y",
            "http://x:port/", "http://[::1/"]
)  # fmt: skip
def test_urls_of_no_use(url: str) -> None:
    with pytest.raises(ValueError):
        checked_url(url)
