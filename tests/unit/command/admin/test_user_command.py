"""`ottla user`: words, where the password comes from, what is printed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from client.access.users import Credential
from client.refusals import Refused
from command.admin import user_command
from command.cli import run_cli

Ottla = Callable[..., tuple[int, str, str]]
SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"


class Cluster:
    """Stands for a cluster: its users, and the passwords that were set."""

    def __init__(self, servers: str, config: str | None) -> None:
        self.call = self

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def users(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """(user, mechanism) → iterations and password."""
    known: dict[tuple[str, str], str] = {}

    def set_password(
        _: Any, name: str, mechanism: Any, iterations: int, password: str, random: Any
    ) -> None:
        known[name, mechanism.mechanism_name] = f"{iterations} {password}"

    def credentials(_: Any, names: Any = ()) -> list[Credential]:
        found = [
            Credential(name, mechanism, int(value.split()[0]))
            for (name, mechanism), value in sorted(known.items())
            if not names or name in names
        ]
        if names and not found:
            raise Refused(f"no such user: {names[0]}")
        return found

    def delete(_: Any, name: str, mechanism: Any) -> None:
        del known[name, mechanism.mechanism_name]

    for name, stand_in in (
        ("ClusterClient", Cluster),
        ("set_password", set_password),
        ("credentials", credentials),
        ("delete", delete),
    ):
        monkeypatch.setattr(user_command, name, stand_in)
    return known


@pytest.fixture
def ottla(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ottla:
    def run(*arguments: str, stdin: str | None = "") -> tuple[int, str, str]:
        """`stdin` None: a terminal."""
        words = io.StringIO(stdin)
        monkeypatch.setattr(words, "isatty", lambda: stdin is None)
        monkeypatch.setattr("sys.stdin", words)
        code = run_cli(["user", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


Users = dict[tuple[str, str], str]


def test_a_user_is_made_with_a_password_from_standard_input(users: Users, ottla: Ottla) -> None:
    code, out, err = ottla("add", "alice", stdin="secret\nmore\n")
    assert (code, out, err) == (0, f"user alice can log in by {SHA_512}\n", "")
    assert users == {("alice", SHA_512): "4096 secret"}


def test_two_mechanisms_and_a_password_from_a_file(
    users: Users, ottla: Ottla, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"of a file\r\n")
    both = ("--mechanism", SHA_256, "--mechanism", SHA_512, "--iterations", "5000")
    code, out, _ = ottla("add", "alice", *both, "--password-file", str(file), "--json")
    assert code == 0
    assert [json.loads(line) for line in out.splitlines()] == [
        {"user": "alice", "mechanism": one, "iterations": 5000} for one in (SHA_256, SHA_512)
    ]
    assert set(users.values()) == {"5000 of a file"}
    assert "of a file" not in out


def test_a_byte_order_mark_is_no_part_of_a_password(
    users: Users, ottla: Ottla, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text("of a file\r\n", "utf-8-sig")
    assert ottla("add", "alice", "--password-file", str(file))[0] == 0
    assert ottla("add", "bob", stdin="\ufeffpiped\r\n")[0] == 0
    assert set(users.values()) == {"4096 of a file", "4096 piped"}


@pytest.mark.parametrize("data", [b"\xff\xfes\0", b"x" * 10_000_000])
def test_a_file_that_is_no_password(
    users: Users, ottla: Ottla, tmp_path: Path, data: bytes
) -> None:
    file = tmp_path / "secret"
    file.write_bytes(data)
    code, out, error = ottla("add", "alice", "--password-file", str(file))
    assert (code, out, error.count("\n")) == (2, "", 1) and f"{file}: " in error
    assert users == {}


def test_a_terminal_is_asked_twice_without_an_echo(
    users: Users, ottla: Ottla, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def prompt(_: str, **how: Any) -> str:
        asked.append(how)
        return "typed"

    monkeypatch.setattr(user_command.click, "prompt", prompt)
    assert ottla("add", "alice", stdin=None)[0] == 0
    assert asked == [{"hide_input": True, "confirmation_prompt": True, "err": True}]
    assert users == {("alice", SHA_512): "4096 typed"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "alice"), "the password is empty"),
        (("add", "", "--password", "x"), "the name of a user must not be empty"),
        (("add", "alice", "--password", "x", "--password-file", "f"), "leave one out"),
        (("add", "alice", "--password-file", "/not/there"), "/not/there: No such file"),
        (("add", "alice", "--iterations", "3"), "4096 to 16384"),
        (("add", "alice", "--mechanism", "PLAIN"), "'PLAIN' is not one of"),
        (("add",), "Missing argument 'NAME'"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: tuple[str, ...], said: str, users: Users, ottla: Ottla
) -> None:
    code, out, err = ottla(*arguments)
    assert (code, out, users) == (2, "", {})
    assert err.startswith("ottla: ") and err.count("\n") == 1 and said in err


def test_a_user_is_removed(users: Users, ottla: Ottla) -> None:
    users |= {("alice", SHA_256): "4096 x", ("alice", SHA_512): "4096 x"}
    code, out, _ = ottla("delete", "alice", "--mechanism", SHA_256)
    assert code == 0 and f"no longer log in by {SHA_256};" in out
    assert ottla("delete", "alice", "--mechanism", SHA_256)[0] == 1
    assert ottla("delete", "alice", "--json")[1].startswith('{"user": "alice"')
    assert users == {}
    assert ottla("delete", "alice")[:2] == (1, "")
