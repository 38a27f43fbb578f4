"""Formatter, linter, type checker and generators report nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

SCRIPTS = ("console/static", "tests/unit/console/static")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "format", "--check", "."],
        ["ruff", "check", "."],
        ["mypy"],
        ["protocol.generate", "--check"],
        ["tests.tools.answer_types", "--check"],
    ],
    ids=" ".join,
)
def test_it_has_nothing_to_say(command: Sequence[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["oxfmt", "--check", *SCRIPTS, "console/types"],
        ["oxlint", "--deny-warnings", *SCRIPTS],
        ["deno", "check", "--quiet", "console/static/app.js"],
        ["deno", "test", "--no-check", "--no-config", "tests/unit/console/static"],
    ],
    ids=" ".join,
)
def test_the_tools_of_javascript_have_nothing_to_say(command: Sequence[str]) -> None:
    name, *words = command
    done = subprocess.run(
        [Path(sys.executable).with_name(name), *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
