"""`--cases N`: of a test with more cases than N only N, spread over all; for `make check`.

A test with sixty seeds, or one for each of 270 messages, is there to be thorough, and `make test`
runs all of it. Before a commit a few of its cases find most of what the whole finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

import pytest

T = TypeVar("T")


def add_option(parser: pytest.Parser) -> None:
    """For the conftest: a plugin that it registers comes too late for options."""
    parser.addoption(
        "--cases",
        type=int,
        default=0,
        metavar="N",
        help="of each test run at most N of its cases, spread over all; 0: all of them",
    )


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """N of a function's cases before any is made: one takes most of a millisecond, and two of three
    would go. Where some of them have marks, the marks choose first.

    The cases are other ones with each seed of pytest-randomly, and the same in all processes.
    """
    most = metafunc.config.getoption("--cases")
    calls = metafunc._calls
    if most and len(calls) > most and not any(call.marks for call in calls):
        seed = metafunc.config.getoption("randomly_seed", 0)
        drawn = Random(f"{seed} {metafunc.definition.nodeid}").sample(range(len(calls)), most)
        calls[:] = [calls[place] for place in sorted(drawn)]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """After markers have chosen: N of those cases that are left."""
    most = config.getoption("--cases")
    if most:
        left = set(chosen([item.nodeid for item in items], most))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in left])
        items[:] = [item for item in items if item.nodeid in left]


def function_id(node_id: str) -> str:
    """Return `file::test` of `file::test[case]`."""
    return node_id.partition("[")[0]


def chosen(node_ids: Iterable[str], most: int) -> list[str]:
    """Of each test's cases (`file::test[case]`) at most so many."""
    tests: dict[str, list[str]] = {}
    for node_id in node_ids:
        tests.setdefault(function_id(node_id), []).append(node_id)
    return [node_id for cases in tests.values() for node_id in spread(cases, most)]


def spread(cases: Sequence[T], most: int) -> list[T]:
    """The first, the last and what lies evenly between them; all, where they are no more."""
    count = len(cases)
    if count <= most:
        return list(cases)
    if most == 1:
        return [cases[0]]
    return [cases[index * (count - 1) // (most - 1)] for index in range(most)]
