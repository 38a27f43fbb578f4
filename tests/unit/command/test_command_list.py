"""Each command is in the help once, and is what its line says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command.cli import ottla, run_cli
from command.command_list import MODULES, SECTIONS

ROOT = Path(__file__).resolve().parents[3]


def test_every_command_is_in_one_section() -> None:
    shown = [name for names in SECTIONS.values() for name in names]
    assert sorted(shown) == sorted({*MODULES, *ottla.commands})
    assert len(shown) == len(set(shown))


def test_the_help_names_all_and_imports_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in MODULES) and "Topics and records:" in out
    modules = [module for module, _ in MODULES.values()]
    code = (
        "import sys; from command.cli import run_cli; run_cli(['--help']); "
        f"print([one for one in {modules} if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_a_slip_is_told_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["topi"]) == 2
    assert "No such command 'topi'. Did you mean 'topic'? (see: ottla --help)" in (
        capsys.readouterr().err
    )
    assert run_cli(["xyzzy"]) == 2


def test_help_may_be_asked_for_by_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["help"]) == 0
    assert "Topics and records:" in capsys.readouterr().out
    assert run_cli(["help", "topic"]) == 0
    by_word = capsys.readouterr().out
    assert run_cli(["topic", "--help"]) == 0
    assert capsys.readouterr().out == by_word
    assert run_cli(["-V"]) == 0
    assert capsys.readouterr().out.startswith("ottla")
    assert run_cli(["version"]) == 2
    assert "Did you mean '--version'?" in capsys.readouterr().err
