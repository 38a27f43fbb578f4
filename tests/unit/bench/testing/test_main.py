"""The command: what it prints, its status, and how it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.testing import __main__ as command
from bench.testing.results import Results


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["bench.testing", *words])
    return command.main()


def with_medians(start: float, reset: float) -> Results:
    found = Results({}, {"Ottla": "it"}, 1)
    found.add("Ottla", "start", start)
    found.add("Ottla", "reset", reset)
    return found


def test_a_kept_run_is_printed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.json"
    with_medians(99, 4).save(path)
    assert run(monkeypatch, "--report", str(path)) == 0
    with_medians(101, 4).save(path)
    assert run(monkeypatch, "--report", str(path)) == 1
    assert "≤ 100: not met" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--candidates", "docker"], "no candidate 'docker'"),
        (["--rounds", "0"], "at least one round"),
        (["--report", "nowhere.json"], "nowhere.json"),
    ],
)
def test_what_is_wrong_is_one_line(
    words: list[str],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, *words)
    assert ended.value.code == 2 and text in capsys.readouterr().err.splitlines()[-1]


def test_no_go(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def measured(*_: object) -> Results:
        raise FileNotFoundError(2, "No such file or directory", "go")

    monkeypatch.setattr(command, "measured", measured)
    with pytest.raises(SystemExit):
        run(monkeypatch)
    assert "'go'; --candidates leaves out" in capsys.readouterr().err


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def measured(*_: object) -> Results:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "measured", measured)
    assert run(monkeypatch, "--json", "run.json") == 1
    assert "broken off; what was measured: --report run.json" in capsys.readouterr().err
