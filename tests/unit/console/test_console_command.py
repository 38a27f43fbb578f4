"""`ottla console`: its words."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from command.admin.decode_options import DecodeOptions
from console import server
from console.console_command import console
from console.login.passwords import PasswordFile
from console.options import ConsoleOptions


def test_what_explains_values(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[ConsoleOptions] = []
    monkeypatch.setattr(server, "run", lambda options, *, while_stdin: started.append(options))
    decode = DecodeOptions(("a.avsc",), "d", ("t=a.B",), "http://r:8081")
    assert CliRunner().invoke(console, decode.words()).exit_code == 0
    assert [one.decode for one in started] == [decode]


def test_a_folder_that_is_not_there() -> None:
    found = CliRunner().invoke(console, ["--data", "/no/such"])
    assert found.exit_code == 2
    assert "Directory '/no/such' does not exist" in found.output


def test_a_user_is_added_without_a_cluster(tmp_path: Path) -> None:
    path = tmp_path / "users"
    words = ["--password-file", str(path), "--add-user", "anna"]
    found = CliRunner().invoke(console, words, input="correct horse\n")
    assert found.exit_code == 0
    assert found.output == f"user anna can log in to a console with --password-file {path}\n"
    kept = PasswordFile(path).hash_of("anna")
    assert kept is not None
    assert kept.matches("correct horse")
    assert "--add-user needs --password-file" in str(
        CliRunner().invoke(console, ["--add-user", "anna"]).exception
    )


def test_where_the_login_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[ConsoleOptions] = []
    monkeypatch.setattr(server, "run", lambda options, *, while_stdin: started.append(options))
    monkeypatch.setenv("OTTLA_CONSOLE_TOKEN", "a-token-of-a-variable")
    file = tmp_path / "token"
    CliRunner().invoke(console, ["--token-file", str(file), "--behind-tls"])
    (options,) = started
    assert (options.token, options.token_file) == ("a-token-of-a-variable", file)
    assert options.behind_tls
