"""The suites of `make test-long`: their list is complete, and a run records what passed."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.long import __main__ as command
from tests.long import passed
from tests.long import suites as suites_file
from tests.long.passed import Pass
from tests.long.suites import Suite, fitting, suites, unpassed_for
from tests.plugins import toolchains

NO_SUITES = ("tests/conformance", "tests/differential/document.py", "tests/long", "tests/tools")
"""Commands that are no suites: writers of pages, the runner of the suites, tools."""
NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


def test_a_suite_runs_and_guards_what_is_there() -> None:
    for suite in suites().values():
        program, *words = suite.command.split()
        assert program in (*suites_file.PROGRAMS, "make"), suite
        assert program != "python" or find_spec(words[1]), suite
        paths = [word for word in words if word.startswith("tests/")]
        assert all(any(ROOT.glob(path)) for path in (*suite.guards, *paths)), suite
        assert suite.guards and set(suite.needs) <= set(toolchains.MARKERS), suite


def test_each_command_with_options_is_a_suite() -> None:
    run = {word for suite in suites().values() for word in suite.words(1)}
    for path in (*ROOT.glob("bench/**/*.py"), *ROOT.glob("tests/**/*.py")):
        name = str(path.relative_to(ROOT))
        is_program = not path.name.startswith("test_") and "ArgumentParser(" in path.read_text()
        if is_program and not name.startswith(NO_SUITES):
            assert name.removesuffix(".py").removesuffix("/__main__").replace("/", ".") in run, name


def test_each_pass_that_is_kept_is_of_a_suite() -> None:
    assert set(passed.read()) <= set(suites())


def test_suites_that_have_not_passed_for_longest_come_first_as_many_as_fit() -> None:
    new, old, never, long = (
        Suite(name, "", minutes, ()) for name, minutes in zip("abcd", (2, 3, 4, 90), strict=True)
    )
    ages = {"a": 5, "b": 200, "d": 300}
    assert unpassed_for([new, old, never, long], ages, 0) == [never, long, old, new]
    assert unpassed_for([new, old, never, long], ages, 200) == [never, long, old]
    assert fitting([never, long, old, new], 7) == [never, old]


def test_a_pass_is_as_old_as_its_commit_or_its_time_where_that_was_rebased() -> None:
    commits = {str(number): NOW - timedelta(hours=number) for number in range(9)}
    passes = {"kept": Pass("3", NOW, 1), "rebased": Pass("x", NOW - timedelta(hours=4.5), 1)}
    assert passed.ages(passes, commits) == {"kept": 3, "rebased": 5}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with two suites, one of which fails."""
    monkeypatch.setattr(passed, "ROOT", tmp_path)
    monkeypatch.setattr(passed, "PASSED", tmp_path / "passed.toml")
    monkeypatch.setattr(suites_file, "SUITES", tmp_path / "suites.toml")
    rows = [("good", "print({seed})"), ("bad", "raise SystemExit('no')")]
    suites_file.SUITES.write_text(
        "".join(
            f"""[{name}]\ncommand = "python -c \\"{code}\\""\nminutes = 1\nguards = []\n"""
            for name, code in rows
        )
    )
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    for words in (["init", "-q"], ["add", "suites.toml"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    commit(tmp_path)
    return tmp_path


def commit(folder: Path) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    words = ["commit", "-q", "--allow-empty", "--no-gpg-sign", "-m", "x"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True)


def test_a_suite_that_passes_is_kept_with_its_commit_and_seed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["--seed", "7"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "no"
    assert (project / ".cache/long/good.log").read_text() == "7\n"
    assert set(passed.read()) == {"good"}
    last = passed.read()["good"]
    assert last.commit in passed.history() and last.seed == 7
    assert command.main(["--suites", "good"]) == 0, "the file itself may change"
    commit(project)
    assert command.main(["--warn", "1"]) == command.main(["--warn", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "Not passed for 1 commits: bad, good",
        "Not passed for 2 commits: bad",
    ]


def test_changed_files_pass_for_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suites_file.SUITES.write_text(suites_file.SUITES.read_text() + "\n")
    assert command.main(["--suites", "good"]) == 1
    assert "not as committed" in capsys.readouterr().out
    assert command.main(["--suites", "good", "--dirty"]) == 0
    assert passed.read() == {}
