"""`make run` on a new machine, with a stand-in for the Python interpreter that it finds.

The stand-in makes virtual environments as Debian's python3 does: without the package python3-venv
it leaves a folder with an interpreter and no pip, and fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packaging.installation import ROOT

# What `$1` is to the interpreter: `-c CODE`, `--version`, or `-m MODULE …`.
STAND_IN = """#!/bin/sh
case "$1 $2" in
  "-m venv")
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    [ -e python3-venv-is-installed ] || { echo "ensurepip is not available"; exit 1; }
    touch "$3/bin/pip"
    printf '#!/bin/sh\\necho "ottla $*"\\n' > "$3/bin/ottla"
    chmod +x "$3/bin/ottla" ;;
  "-c import pip") [ -e "$(dirname "$0")/pip" ] ;;
  "-m pip") [ -e "$(dirname "$0")/pip" ] ;;
  "--version ") echo "Python 3.11.7" ;;
esac
"""


class Checkout:
    """A folder with the Makefile, and the stand-in beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.venv = folder / ".venv"
        for name in ("Makefile", "pyproject.toml", "setup.py"):
            shutil.copy2(ROOT / name, folder / name)
        self.python = folder / "stand-in"
        self.python.write_text(STAND_IN)
        self.python.chmod(0o755)

    def install_venv(self) -> None:
        """Do what `apt install python3-venv` does."""
        (self.folder / "python3-venv-is-installed").touch()

    def make(self) -> subprocess.CompletedProcess[str]:
        """Run `make run` and return how it ended and what it printed."""
        ours = ("MAKE", "MFLAGS", "ARGS")  # of the make that runs this test
        clean = {key: text for key, text in os.environ.items() if not key.startswith(ours)}
        return subprocess.run(
            ["make", "run"],
            cwd=self.folder,
            env={**clean, "PYTHON": str(self.python)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_a_failed_venv_leaves_nothing_and_the_next_run_succeeds(checkout: Checkout) -> None:
    failed = checkout.make()
    assert failed.returncode != 0
    assert "apt install python3-venv" in failed.stdout, failed.stdout
    assert not checkout.venv.exists()
    checkout.install_venv()
    started = checkout.make()
    assert started.returncode == 0, started.stdout
    assert started.stdout.endswith("ottla serve\n")


def test_a_folder_without_pip_is_named(checkout: Checkout) -> None:
    (checkout.venv / "bin").mkdir(parents=True)
    shutil.copy2(checkout.python, checkout.venv / "bin" / "python")
    failed = checkout.make()
    assert failed.returncode != 0
    assert ".venv has no pip; remove it (rm -rf .venv), and run make again" in failed.stdout


def test_the_last_line_of_the_installation_says_how_to_get_the_command(checkout: Checkout) -> None:
    checkout.install_venv()
    *_, last, _ = checkout.make().stdout.splitlines()
    assert last.endswith(". .venv/bin/activate")
    assert "activate" not in checkout.make().stdout, "nothing was installed"


def test_the_first_pages_say_it_too() -> None:
    for page in ("README.md", "docs/first-minute.md"):
        text = (ROOT / page).read_text()
        begin = text.index("$ make run")
        shell = text.index("ottla produce greetings")
        assert "`. .venv/bin/activate`" in text[begin:shell], page
