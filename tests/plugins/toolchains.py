"""Java, Go, PySpark and Chromium: tests that need a missing one of them are skipped.

The end of a run says in one line how many were, and how to get what is missing. In CI (the variable
`CI` is set) nothing is skipped for that reason: the run is refused, or such a test fails.
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
    """Skip what cannot run here; fetch jars now, where no test's time limit runs."""
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
    """Print one line if tools were missing."""
    reasons = [
        report.longrepr[2].partition(MISSING)[2]
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple) and MISSING in report.longrepr[2]
    ]
    if reasons:
        tools = "; ".join(sorted(set(reasons)))
        terminalreporter.write_line(f"{len(reasons)} tests were skipped, since {tools}")


def why_not(marker: str) -> str | None:
    """Return what tests with a marker lack, and how to get it; None where nothing is missing."""
    if marker == "go":
        return None if shutil.which("go") else "Go is not installed (https://go.dev/dl)"
    if marker == "browser":
        return why_no_browser()
    if marker == "spark" and find_spec("pyspark") is None:
        return "PySpark is not installed (pip install 'ottla[pipeline]')"
    return java_available().reason


def _fetch(marker: str) -> str | None:
    """Fetch jars, programs and archives into the cache; return in one line why that failed."""
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
