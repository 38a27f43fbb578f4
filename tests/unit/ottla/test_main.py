"""The launcher: it puts the server on the path of its own process, in front, and nowhere else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.launcher import ottla_command
from tests.tools.packages import SERVER

ROOT = Path(__file__).parents[3]
OURS = SERVER


def run(*command: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        command,
        cwd=folder,
        env={**clean, **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def strangers(tmp_path: Path) -> Path:
    """A folder with packages of the same names, none of which can be imported."""
    for name in OURS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError('somebody else is here')")
    return tmp_path


def test_the_command_finds_its_own_packages_before_others(strangers: Path) -> None:
    by_path = run(*ottla_command("--version"), folder=strangers, PYTHONPATH=str(strangers))
    assert by_path.stdout.startswith("ottla"), by_path.stderr
    path = os.pathsep.join((str(strangers), str(ROOT)))
    module = run(sys.executable, "-m", "ottla", "--version", folder=strangers, PYTHONPATH=path)
    assert module.stdout.startswith("ottla"), module.stderr


def test_the_pipeline_does_too(strangers: Path) -> None:
    program = "import sys, ottla.__main__ as it; sys.exit(it.pipeline())"
    path = os.pathsep.join((str(strangers), str(ROOT)))
    command = (sys.executable, "-c", program, "generate", "--option", "nothing")
    done = run(*command, folder=strangers, PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("error: argument --option: 'nothing': KEY=VALUE is wanted\n")


def test_packed_beside_it_the_server_is_taken_from_there(tmp_path: Path) -> None:
    """As in a wheel. What is printed is the first folder that imports are looked for in."""
    package = tmp_path / "site" / "ottla"
    (package / "_server" / "command").mkdir(parents=True)
    (package / "_server" / "command" / "__init__.py").touch()
    shutil.copy(ROOT / "ottla" / "__main__.py", package)
    (package / "_server" / "command" / "__main__.py").write_text(
        "import sys\ndef main():\n    print(sys.path[0])\n"
    )
    done = run(sys.executable, "-P", str(package / "__main__.py"), folder=tmp_path)
    assert done.stdout == f"{package / '_server'}\n", done.stderr


@pytest.mark.parametrize(("word", "code"), [("serve", 0), ("status", 130)])
def test_ctrl_c_during_the_first_imports_ends_it_quietly(
    tmp_path: Path, word: str, code: int
) -> None:
    package = tmp_path / "site" / "ottla"
    (package / "_server" / "command").mkdir(parents=True)
    (package / "_server" / "command" / "__init__.py").touch()
    shutil.copy(ROOT / "ottla" / "__main__.py", package)
    (package / "_server" / "command" / "__main__.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    )
    done = run(sys.executable, "-P", str(package / "__main__.py"), word, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_importing_ottla_imports_nothing_of_the_server(tmp_path: Path) -> None:
    program = (
        "import json, sys; before = set(sys.modules); "
        "import ottla, ottla.__main__, ottla.testing, ottla.testing.broker_process; "
        "print(json.dumps([sys.path, sorted(set(sys.modules) - before)]))"
    )
    done = run(sys.executable, "-c", program, folder=tmp_path, PYTHONPATH=str(ROOT))
    path, loaded = json.loads(done.stdout)
    assert path.count(str(ROOT)) == 1, "and it leaves the path as it is"
    roots = {name.split(".")[0] for name in loaded}
    assert sorted(roots - set(sys.stdlib_module_names)) == ["ottla"]
