"""For all tests: those that need Java, Go, PySpark or Chromium are skipped without it, and that is
said once.

In CI (the variable `CI` is set) nothing is skipped for that reason: such a test fails.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import ottla
from tests.compat import feature_matrix
from tests.plugins import portable, quick_cases, slow_first, tiers
from tests.plugins.quick_collection import QuickCollection
from tests.tools.class_archives import share_kafkas_classes, share_sparks_classes
from tests.tools.client_leaks import CLIENTS_LEAVE_THINGS_OPEN
from tests.tools.console import why_no_browser
from tests.tools.java_tools import java_available, program_classpath, spark_jars

DESCRIPTORS_MAX = 200
"""With more of them open at the end of a module, garbage is looked for."""
RUN_CLIENTS_IN_PROCESS = tuple(Path(__file__).parent / name for name in ("chaos", "compat"))
"""Folders whose tests run stock clients in the process of pytest."""


def pytest_configure(config: pytest.Config) -> None:
    """Stop where an installed copy would be tested; print what each client showed at the end."""
    # A shell has its background jobs ignore SIGINT, and children would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.pluginmanager.register(feature_matrix, "feature-matrix")
    config.pluginmanager.register(portable, "portable")
    config.pluginmanager.register(quick_cases, "quick-cases")
    config.pluginmanager.register(slow_first, "slow-first")
    config.pluginmanager.register(tiers, "tiers")
    worker = getattr(config, "workerinput", {}).get("workerid")
    config.pluginmanager.register(QuickCollection(worker), "quick-collection")
    # How long an example takes says how busy the machine is, not whether the code is right.
    settings.register_profile("ottla", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("ottla")
    root = Path(__file__).resolve().parent.parent
    installed = Path(ottla.__file__).resolve().parent
    if installed.parent != root:
        raise pytest.UsageError(f"{installed} is a copy: pip uninstall ottla, then make setup")


def pytest_addoption(parser: pytest.Parser) -> None:
    """What the tests of `tests/compat/` talk to, and how many cases of a test are enough."""
    quick_cases.add_option(parser)
    tiers.add_option(parser)
    parser.addoption(
        "--broker",
        choices=("ottla", "apache-kafka"),
        default="ottla",
        help="run the compatibility tests against Apache Kafka, to check what they expect",
    )
    parser.addoption(
        "--hostile-times",
        type=int,
        default=1,
        metavar="N",
        help="the tests of hostile clients before a login send N times as much",
    )
    parser.addoption(
        "--secured",
        action="store_true",
        help="the tests of clusters that can do either, on one with TLS and logins, and the tests "
        "of security that take long",
    )
    parser.addoption(
        "--whole-data",
        action="store_true",
        help="all tables of the public data set through the pipeline, not the first days of one",
    )


def _why_not(marker: str) -> str | None:
    if marker == "go":
        return None if shutil.which("go") else "Go is not installed"
    if marker == "browser":
        return why_no_browser()
    if marker == "spark" and find_spec("pyspark") is None:
        return "PySpark is not installed (pip install 'ottla[pipeline]')"
    return java_available().reason


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each toolchain that is missing."""
    if os.environ.get("CI"):
        return
    missing: dict[str, list[str]] = {}
    for marker in ("java", "spark", "go", "browser"):
        reason = _why_not(marker)
        if reason:
            missing.setdefault(reason, []).append(marker)
    for reason, markers in missing.items():
        tests = " or ".join(markers)
        terminalreporter.write_line(f"Tests marked {tests} were skipped: {reason}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what cannot run here; fetch jars now, where no test's time limit runs."""
    strict = bool(os.environ.get("CI"))
    for item in items:
        if _runs_clients(item.path):
            for mark in CLIENTS_LEAVE_THINGS_OPEN:
                item.add_marker(mark)
    if not config.getoption("--secured"):
        for item in items:
            if item.get_closest_marker("secured"):
                item.add_marker(pytest.mark.skip(reason="takes long; runs with --secured"))
    for marker in ("java", "spark", "go", "browser"):
        marked = [item for item in items if item.get_closest_marker(marker)]
        if not marked or config.option.collectonly:
            continue
        reason = None if strict else _why_not(marker)
        if reason is None:
            reason = _fetch(marker)
            if strict and reason:
                raise pytest.UsageError(reason)
        if reason:
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


def _fetch(marker: str) -> str | None:
    """Jars, programs and archives for these tests, into the cache; why not, on one line."""
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


@pytest.fixture(scope="module", autouse=True)
def leaks_end_here(request: pytest.FixtureRequest) -> Iterator[None]:
    """What clients left open is collected now, while the module still expects the warning: later it
    would be said of any other test. So are logs that nobody closed, where they are many: a process
    has 1,024 descriptors on most machines."""
    yield
    if _runs_clients(request.path) or len(os.listdir("/dev/fd")) > DESCRIPTORS_MAX:
        gc.collect()


def _runs_clients(path: Path) -> bool:
    return any(folder in path.parents for folder in RUN_CLIENTS_IN_PROCESS)
