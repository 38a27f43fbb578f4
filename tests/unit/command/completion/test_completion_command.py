"""Scripts for shells."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from command.cli import run_cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_that_asks_ottla(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_OTTLA_COMPLETE={shell}_complete" in script and "_ottla_completion" in script
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=script, text=True, check=True)


def test_other_shells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["completion", "tcsh"]) == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in capsys.readouterr().err
