"""Costs of the tests: seconds, processor seconds, JVMs and brokers started, of each test.

A test costs what passed since the test before it ended, in the process that ran it and in all
processes below that: a broker that a module's fixture starts counts for the test that asked for it
first, what it does later for the tests that use it. Time that is not spent on a processor is
waiting: for a process, a timeout, a client's poll.

`--costs=FILE` keeps all of it as JSON and prints what is above its budget at the end.
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
"""After a shorter test nothing is asked of the processes below: a JVM has a hundred threads, and
there are twenty thousand such tests."""
PROPERTY = "cost"
"""The name under which the last report of a test carries its costs."""


def add_option(parser: pytest.Parser) -> None:
    """Add `--costs`; a plugin that the conftest registers comes too late for options."""
    parser.addoption(
        "--costs", metavar="FILE", help="keep the seconds and processes of each test in FILE"
    )


def started_program(arguments: Sequence[object]) -> str | None:
    """Return `jvm` or `broker` where a command line starts that, None for anything else."""
    words = [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in arguments]
    program = Path(words[0]).name if words else ""
    if program in ("java", "spark-submit"):
        return "jvm"
    if "serve" in words or "ottla.testing.host" in " ".join(words):
        return "broker"
    return None


def processor_seconds(process_id: int) -> float:
    """Return the processor seconds of a process and all below it; 0.0 for a process that ended."""
    try:
        fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    # utime, stime, cutime, cstime: the last two are those of children that ended.
    own = sum(map(int, fields[11:15])) * CLOCK_TICK_S
    return own + sum(map(processor_seconds, children(process_id)))


def children(process_id: int) -> list[int]:
    """Return the ids of the processes that a process started and that live; none but on Linux."""
    folder, texts = f"/proc/{process_id}/task", []
    with contextlib.suppress(OSError):
        for thread in os.listdir(folder):
            with contextlib.suppress(OSError):  # a thread that has ended meanwhile
                texts.append(Path(folder, thread, "children").read_text())
    return [int(child) for text in texts for child in text.split()]


class Meter:
    """Measures the phases of tests in one process of pytest."""

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
        """Return all processor seconds so far; `look` again at the live processes below."""
        if look:
            self._live_s = sum(map(processor_seconds, children(os.getpid())))
        own = resource.getrusage(resource.RUSAGE_SELF)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime + self._live_s

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add to the last report of a test what the whole test took."""
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
    """Adds up the costs of each test and keeps them, in the process that reports."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._budget = Budget.read()
        self._tests: dict[str, Cost] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test, which may have run in another process."""
        phase = {"wall": report.duration, **dict(report.user_properties).get(PROPERTY, {})}
        total = self._tests.setdefault(report.nodeid, {})
        for name, amount in phase.items():
            total[name] = round(total.get(name, 0) + amount, 3)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._tests, indent=0, separators=(",", ":")))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the folders above their share and the slowest tests."""
        for line in [*self._budget.excesses(self._tests), *slowest(self._tests, SLOWEST_PRINTED)]:
            terminalreporter.write_line(line)
