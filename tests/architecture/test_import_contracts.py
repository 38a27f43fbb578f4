"""The direction of imports holds: the contracts stand in pyproject.toml."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib

import pytest

from tests.architecture.sources import ROOT, SHELL
from tests.tools.packages import PACKAGES, SERVER


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


def test_each_package_is_in_the_contracts_in_the_wheel_and_typed() -> None:
    there = {file.parent.name for file in ROOT.glob("*/__init__.py")} - {"bench", "tests"}
    assert list(PACKAGES) == sorted(there)
    assert literal("setup.py", "SERVER") == SERVER
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["mypy"]["packages"] == sorted({"bench", *there})


def literal(file: str, name: str) -> tuple[str, ...]:
    """Return the value of a name that a file assigns at its top."""
    for statement in ast.parse((ROOT / file).read_text()).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            value: tuple[str, ...] = ast.literal_eval(statement.value)
            return value
    raise AssertionError(f"{file} has no {name}")
