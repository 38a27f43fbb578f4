"""Where processes share the tests file by file, whatever starts brokers comes first.

A file of six tests may take as long as a thousand unit tests. When the last one to be taken is such
a file, the other processes wait for it; unit tests at the end fill them evenly. pytest-xdist keeps
an order only with `--no-loadscope-reorder`, so that is what asks for this one.
"""

from __future__ import annotations

import pytest

QUICK = ("unit", "architecture", "compat/pipeline")
"""Folders of `tests/` whose files take some seconds at most. Those of the pipeline have one session
of Spark in a process, as long as no other file there comes between that makes its own."""


def is_quick(node_id: str) -> bool:
    """Whether a test is of one of those folders."""
    return node_id.startswith(tuple(f"tests/{folder}/" for folder in QUICK))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In each of pytest-xdist's processes; tests of one kind stay in their random order."""
    if hasattr(config, "workerinput") and not config.option.loadscopereorder:
        items.sort(key=lambda item: is_quick(item.nodeid))
