"""From HTTP to endpoints and back: statuses, lines, headers, the page's files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any, cast

import pytest
from starlette.testclient import TestClient

from broker.config.start_error import StartError
from client.refusals import Leaderless, Refused
from console.application import BODY_BYTES_MAX, application
from console.clusters import Clusters
from console.endpoints import (
    Ask,
    BadAsk,
    Console,
    Download,
    DownloadStream,
    Endpoint,
    NotHere,
    get,
    post,
    stream,
)
from console.gate import Gate
from console.login.logins import TokenLogin
from console.options import ConsoleOptions
from protocol.primitives import StringTooLong

HOST = "http://localhost:8080"


class NoClusters:
    def close(self) -> None:
        pass


def client_of(*endpoints: Endpoint, allow_writes: bool = False) -> TestClient:
    console = Console(ConsoleOptions("localhost:9092"), cast(Clusters, NoClusters()))
    gate = Gate(TokenLogin("secret"), 8080, allow_writes=allow_writes)
    client = TestClient(application(console, gate, endpoints), base_url=HOST)
    client.cookies.set("ottla_console_8080", "secret")
    return client


def answering(found: object) -> Endpoint:
    def answer(console: Console, ask: Ask) -> object:
        if isinstance(found, Exception):
            raise found
        return found

    return get("/api/it", answer)


def test_the_link_gives_a_cookie_and_takes_the_token_out_of_the_address() -> None:
    client = client_of()
    client.cookies.clear()
    assert client.get("/").status_code == 401
    answer = client.get("/?token=secret", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/?token=secret").status_code == 200
    assert client.get("/?token=other", follow_redirects=False).status_code == 200, "by the cookie"
    foreign = client.get("/?token=secret", headers={"host": "evil.example:8080"})
    assert foreign.status_code == 421


def test_the_page_and_its_headers() -> None:
    client = client_of()
    page = client.get("/")
    assert "<title>Ottla</title>" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    assert client.get("/app.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/app.js").headers["cache-control"] == "no-cache"
    assert client.get("/no.js").status_code == 404
    assert client.get("/%2e%2e/application.py").status_code == 404
    assert client.get("/api/nothing").json() == {"error": "the console has no path /api/nothing"}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadAsk("b"), 400),
        (StringTooLong(40_000), 400),
        (NotHere("n"), 404),
        (Refused("r"), 409),
        (Leaderless("l"), 409),
        (StartError("s"), 502),
    ],
)
def test_what_goes_wrong_is_one_line(error: Exception, status: int) -> None:
    answer = client_of(answering(error)).get("/api/it")
    assert (answer.status_code, answer.json()) == (status, {"error": str(error)})


def test_a_fault_of_ours_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        answer = client_of(answering(ValueError("inside"))).get("/api/it")
    assert answer.status_code == 500
    assert answer.json() == {"error": "the console failed: see the stack trace in its log"}
    assert "ValueError: inside" in caplog.text


def test_a_client_that_leaves_in_the_middle_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    app = application(
        Console(ConsoleOptions("localhost:9092"), cast(Clusters, NoClusters())),
        Gate(TokenLogin("secret"), 8080, allow_writes=True),
        [post("/api/it", lambda console, ask: "done")],
    )
    headers = {
        "host": "localhost:8080",
        "origin": HOST,
        "content-type": "application/json",
        "cookie": "ottla_console_8080=secret",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/it",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    with caplog.at_level(logging.ERROR):
        asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 499
    assert caplog.text == ""


def test_a_question_is_asked_again_where_the_kept_connection_was_dead() -> None:
    tries: list[int] = []

    def answer(console: Console, ask: Ask) -> object:
        tries.append(1)
        if len(tries) % 2:
            raise StartError("gone")
        return "there"

    client = client_of(get("/api/it", answer), post("/api/change", answer), allow_writes=True)
    assert client.get("/api/it").json() == "there"
    headers = {"origin": HOST}
    assert client.post("/api/change", json={}, headers=headers).status_code == 502, "asked once"


def test_parameters_bodies_and_files() -> None:
    def echo(console: Console, ask: Ask) -> object:
        return [ask.text("name"), ask.text("q"), ask.body]

    def file(console: Console, ask: Ask) -> object:
        return Download('a "name"/é.bin', b"\x00<script>")

    client = client_of(post("/api/{name}", echo), get("/api/file", file), allow_writes=True)
    headers = {"origin": HOST}
    assert client.post("/api/t?q=1", json={"x": 1}, headers=headers).json() == ["t", "1", {"x": 1}]
    json_headers = headers | {"content-type": "application/json"}
    answer = client.post("/api/t?q=1", content=b"{", headers=json_headers)
    assert answer.json() == {"error": "the request is not JSON"}
    answer = client.post("/api/t?q=1", content=b" " * (BODY_BYTES_MAX + 1), headers=json_headers)
    assert answer.json() == {"error": "the request is larger than 16 MiB"}
    got = client.get("/api/file")
    assert got.content == b"\x00<script>"
    assert got.headers["content-type"] == "application/octet-stream"
    expected = "attachment; filename*=UTF-8''a%20%22name%22%2F%C3%A9.bin"
    assert got.headers["content-disposition"] == expected


def test_a_file_is_sent_while_it_is_made() -> None:
    ended = []

    def pieces() -> Iterator[bytes]:
        try:
            yield from (b"a", b"", b"b" * 70_000)
        finally:
            ended.append(True)

    def answer(_console: Console, _ask: Ask) -> DownloadStream:
        return DownloadStream("t.csv", "text/csv; charset=utf-8", pieces())

    with client_of(get("/api/file", answer)) as client:
        response = client.get("/api/file")
        assert response.content == b"a" + b"b" * 70_000
        assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''t.csv"
        assert response.headers["content-type"] == "text/csv; charset=utf-8"
        assert response.headers["cache-control"] == "no-store"
    assert ended == [True]


def test_a_reading_console_refuses_writes() -> None:
    client = client_of(post("/api/it", lambda console, ask: "done"))
    answer = client.post("/api/it", json={}, headers={"origin": HOST})
    assert answer.status_code == 403
    assert "--allow-writes" in answer.json()["error"]


def test_events() -> None:
    def count(console: Console, ask: Ask) -> Iterator[object]:
        yield from range(ask.number("to"))
        raise Refused("no more")

    answer = client_of(stream("/api/count", count)).get("/api/count?to=2")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text == (
        ': still here\n\ndata: 0\n\ndata: 1\n\nevent: failed\ndata: {"error":"no more"}\n\n'
    )
