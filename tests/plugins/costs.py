"""Costs of each test: seconds, processor seconds, started JVMs and brokers.

The cost of a test is the time since the test before it ended, in its process and in all child
processes. The start of a broker by a module's fixture counts for the first test that uses the
fixture, the broker's later work for the tests during which it is done. Time that is not spent on a
processor is waiting: for a process, a timeout, a client's poll.

`--costs=FILE` writes the costs as JSON, and at the end prints the folders and tests above budget.
`python -m tests.tools.cost_table FILE` makes tables of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.tools.cost_table import Budget, Cost, slowest

SLOWEST_PRINTED = 5
CLOCK_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
LOOK_BELOW_AFTER_S = 0.05
"""The least time of a test after which the times of child processes are read.

A JVM has a hundred threads, and there are twenty thousand shorter tests.
"""
PROPERTY = "cost"
"""The name of the user property with the cost, in a test's last report."""


def add_option(parser: pytest.Parser) -> None:
    """Add `--costs`; pytest reads options before the conftest registers this plugin."""
    parser.addoption(
        "--costs", metavar="FILE", help="keep the seconds and processes of each test in FILE"
    )


def started_program(arguments: Sequence[object]) -> str | None:
    """Return `jvm` or `broker` if a command line starts such a process, else None."""
    words = [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in arguments]
    program = Path(words[0]).name if words else ""
    if program in ("java", "spark-submit"):
        return "jvm"
    if "serve" in words or "ottla.testing.host" in " ".join(words):
        return "broker"
    return None


def processor_seconds(process_id: int) -> float:
    """Return the processor seconds of a process and its descendants; 0.0 if it has ended."""
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime, cutime, cstime; the last two are the times of children that have ended.
    own = sum(map(int, fields[11:15])) * CLOCK_TICK_S
    return own + sum(map(processor_seconds, children(process_id)))


def children(process_id: int) -> list[int]:
    """Return the ids of a process's live children; an empty list on systems other than Linux."""
    folder, texts = f"/proc/{process_id}/task", []
    with contextlib.suppress(OSError):
        for thread in os.listdir(folder):
            with contextlib.suppress(OSError):  # the thread may have ended
                texts.append(Path(folder, thread, "children").read_text())
    return [int(child) for text in texts for child in text.split()]


class Meter:
    """A meter of the costs of tests in one process of pytest."""

    def __init__(self) -> None:
        self._started: dict[str, int] = {}
        self._live_s = 0.0
        self._seconds = self._spent(look=True)
        self._ended_at = time.monotonic()
        sys.addaudithook(self._notice)

    def _notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            words = arguments[1]
            program = started_program([words] if isinstance(words, str | bytes) else words)
            if program is not None:
                self._started[program] = self._started.get(program, 0) + 1

    def _spent(self, *, look: bool) -> float:
        """Return all processor seconds so far; `look` reads those of live child processes again."""
        if look:
            self._live_s = sum(map(processor_seconds, children(os.getpid())))
        own = resource.getrusage(resource.RUSAGE_SELF)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime + self._live_s

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the cost of the whole test to its last report."""
        report = yield
        if call.when != "teardown":
            return report
        now = time.monotonic()
        spent = self._spent(look=now - self._ended_at > LOOK_BELOW_AFTER_S)
        cost = {"cpu": round(max(0.0, spent - self._seconds), 3), **self._started}
        self._seconds, self._ended_at = spent, now
        self._started.clear()
        report.user_properties.append((PROPERTY, cost))
        return report


class CostFile:
    """The sums of each test's costs, in the process that reports."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._budget = Budget.read()
        self._tests: dict[str, Cost] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the cost of a test's phase, which may have run in another process."""
        phase = {"wall": report.duration, **dict(report.user_properties).get(PROPERTY, {})}
        total = self._tests.setdefault(report.nodeid, {})
        for name, amount in phase.items():
            total[name] = round(total.get(name, 0) + amount, 3)

    def pytest_sessionfinish(self) -> None:
        """Write the sums to the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._tests, indent=0, separators=(",", ":")))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the folders and tests above their budget, and the slowest tests."""
        for line in [*self._budget.excesses(self._tests), *slowest(self._tests, SLOWEST_PRINTED)]:
            terminalreporter.write_line(line)
