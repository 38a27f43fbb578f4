"""A faster collection of twenty thousand tests, in each of pytest-xdist's processes.

In a new checkout pytest rewrites the assertions of each test file and caches the result. Processes
that read the same files in the same order would each do that. So every second process begins at the
end: two processes meet in the middle, and find the other half in the cache.

Python's garbage collector examines all objects, and collection makes no garbage. So it is off
meanwhile, and later ignores these objects: `gc.collect()` in a test examines only newer objects.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Generator

import pytest


class QuickCollection:
    """The hooks for one process of pytest; pytest-xdist calls its workers `gw0`, `gw1` …"""

    def __init__(self, worker: str | None) -> None:
        self._shared = worker is not None
        self._backwards = int(re.sub(r"\D", "", worker or "") or 0) % 2 == 1

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Collect without the garbage collector, and exclude the collected objects from it."""
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
        """Reverse the order of files in a folder, in every second process."""
        report = yield
        if self._backwards and isinstance(collector, pytest.Directory):
            report.result = report.result[::-1]
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, object, object]:
        """Sort the tests by file, so that the order is the same in every process.

        Other plugins may shuffle them afterwards.
        """
        if self._shared:
            items.sort(key=lambda item: item.path)
        return (yield)
