"""The console's process: its link, and a port that somebody has."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from broker.config.start_error import StartError
from console.login.passwords import add_user
from console.options import ConsoleOptions
from console.server import exposure_warning, is_behind_proxy, link, listening_at, login_of, run
from tests.tools.ports import free_port


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
        ("::1", "[::1]"),
        ("fe80::1", "[fe80::1]"),
    ],
)
def test_the_link_can_be_opened_on_this_machine(host: str, shown: str) -> None:
    assert link(host, 8080, "t") == f"http://{shown}:8080/?token=t"


def test_only_a_token_that_was_just_made_is_in_the_link(tmp_path: Path) -> None:
    made, where = login_of(ConsoleOptions("b"))
    assert where.token is not None
    assert made.is_valid(where.token)
    assert link("127.0.0.1", 8080, None) == "http://127.0.0.1:8080/"

    path = tmp_path / "token"
    login, where = login_of(ConsoleOptions("b", token_file=path))
    assert login.is_valid(path.read_text().strip())
    assert where == (None, f"log in to the console with the token in {path}")

    login, where = login_of(ConsoleOptions("b", token="a-token-of-a-variable"))
    assert login.is_valid("a-token-of-a-variable")
    assert where == (None, "log in to the console with OTTLA_CONSOLE_TOKEN")
    with pytest.raises(StartError, match="^OTTLA_CONSOLE_TOKEN must have"):
        login_of(ConsoleOptions("b", token="short"))

    users = tmp_path / "users"
    add_user(users, "anna", "correct horse")
    login, where = login_of(ConsoleOptions("b", password_file=users))
    assert login.fields == ("user", "password")
    assert where == (None, f"log in to the console as a user of {users}")
    with pytest.raises(StartError, match="leave one out"):
        login_of(ConsoleOptions("b", password_file=users, token_file=path))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "127.0.0.1", "allow_writes": True}, None),
        ({"host": "0.0.0.0", "behind_tls": True, "allow_writes": True}, None),
        ({"host": "0.0.0.0"}, "can read its logins and records: put a proxy"),
        (
            {"host": "0.0.0.0", "allow_writes": True},
            "and change the cluster with such a login: put",
        ),
    ],
)
def test_a_console_that_others_can_reach_without_tls_warns(
    options: dict[str, Any], words: str | None
) -> None:
    warning = exposure_warning(ConsoleOptions("b", **options))
    assert (warning is None) if words is None else (words in str(warning))


@pytest.mark.parametrize(
    ("options", "is_behind"),
    [({}, False), ({"behind_tls": True}, True), ({"allowed_hosts": ("console.example",)}, True)],
)
def test_headers_of_a_proxy_count_only_if_the_options_name_one(
    options: dict[str, Any], is_behind: bool
) -> None:
    assert is_behind_proxy(ConsoleOptions("b", **options)) == is_behind


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            StartError, match=rf"127.0.0.1:{port}: another process uses this port: choose"
        ):
            listening_at("127.0.0.1", port)


def test_without_a_broker_it_does_not_start() -> None:
    with pytest.raises(StartError, match="no broker answers"):
        run(ConsoleOptions(f"127.0.0.1:{free_port()}", port=0))
