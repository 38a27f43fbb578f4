"""When each suite last passed: the file `passed.toml`, and how many commits ago that was."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PASSED = Path(__file__).parent / "passed.toml"
HEADER = "# Written by `python -m tests.long` where a suite passes; to be committed.\n\n"
COMMIT_LETTERS = 12
WRITTEN_BY_SUITES = ("tests/kafkatest/results.toml",)
"""Tracked files that a suite itself writes."""


@dataclass(frozen=True)
class Pass:
    """A suite's last run that passed."""

    commit: str
    at: datetime
    seconds: int
    seed: int | None = None

    def __str__(self) -> str:
        """Return a row of the file."""
        seed = "" if self.seed is None else f", seed = {self.seed}"
        at = self.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f'{{ commit = "{self.commit}", at = {at}, seconds = {self.seconds}{seed} }}'


def read() -> dict[str, Pass]:
    """Return the last pass of each suite that has one."""
    rows = tomllib.loads(PASSED.read_text()) if PASSED.exists() else {}
    return {name: Pass(**row) for name, row in rows.items()}


def record(name: str, last: Pass) -> None:
    """Write a suite's row, the other rows as the file has them now."""
    rows = sorted({**read(), name: last}.items())
    PASSED.write_text(HEADER + "".join(f"{name} = {row}\n" for name, row in rows))


def history() -> dict[str, datetime]:
    """Return the commits up to this one, the newest first; none where git knows no history."""
    listed = _git("log", f"--abbrev={COMMIT_LETTERS}", "--format=%h %ct", "HEAD") or ""
    pairs = map(str.split, listed.splitlines())
    return {commit: datetime.fromtimestamp(int(seconds), UTC) for commit, seconds in pairs}


def ages(passes: Mapping[str, Pass], commits: Mapping[str, datetime]) -> dict[str, int]:
    """Return how many commits came after each suite's last pass.

    A commit that the history has no more, because it was rebased, counts by the time of the pass.
    """
    places = {commit: place for place, commit in enumerate(commits)}
    return {
        name: places.get(last.commit, sum(at > last.at for at in commits.values()))
        for name, last in passes.items()
    }


def is_as_committed(commit: str) -> bool:
    """Return whether the tracked files are those of a commit, whatever `passed.toml` and the files
    say that suites write."""
    written = (str(PASSED.relative_to(ROOT)), *WRITTEN_BY_SUITES)
    besides = (f":(exclude){name}" for name in written)
    return _git("diff", "--quiet", commit, "--", ".", *besides) is not None


def _git(*words: str) -> str | None:
    """Return what git answers, None where it ends with an error or is not installed."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None
