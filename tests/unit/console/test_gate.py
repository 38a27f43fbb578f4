"""Requests are rejected by each of their words that can tell another page or a stranger."""

from __future__ import annotations

import pytest

from console.gate import Asked, Gate, is_loopback
from console.login.logins import TokenLogin

HERE = {"host": "127.0.0.1:8080"}
COOKIE = {"ottla_console_8080": "secret"}
JSON = HERE | {"origin": "http://127.0.0.1:8080", "content-type": "application/json"}


def status(
    gate: Gate,
    headers: dict[str, str],
    cookies: dict[str, str] = COOKIE,
    method: str = "GET",
    path: str = "/api/about",
) -> int:
    refused = gate.refusal(Asked(method, path, headers, cookies))
    return 200 if refused is None else refused.status


def test_the_cookie_of_the_link_is_asked_for() -> None:
    gate = Gate(TokenLogin("secret"), 8080)
    assert status(gate, HERE) == 200
    assert status(gate, HERE, {}) == 401
    assert status(gate, HERE, {"ottla_console_8080": "other"}) == 401
    assert status(gate, HERE, {"ottla_console_8081": "secret"}) == 401
    assert status(gate, HERE, {"ottla_console_8080": "\udcff"}) == 401


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:8080", 200),
        ("LOCALHOST:8080", 200),
        ("[::1]:8080", 200),
        ("[0:0:0:0:0:0:0:1]:8080", 200),
        ("127.0.0.1:8081", 421),
        ("127.0.0.1", 421),
        ("evil.example:8080", 421),
        ("127.0.0.1.evil.example:8080", 421),
        ("192.0.2.7:8080", 421),
        ("", 421),
    ],
)
def test_a_name_that_was_made_to_point_here_is_refused(host: str, expected: int) -> None:
    assert status(Gate(TokenLogin("secret"), 8080), {"host": host}) == expected


def test_an_open_console_is_reached_by_any_address_but_by_named_hosts_alone() -> None:
    gate = Gate(TokenLogin("secret"), 8080, host="0.0.0.0", allowed_hosts=("Console.example",))
    assert status(gate, {"host": "192.0.2.7:8080"}) == 200
    assert status(gate, {"host": "192.0.2.7:9999"}) == 421
    assert status(gate, {"host": "console.example"}) == 200, "a proxy has a port of its own"
    assert status(gate, {"host": "evil.example:8080"}) == 421


def test_a_named_address_is_reached_as_browsers_write_it() -> None:
    gate = Gate(TokenLogin("secret"), 8080, allowed_hosts=("2001:DB8:0:0:0:0:0:7", "[2001:db8::8]"))
    assert status(gate, {"host": "[2001:db8::7]"}) == 200
    assert status(gate, {"host": "[2001:db8::8]:9999"}) == 200
    assert status(gate, {"host": "[2001:db8::9]"}) == 421


def test_port_80_is_not_written() -> None:
    gate = Gate(TokenLogin("secret"), 80)
    assert status(gate, {"host": "localhost"}, {"ottla_console_80": "secret"}) == 200


def test_pages_of_others_may_not_ask() -> None:
    gate = Gate(TokenLogin("secret"), 8080)
    assert status(gate, HERE | {"origin": "http://127.0.0.1:8080"}) == 200
    assert status(gate, HERE | {"origin": "http://127.0.0.1:3000"}) == 403
    assert status(gate, HERE | {"origin": "null"}) == 403
    assert status(gate, HERE | {"sec-fetch-site": "same-origin"}) == 200
    assert status(gate, HERE | {"sec-fetch-site": "none"}) == 200
    assert status(gate, HERE | {"sec-fetch-site": "same-site"}) == 403
    assert status(gate, HERE | {"sec-fetch-site": "cross-site"}) == 403


def test_writes_take_the_option_and_json_of_the_own_page() -> None:
    assert status(Gate(TokenLogin("secret"), 8080), JSON, method="POST") == 403
    gate = Gate(TokenLogin("secret"), 8080, allow_writes=True)
    assert status(gate, JSON, method="POST") == 200
    assert (
        status(gate, JSON | {"content-type": "application/json; charset=utf-8"}, method="POST")
        == 200
    )
    assert status(gate, JSON | {"content-type": "text/plain"}, method="POST") == 403
    assert status(gate, HERE | {"content-type": "application/json"}, method="POST") == 403
    assert status(gate, JSON, {}, method="POST") == 401
    assert status(gate, JSON, method="DELETE") == 200, "the application knows no such method"


FORM = HERE | {
    "origin": "http://127.0.0.1:8080",
    "content-type": "application/x-www-form-urlencoded",
}


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (FORM, None),
        (FORM | {"sec-fetch-site": "same-origin"}, None),
        (FORM | {"sec-fetch-site": "none"}, 403),
        (FORM | {"sec-fetch-site": "same-site"}, 403),
        (FORM | {"origin": "null"}, 403),
        (FORM | {"origin": "https://evil.example"}, 403),
        (FORM | {"host": "evil.example:8080"}, 421),
        (FORM | {"content-type": "text/plain"}, 403),
        ({name: value for name, value in FORM.items() if name != "origin"}, 403),
    ],
)
def test_a_login_comes_from_the_own_page(headers: dict[str, str], expected: int | None) -> None:
    gate = Gate(TokenLogin("secret"), 8080)
    refused = gate.form_refusal(Asked("POST", "/login", headers, {}))
    assert (None if refused is None else refused.status) == expected


@pytest.mark.parametrize(
    ("host", "proto", "behind_tls", "expected"),
    [
        ("console.example", "https", False, True),
        ("console.example", "http", False, False),
        ("console.example", None, False, False),
        ("127.0.0.1:8080", "https", False, False),
        ("127.0.0.1:8080", None, True, True),
    ],
)
def test_tls_is_known_by_a_proxy_that_is_allowed_or_by_the_option(
    host: str, proto: str | None, behind_tls: bool, expected: bool
) -> None:
    gate = Gate(
        TokenLogin("secret"), 8080, allowed_hosts=("console.example",), behind_tls=behind_tls
    )
    forwarded = {} if proto is None else {"x-forwarded-proto": proto}
    assert gate.is_secure(Asked("GET", "/", {"host": host} | forwarded, {})) is expected


def test_loopback() -> None:
    assert [
        is_loopback(one) for one in ("localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]")
    ] == [True] * 5
    assert [is_loopback(one) for one in ("0.0.0.0", "::", "10.0.0.1", "example.org", "")] == [
        False
    ] * 5
