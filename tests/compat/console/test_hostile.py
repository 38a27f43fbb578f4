"""Who is not let in, and what a thousand of those who are may cost. Over HTTP alone."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from tests.tools.console import running_console

TABS = 1_000

ALLOWED_HOST = "console.example"
"""What a proxy in front of the console is called."""


@pytest.fixture(scope="module")
def link(broker: str) -> Iterator[str]:
    with running_console(broker, ["--allow-host", ALLOWED_HOST]) as running:
        yield running


def asked(
    link: str, path: str, headers: dict[str, str] | None = None, *, with_token: bool = True
) -> http.client.HTTPResponse:
    place = urlsplit(link)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=90)
    token = place.query.partition("=")[2]
    cookie = {"cookie": f"ottla_console_{place.port}={token}"} if with_token else {}
    connection.request("GET", path, headers=cookie | (headers or {}))
    answer = connection.getresponse()
    answer.read_all = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def test_other_pages_names_and_strangers_are_refused(link: str) -> None:
    port = urlsplit(link).port
    assert asked(link, "/api/about").status == 200
    assert asked(link, "/api/about", with_token=False).status == 401
    assert asked(link, "/", with_token=False).status == 401
    assert asked(link, "/api/about", {"origin": "https://evil.example"}).status == 403
    assert asked(link, "/api/about", {"sec-fetch-site": "cross-site"}).status == 403
    assert asked(link, "/api/about", {"host": f"evil.example:{port}"}).status == 421
    assert asked(link, "/api/about", {"host": ALLOWED_HOST}).status == 200


def test_a_thousand_tabs_are_served_or_told_and_the_console_lives(link: str) -> None:
    """Each holds a connection and asks, and all are answered."""
    place = urlsplit(link)
    token = place.query.partition("=")[2]
    request = (
        f"GET /api/about HTTP/1.1\r\nHost: {place.netloc}\r\n"
        f"Cookie: ottla_console_{place.port}={token}\r\n\r\n"
    ).encode()
    statuses = []
    with ExitStack() as opened:
        tabs = [
            opened.enter_context(socket.create_connection((place.hostname, place.port), 30))
            for _ in range(TABS)
        ]
        for one in tabs:
            one.sendall(request)
        for one in tabs:
            statuses.append(one.recv(4096)[9:12])
        assert asked(link, "/api/about").status == 200, "one more, beside them"
    assert statuses == [b"200"] * TABS
