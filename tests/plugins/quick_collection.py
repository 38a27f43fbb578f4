"""What it takes to find twenty thousand tests, in each of pytest-xdist's processes.

In a fresh checkout pytest rewrites the assertions of each test file and keeps the outcome. When
processes walk through the same files side by side, each of them does it. So every other process
begins at the end: they meet in the middle, and find the other half made.

Python's garbage collector looks at all that there is, and nothing of what collection makes is
garbage. It pauses, and from then on leaves these objects alone: a `gc.collect()` in a test looks at
what tests have made.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Generator

import pytest


class QuickCollection:
    """For one process, of which there are several where it is called `gw0`, `gw1` …"""

    def __init__(self, worker: str | None) -> None:
        self._shared = worker is not None
        self._backwards = int(re.sub(r"\D", "", worker or "") or 0) % 2 == 1

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """No garbage is looked for meanwhile, nor among its objects later."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.collect()
            gc.freeze()
            gc.enable()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """The last file of a folder first, in every other process."""
        report = yield
        if self._backwards and isinstance(collector, pytest.Directory):
            report.result = report.result[::-1]
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """The same order of files in every process, which others may then shuffle."""
        if self._shared:
            items.sort(key=lambda item: item.path)
        return (yield)
