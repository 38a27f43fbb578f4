from __future__ import annotations

import shlex
import sys

import pytest

from ottla.launcher import install_command, needs_packages


def test_the_command_names_this_interpreter_and_quotes_what_a_shell_would_read() -> None:
    command = install_command("pyspark[connect]==4.0.0")
    assert shlex.split(command) == [
        *(sys.executable, "-m", "pip", "install"),
        "pyspark[connect]==4.0.0",
    ]


def test_without_a_known_interpreter_the_command_still_names_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "")
    text = needs_packages("the console needs", "starlette", "uvicorn")
    assert text == (
        "the console needs starlette and uvicorn: python3 -m pip install starlette uvicorn"
    )
