"""`.ci/run` repeats only failed tests of real processes, once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.plugins.failed_once import TESTS_MAX, WITH_REAL_PROCESSES, Failures, read

COMPAT = "tests/compat/test_clients.py::test_produce[java]"

CONFTEST = """
import pytest

from tests.plugins import failed_once

pytest_addoption = failed_once.add_option
pytest_configure = failed_once.register


@pytest.fixture
def first(request):
    tried = request.path.with_suffix(f".{request.node.name}")
    first = not tried.exists()
    tried.touch()
    return first


@pytest.fixture
def broker(first):
    assert not first


@pytest.fixture
def client(first):
    yield
    assert not first
"""
FAIL_ONCE = """
def test_call(first):
    assert not first
"""
FAIL_ONCE_AROUND = """
import os

def test_set_up(broker):
    pass

def test_tear_down(client):
    pass

def test_passes(first):
    assert first, "it is run again"

def test_of_a_dying_process(first):
    if first:
        os._exit(1)
"""
FAILS_ALWAYS = """
def test_fails_always():
    raise AssertionError
"""
MAKEFILE = f"""
test:
\t{sys.executable} -P -m pytest -p xdist -q -n 2 --dist loadfile $(ARGS)
"""


class Checkout:
    """A folder with the project's `.ci/run` and other tests; each keyword is a test file."""

    def __init__(self, folder: Path, **files: str) -> None:
        self._folder = folder
        texts = {"conftest.py": CONFTEST, "Makefile": MAKEFILE, "pytest.ini": "[pytest]\n"}
        # A symbolic link to this Python would start it without its installed packages.
        programs = {".venv/bin/python": f'exec {sys.executable} "$@"', "bin/chromium": "exit 1"}
        texts |= {name: f"#!/bin/sh\n{text}\n" for name, text in programs.items()}
        texts |= {f"tests/{kind}/test_{kind}.py": text for kind, text in files.items()}
        for name, text in texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        (folder / ".ci").mkdir()
        shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")

    def run(self) -> tuple[bool, list[str]]:
        """Return whether the run passes, and the lines of its verdict."""
        others = {
            "PATH": f"{self._folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
        done = subprocess.run(
            ["sh", str(self._folder / ".ci" / "run")],
            env=kept | others,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        words = ("flaky: ", "failed: ", "once more, alone: ", "nothing is run again: ")
        lines = [line for line in done.stdout.splitlines() if line.startswith(words)]
        return done.returncode == 0, lines


@pytest.mark.slow
def test_a_test_that_fails_once_is_named_and_the_run_passes(tmp_path: Path) -> None:
    """Let tests fail in the call, in a fixture before and after it, and by the process' death."""
    passed, lines = Checkout(tmp_path, compat=FAIL_ONCE + FAIL_ONCE_AROUND).run()
    failed = ("call", "set_up", "tear_down", "of_a_dying_process")
    names = [f"tests/compat/test_compat.py::test_{name}" for name in failed]
    again = [f"once more, alone: {name}" for name in names]
    assert passed and lines == again + [f"flaky: {name}" for name in names]


@pytest.mark.slow
def test_a_test_that_fails_twice_fails_the_run(tmp_path: Path) -> None:
    passed, lines = Checkout(tmp_path, compat=FAILS_ALWAYS, chaos=FAIL_ONCE).run()
    assert not passed
    assert lines[-2:] == [
        "flaky: tests/chaos/test_chaos.py::test_call",
        "failed: tests/compat/test_compat.py::test_fails_always",
    ]


@pytest.mark.slow
def test_beside_a_file_that_is_not_collected_nothing_is_run_again(tmp_path: Path) -> None:
    passed, lines = Checkout(tmp_path, compat=FAIL_ONCE, chaos="import no_such_module").run()
    assert not passed
    assert lines[-1] == "nothing is run again: tests/chaos/test_chaos.py was not collected"
    assert all(line.startswith("failed: ") for line in lines[:-1])


def test_without_a_list_the_run_has_failed(tmp_path: Path) -> None:
    failures = read(tmp_path / "failed.json")
    assert failures.why_final() == "pytest left no list of failed tests"


@pytest.mark.parametrize(
    "failures, final",
    [
        (Failures((COMPAT,)), False),
        (Failures((COMPAT,) * TESTS_MAX), False),
        (Failures((COMPAT,) * (TESTS_MAX + 1)), True),
        (Failures(()), True),
        (Failures((COMPAT,), ("pytest ended with 3",)), True),
        (Failures((COMPAT, "tests/unit/broker/test_it.py::test_it")), True),
        (Failures((COMPAT, "tests/differential/test_shrink.py::test_it")), True),
        (Failures(("tests/differential/test_sample.py::test_it",)), False),
    ],
)
def test_only_few_failures_of_real_processes_are_not_final(failures: Failures, final: bool) -> None:
    assert (failures.why_final() is not None) == final


def test_the_list_names_what_there_is() -> None:
    assert [place for place in WITH_REAL_PROCESSES if not (ROOT / place).exists()] == []
