"""The program as `python -m pipeline` and as the file that spark-submit is given."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.tools.java_tools import PROJECT_DIR

FILE = PROJECT_DIR / "pipeline" / "__main__.py"


def run(*command: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": str(path)},
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.parametrize("command", [("-m", "pipeline"), (str(FILE),)])
def test_its_exit_code_is_the_commands(command: tuple[str, ...], tmp_path: Path) -> None:
    """From a zip of the package, as `spark-submit --py-files` has it."""
    packed = tmp_path / "pipeline.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in (PROJECT_DIR / "pipeline").rglob("*.py"):
            archive.write(file, file.relative_to(PROJECT_DIR))
    helped = run(*command, "load", "--help", path=packed)
    assert helped.returncode == 0 and "--command-config" in helped.stdout, helped.stderr
    refused = run(*command, "generate", "--option", "nothing", path=packed)
    assert refused.returncode == 2
    assert refused.stderr.endswith("error: argument --option: 'nothing': KEY=VALUE is wanted\n")
