"""Logins by a form: the page, the cookie, wrong ones, too many of them, and the end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.testclient import TestClient

from console.application import application
from console.clusters import Clusters
from console.endpoints import Console, get
from console.entrance import HASHES_AT_ONCE
from console.gate import Gate
from console.login.attempts import FAILURES_MAX
from console.login.logins import Login, PasswordLogin, TokenLogin
from console.login.passwords import PasswordFile, add_user
from console.options import ConsoleOptions

PLACE = "http://localhost:8080"
OWN = {"origin": PLACE, "sec-fetch-site": "same-origin"}
COOKIE = "ottla_console_8080"
PASSWORD = "correct horse"


def client_of(login: Login, base_url: str = PLACE, *, behind_tls: bool = False) -> TestClient:
    console = Console(ConsoleOptions("localhost:9092"), cast(Clusters, None))
    gate = Gate(login, 8080, allowed_hosts=("console.example",), behind_tls=behind_tls)
    endpoint = get("/api/it", lambda console, ask: "answer")
    return TestClient(
        application(console, gate, [endpoint]), base_url=base_url, follow_redirects=False
    )


def form_scope() -> dict[str, Any]:
    """Return the ASGI scope of the login form that the own page sends."""
    kind = "application/x-www-form-urlencoded"
    headers = OWN | {"host": "localhost:8080", "content-type": kind}
    return {
        "type": "http",
        "method": "POST",
        "path": "/login",
        "query_string": b"",
        "client": ("127.0.0.1", 50_000),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }


@pytest.fixture
def users(tmp_path: Path) -> PasswordLogin:
    add_user(tmp_path / "users", "anna", PASSWORD)
    return PasswordLogin(PasswordFile(tmp_path / "users"))


def test_a_stranger_gets_the_form_and_nothing_else() -> None:
    client = client_of(TokenLogin("secret"))
    answer = client.get("/")
    assert answer.status_code == 401
    assert '<form method="post" action="/login">' in answer.text
    assert answer.headers["referrer-policy"] == "same-origin", "else the form has no origin"
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert client.get("/login.css").status_code == 200
    assert client.get("/icon.svg").status_code == 200
    assert client.get("/login.css", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/app.js").status_code == 401
    assert client.get("/api/it").json() == {"error": "log in to the console: reload the page"}


def test_a_token_that_is_typed() -> None:
    client = client_of(TokenLogin("secret"))
    wrong = client.post("/login", data={"token": "guess"}, headers=OWN)
    assert wrong.status_code == 401
    assert "This is not the token of this console." in wrong.text
    answer = client.post("/login", data={"token": "secret"}, headers=OWN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=secret; HttpOnly;")
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    found = client.get("/api/it")
    assert found.json() == "answer"
    assert found.headers["cache-control"] == "no-store"


def test_users_log_in_and_out(users: PasswordLogin) -> None:
    client = client_of(users)
    wrong = client.post("/login", data={"user": "<anna", "password": PASSWORD}, headers=OWN)
    assert wrong.status_code == 401
    assert "The user name or the password is wrong." in wrong.text
    assert 'value="&lt;anna"' in wrong.text
    assert client.get("/?token=anna").status_code == 401
    client.post("/login", data={"user": "anna", "password": PASSWORD}, headers=OWN)
    assert client.get("/api/it").json() == "answer"
    cookie = client.cookies[COOKIE]
    assert client.post("/logout", data={}, headers=OWN).status_code == 403, "without a form"
    form = OWN | {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/logout", headers=form).status_code == 303
    assert COOKIE not in client.cookies
    client.cookies.set(COOKIE, cookie)
    assert client.get("/api/it").status_code == 401, "the cookie itself has ended"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "https://evil.example"},
        {"origin": PLACE, "sec-fetch-site": "same-site"},
        {"host": "evil.example:8080", "origin": "http://evil.example:8080"},
    ],
)
def test_a_form_of_another_page_logs_nobody_in_or_out(headers: dict[str, str]) -> None:
    client = client_of(TokenLogin("secret"))
    answer = client.post("/login", data={"token": "secret"}, headers=headers)
    assert answer.status_code in (403, 421)
    assert "set-cookie" not in answer.headers
    assert client.post("/logout", data={"a": "b"}, headers=headers).status_code in (403, 421)


def test_too_many_failed_logins_and_a_form_that_is_too_large() -> None:
    client = client_of(TokenLogin("secret"))
    assert client.post("/login", data={"token": "x" * 20_000}, headers=OWN).status_code == 413
    for _ in range(FAILURES_MAX):
        assert client.post("/login", data={"token": "guess"}, headers=OWN).status_code == 401
    answer = client.post("/login", data={"token": "secret"}, headers=OWN)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 60
    assert "Too many failed logins: wait" in answer.text
    client.cookies.set(COOKIE, "secret")
    assert client.get("/api/it").status_code == 200, "browsers that are logged in stay so"


def test_logins_that_come_at_once_do_not_pass_the_limit_together() -> None:
    gate = Gate(TokenLogin("secret"), 8080)
    app = application(Console(ConsoleOptions("localhost:9092"), cast(Clusters, None)), gate, [])

    async def guess(number: int) -> int:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"token=%d" % number}

        async def send(message: Any) -> None:
            sent.append(message)

        await app(form_scope(), receive, send)
        return int(sent[0]["status"])

    async def guess_at_once() -> list[int]:
        return await asyncio.gather(*map(guess, range(5 * FAILURES_MAX)))

    statuses = asyncio.run(guess_at_once())
    assert FAILURES_MAX <= statuses.count(401) < FAILURES_MAX + HASHES_AT_ONCE
    assert statuses.count(429) == len(statuses) - statuses.count(401)


def test_behind_tls_the_cookie_is_sent_by_tls_only() -> None:
    client = client_of(TokenLogin("secret"), behind_tls=True)
    assert "Secure" in client.get("/?token=secret").headers["set-cookie"]
    proxy = client_of(TokenLogin("secret"), "http://console.example")
    https = {"x-forwarded-proto": "https"}
    assert "Secure" in proxy.get("/?token=secret", headers=https).headers["set-cookie"]
    direct = client_of(TokenLogin("secret"))
    assert "Secure" not in direct.get("/?token=secret", headers=https).headers["set-cookie"]
