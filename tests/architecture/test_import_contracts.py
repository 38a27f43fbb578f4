"""The direction of imports holds: the contracts stand in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.sources import PACKAGES, PIPELINE, ROOT, SHELL


@pytest.mark.timeout(600)  # it reads all sources: beside busy processes that takes minutes
def test_the_contracts_hold() -> None:
    found = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            "from importlinter.cli import lint_imports_command as run; run()",
        ],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_every_file_of_the_shell_exists() -> None:
    assert [name for name in SHELL if not (ROOT / name).exists()] == []


def test_the_packages_are_those_of_the_contracts() -> None:
    import tomllib

    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    assert settings["root_packages"] == sorted((*PACKAGES, PIPELINE))
