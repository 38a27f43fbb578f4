"""In `.ci/run` alone, a test of real processes that failed is run once more, on a quiet machine.

`--failed FILE` keeps which tests failed. `python -m tests.plugins.failed_once FILE` then runs each
of them by itself, in a process of its own, and prints `flaky: NAME` for each that passes now. It
runs none where a test failed that the machine's load cannot change, where more went wrong than
tests that failed, or where there are too many of them. `make test` alone never does any of this.
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
    "tests/packaging/",
)
"""Where tests start brokers, clients or tools as processes. All others are run once: unit and
simulated tests, whose outcome is to be the same each time."""
TESTS_MAX = 20
"""More than these fail for one reason; and each may take two minutes of CI's ninety."""


class Failures(NamedTuple):
    """The failures of a run: node ids of tests, and lines about whatever is no test."""

    tests: tuple[str, ...]
    others: tuple[str, ...] = ()

    def why_final(self) -> str | None:
        """Return why none of the tests is run again, or None where each of them is."""
        for other in self.others:
            return other
        for name in self.tests:
            if not name.startswith(WITH_REAL_PROCESSES):
                return f"{name} starts no real process"
        if len(self.tests) > TESTS_MAX:
            return f"{len(self.tests)} tests failed, more than {TESTS_MAX}"
        return None if self.tests else "no test failed"


class FailureList:
    """Keeps the failures of a run in a file, in the process that reports."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tests: dict[str, None] = {}
        self._others: dict[str, None] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failed set-up, call or tear-down, and the test in which a worker died."""
        if report.failed:
            self._tests[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that could not be collected; every worker may report it."""
        if report.failed:
            self._others[f"{report.nodeid} was not collected"] = None

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the file; an end of pytest for any reason but failed tests stands in it, too."""
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            self._others[f"pytest ended with {int(exitstatus)}"] = None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        failures = Failures(tuple(self._tests), tuple(self._others))
        self._path.write_text(json.dumps(failures._asdict(), indent=1))


def add_option(parser: pytest.Parser) -> None:
    """Add `--failed`; a plugin that the conftest registers comes too late for options."""
    parser.addoption(
        "--failed", metavar="FILE", help="keep in FILE which tests failed, for .ci/run"
    )


def register(config: pytest.Config) -> None:
    """Keep the list where it is asked for: not in workers, whose reports come to one process."""
    if config.getoption("--failed") and not hasattr(config, "workerinput"):
        path = Path(config.getoption("--failed"))
        config.pluginmanager.register(FailureList(path), "failure-list")


def read(path: Path) -> Failures:
    """Return the failures that a run has kept; where it died before that, this is one of them."""
    if not path.exists():
        return Failures((), ("pytest left no list of failed tests",))
    kept = json.loads(path.read_text())
    return Failures(tuple(kept["tests"]), tuple(kept["others"]))


def passes_alone(name: str) -> bool:
    """Run one test in a process of its own; its output is printed as ever."""
    print(f"\nonce more, alone: {name}", flush=True)
    return subprocess.run([sys.executable, "-P", "-m", "pytest", "-q", name]).returncode == 0


def _print_each(kind: str, names: Iterable[str]) -> None:
    for name in names:
        print(f"{kind}: {name}", flush=True)


def main(path: Path) -> int:
    """Return the exit status of the whole run, after a second chance where there is one."""
    failures = read(path)
    why = failures.why_final()
    if why is not None:
        _print_each("failed", failures.tests)
        print(f"nothing is run again: {why}")
        return 1
    passed = {name: passes_alone(name) for name in failures.tests}
    _print_each("flaky", (name for name in passed if passed[name]))
    _print_each("failed", (name for name in passed if not passed[name]))
    return 0 if all(passed.values()) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
