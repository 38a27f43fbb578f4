"""Requests of strangers and other pages, hostile inputs, and a thousand tabs. Over HTTP alone."""

from __future__ import annotations

import http.client
import json
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
    with running_console(broker, ["--allow-host", ALLOWED_HOST, "--allow-writes"]) as running:
        yield running


def asked(
    link: str,
    path: str,
    headers: dict[str, str] | None = None,
    *,
    body: bytes | None = None,
    with_token: bool = True,
) -> http.client.HTTPResponse:
    place = urlsplit(link)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=90)
    token = place.query.partition("=")[2]
    cookie = {"cookie": f"ottla_console_{place.port}={token}"} if with_token else {}
    if body is not None:
        cookie |= {"origin": f"http://{place.netloc}", "content-type": "application/json"}
    method = "GET" if body is None else "POST"
    connection.request(method, path, body, headers=cookie | (headers or {}))
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


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/topics", b"[" * 200_000 + b"]" * 200_000),
        ("/api/topics/t/messages", b'{"value": "v", "partition": 1e400}'),
        ("/api/group/reset", b'{"group": "g", "moves": [{"partition": 1e400}]}'),
        ("/api/topics", b'{"name": "' + b"x" * 70_000 + b'"}'),
        ("/api/topics/" + "x" * 40_000, None),
        ("/api/topics/t/messages?partition=0&from=@9999999999999999999999", None),
        ("/api/topics/t/messages?from=9999999999999999999999", None),
    ],
)
def test_hostile_inputs_are_rejected_in_one_line(link: str, path: str, body: bytes | None) -> None:
    answer = asked(link, path, body=body)
    error = json.loads(answer.read_all)["error"]  # type: ignore[attr-defined]
    assert answer.status in (400, 409), error
    assert "\n" not in error
    assert answer.getheader("cache-control") == "no-store"


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
