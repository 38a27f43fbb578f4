"""Skips tests of Linux' own system calls in runs without these calls (`tests/portable`)."""

from __future__ import annotations

import pytest

from tests.portable import is_without_linux
from tests.portable.skipped import SKIPPED


def pytest_report_header() -> str | None:
    """Return the line that marks such a run in pytest's header."""
    return "without what only Linux has (tests/portable)" if is_without_linux() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that `tests/portable/skipped.py` names."""
    if not is_without_linux():
        return
    for item in items:
        reason = SKIPPED.get(item.nodeid.partition("[")[0])
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))
