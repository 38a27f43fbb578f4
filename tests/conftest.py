"""For all tests: those that need Java or Go are skipped where it is missing, and it is said once.

In CI (the variable `CI` is set) nothing is skipped for that reason: such a test fails.
"""

from __future__ import annotations

import os
import shutil

import pytest

from tests.java_tools import java_available


def pytest_addoption(parser: pytest.Parser) -> None:
    """What the tests of `tests/compat/` talk to."""
    parser.addoption(
        "--broker",
        choices=("ottla", "apache-kafka"),
        default="ottla",
        help="run the compatibility tests against Apache Kafka, to check what they expect",
    )


def _why_not(marker: str) -> str | None:
    if marker == "go":
        return None if shutil.which("go") else "Go is not installed"
    return java_available().reason


def _skipped(config: pytest.Config) -> list[str]:
    if os.environ.get("CI"):
        return []
    reasons = {marker: _why_not(marker) for marker in ("java", "spark", "go")}
    return [f"tests marked {m} are skipped: {why}" for m, why in reasons.items() if why]


def pytest_report_header(config: pytest.Config) -> list[str]:
    """One line for each toolchain that is missing."""
    return _skipped(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what cannot run here."""
    if os.environ.get("CI"):
        return
    for marker in ("java", "spark", "go"):
        marked = [item for item in items if item.get_closest_marker(marker)]
        reason = _why_not(marker) if marked else None
        if reason:
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))
