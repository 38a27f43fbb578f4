"""Imports go in the directions that the contracts in pyproject.toml allow."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib

import pytest

from tests.architecture.sources import ROOT, SHELL
from tests.tools.packages import PACKAGES, SERVER


@pytest.mark.timeout(600)  # reading all sources takes minutes on a busy machine
def test_the_contracts_hold() -> None:
    lint = subprocess.run(
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
    assert lint.returncode == 0, lint.stdout + lint.stderr


def test_every_file_of_the_shell_exists() -> None:
    assert [name for name in SHELL if not (ROOT / name).exists()] == []


def test_each_package_is_in_the_contracts_in_the_wheel_and_typed() -> None:
    folders = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"bench", "tests"}
    assert list(PACKAGES) == sorted(folders)
    assert literal("setup.py", "SERVER") == SERVER
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["mypy"]["packages"] == sorted({"bench", *folders})


def literal(file: str, name: str) -> tuple[str, ...]:
    """Return the value of a literal that a file assigns to a name at its top level."""
    for statement in ast.parse((ROOT / file).read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            value: tuple[str, ...] = ast.literal_eval(statement.value)
            return value
    raise AssertionError(f"{file} has no {name}")
