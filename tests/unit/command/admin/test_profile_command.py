"""`ottla profile`: words, and what commands talk to afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from client.profiles import load_profiles
from command.cli import run_cli

Ottla = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ottla(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ottla:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("OTTLA_PROFILE", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        code = run_cli(["profile", *words])
        out, error = capsys.readouterr()
        return code, out, error

    return run


def test_the_life_of_a_profile(ottla: Ottla, tmp_path: Path) -> None:
    (tmp_path / "c.properties").touch()
    assert "no profiles" in ottla("list")[2]
    first = ("add", "a", "--bootstrap-server", "one:1", "--command-config", "c.properties")
    assert ottla(*first) == (0, "", "ottla: profile a is there and used\n")
    assert load_profiles().by_name["a"].command_config == str(tmp_path / "c.properties")
    assert ottla("add", "b", "--bootstrap-server", "two:2")[2] == "ottla: profile b is there\n"
    ottla("use", "b")
    rows = [json.loads(line) for line in ottla("list", "--json")[1].splitlines()]
    assert [(one["used"], one["profile"]) for one in rows] == [("", "a"), ("*", "b")]
    assert ottla("remove", "b", "--json")[1] == '{"profile": "b", "removed": true}\n'
    assert load_profiles().in_use is None
    ottla("use", "a")
    assert ottla("use", "--none", "--json")[1] == '{"profile": null, "used": false}\n'
    added = ("add", "c", "--bootstrap-server", "one:1", "--json")
    assert ottla(*added)[1] == '{"profile": "c", "used": false}\n'
    ottla("remove", "c")
    assert load_profiles().in_use is None and list(load_profiles().by_name) == ["a"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["use", "x"], "there is no profile x"),
        (["use"], "give the NAME of a profile, or --none"),
        (["use", "x", "--none"], "give the NAME of a profile, or --none"),
        (["remove", "x"], "there is no profile x"),
        (["add", "x"], "Missing option '-b' / '--bootstrap-server'"),
        (["add", "x", "--bootstrap-server", "a:b"], "host:port"),
        (["add", "x", "--bootstrap-server", "a", "--command-config", "no"], "no such file"),
    ],
)
def test_what_is_wrong_is_one_line(ottla: Ottla, words: list[str], said: str) -> None:
    code, out, error = ottla(*words)
    assert (code, out, error.count("\n")) == (2, "", 1) and said in error
