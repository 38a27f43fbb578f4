"""Skips tests that need Java, Go, PySpark or Chromium where that is not installed.

One line at the end of a run has the number of those tests and what to install. In CI (the variable
`CI` is set) no test is skipped for that: the run is refused, or the test fails.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest

from tests.tools.class_archives import share_kafkas_classes, share_sparks_classes
from tests.tools.console import why_no_browser
from tests.tools.java_tools import java_available, program_classpath, spark_jars

MARKERS = ("java", "spark", "go", "browser")
MISSING = "missing: "


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests without their tools; fetch jars now, before any test's time limit runs."""
    strict = bool(os.environ.get("CI"))
    for marker in MARKERS:
        marked = [item for item in items if item.get_closest_marker(marker)]
        if not marked or config.option.collectonly:
            continue
        reason = None if strict else why_not(marker)
        if reason is None:
            reason = _fetch(marker)
            if strict and reason:
                raise pytest.UsageError(reason)
        if reason:
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=f"{MISSING}{reason}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line if tests were skipped because tools are missing."""
    reasons = [
        report.longrepr[2].partition(MISSING)[2]
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and MISSING in report.longrepr[2]
    ]
    if reasons:
        tools = "; ".join(sorted(set(reasons)))
        terminalreporter.write_line(f"{len(reasons)} tests were skipped, since {tools}")


def why_not(marker: str) -> str | None:
    """Return what tests with a marker lack, and how to install it; None if nothing is missing."""
    if marker == "go":
        return None if shutil.which("go") else "Go is not installed (https://go.dev/dl)"
    if marker == "browser":
        return why_no_browser()
    if marker == "spark" and find_spec("pyspark") is None:
        return "PySpark is not installed (pip install '.[pipeline]')"
    return java_available().reason


def _fetch(marker: str) -> str | None:
    """Put jars, programs and archives into the cache; return the error's first line, or None."""
    try:
        if marker == "java":
            program_classpath()
            share_kafkas_classes()
        if marker == "spark":
            spark_jars()
            share_sparks_classes()
    except (OSError, RuntimeError) as error:
        return str(error).splitlines()[0]
    return None
