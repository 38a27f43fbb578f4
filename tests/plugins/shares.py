"""The shares of the tests that the processes of `make test` take, and their order.

A share is a file of tests, or all files that use one session of Spark, because the start of a JVM
with Spark takes longer than most of their tests. Those shares come first, then tests that start
brokers: six such tests may take as long as a thousand unit tests, and if they are last, the other
processes wait. Unit tests at the end fill all processes evenly.

pytest-xdist keeps an order only with `--no-loadscope-reorder`; without it nothing is sorted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

SPARK = {
    "tests/compat/pipeline/": "Spark as the jobs start it",
    "tests/compat/security/test_spark_source.py": "Spark with its stock connector",
    "tests/compat/spark/": "Spark with its stock connector",
}
"""Folders and files whose tests share a session of Spark, with the name of the share."""
QUICK = ("tests/unit/", "tests/architecture/")
"""Folders whose files take a few seconds at most."""


def share_of(node_id: str) -> str:
    """Return the name of a test's share."""
    for place, session in SPARK.items():
        if node_id.startswith(place):
            return session
    return node_id.split("::", 1)[0]


def rank(node_id: str) -> int:
    """Return 0 for a test with a session of Spark, 2 for a quick test, 1 for all others."""
    if share_of(node_id) in SPARK.values():
        return 0
    return 2 if node_id.startswith(QUICK) else 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests by rank, in each worker; tests of one rank stay in their random order."""
    if hasattr(config, "workerinput") and not config.option.loadscopereorder:
        items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Return a scheduler that gives out shares in place of files."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class LoadShareScheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return share_of(nodeid)

    return LoadShareScheduling(config, log)
