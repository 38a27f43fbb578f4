"""The second run, in `.ci/run` only, of failed tests that start processes, on a quiet machine.

`--failed FILE` writes the names of failed tests. `python -m tests.plugins.failed_once FILE` then
runs each of them alone, in a process of its own, and prints `flaky: NAME` for each that passes now.
It runs none if a failed test starts no process, so that the machine's load was not the reason; if
the run had errors apart from failed tests; or if too many tests failed. `make test` repeats none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

WITH_REAL_PROCESSES = (
    "tests/chaos/",
    "tests/compat/",
    "tests/differential/test_sample.py",
    "tests/golden/test_batches_read_by_kafka.py",
    "tests/newcomer/",
    "tests/packaging/",
    "tests/release/",
)
"""Folders and files whose tests start brokers, clients or tools as processes.

All others run once: unit tests and simulations have the same outcome each time.
"""
TESTS_MAX = 20
"""The most tests that run again: more failures have one reason.

Each may take two minutes of CI's ninety.
"""


class Failures(NamedTuple):
    """The failures of a run: node ids of tests, and lines about errors outside of tests."""

    tests: tuple[str, ...]
    others: tuple[str, ...] = ()

    def why_final(self) -> str | None:
        """Return why no test runs again, or None if all of them do."""
        for other in self.others:
            return other
        for name in self.tests:
            if not name.startswith(WITH_REAL_PROCESSES):
                return f"{name} starts no real process"
        if len(self.tests) > TESTS_MAX:
            return f"{len(self.tests)} tests failed, more than {TESTS_MAX}"
        return None if self.tests else "no test failed"


class FailureList:
    """The list of a run's failures, which the process that reports writes to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tests: dict[str, None] = {}
        self._others: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a test whose set-up, call or tear-down failed, or in which a worker died."""
        if report.failed:
            self._tests[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Add a file that could not be collected; every worker may report it."""
        if report.failed:
            self._others[f"{report.nodeid} was not collected"] = None

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the file, with a line if pytest ended for another reason than failed tests."""
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._others[f"pytest ended with {int(exitstatus)}"] = None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        failures = Failures(tuple(self._tests), tuple(self._others))
        self._path.write_text(json.dumps(failures._asdict(), indent=1))


def add_option(parser: pytest.Parser) -> None:
    """Add `--failed`; pytest reads options before the conftest registers this plugin."""
    parser.addoption(
        "--failed", metavar="FILE", help="keep in FILE which tests failed, for .ci/run"
    )


def register(config: pytest.Config) -> None:
    """Register the list if `--failed` is set. Workers need none: one process gets all reports."""
    if config.getoption("--failed") and not hasattr(config, "workerinput"):
        path = Path(config.getoption("--failed"))
        config.pluginmanager.register(FailureList(path), "failure-list")


def read(path: Path) -> Failures:
    """Read the failures of a run.

    If there is no file, that is a failure itself: the run has crashed.
    """
    if not path.exists():
        return Failures((), ("pytest left no list of failed tests",))
    kept = json.loads(path.read_text())
    return Failures(tuple(kept["tests"]), tuple(kept["others"]))


def passes_alone(name: str) -> bool:
    """Run one test in a process of its own, with its output; return whether it passes."""
    print(f"\nonce more, alone: {name}", flush=True)
    return subprocess.run([sys.executable, "-P", "-m", "pytest", "-q", name]).returncode == 0


def _print_each(kind: str, names: Iterable[str]) -> None:
    for name in names:
        print(f"{kind}: {name}", flush=True)


def main(path: Path) -> int:
    """Return the exit status of the whole run, after the second run of failed tests."""
    failures = read(path)
    reason = failures.why_final()
    if reason is not None:
        _print_each("failed", failures.tests)
        print(f"nothing is run again: {reason}")
        return 1
    passed = {name: passes_alone(name) for name in failures.tests}
    _print_each("flaky", (name for name in passed if passed[name]))
    _print_each("failed", (name for name in passed if not passed[name]))
    return 0 if all(passed.values()) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
