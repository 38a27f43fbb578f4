"""Formatter, linter, type checker and generator have nothing to say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from tests.architecture.sources import ROOT


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "format", "--check", "."],
        ["ruff", "check", "."],
        ["mypy"],
        ["protocol.generate", "--check"],
    ],
    ids=" ".join,
)
def test_it_has_nothing_to_say(command: Sequence[str]) -> None:
    found = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
