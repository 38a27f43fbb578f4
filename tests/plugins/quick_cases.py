"""The option `--cases N` of `make check`: at most N cases of each test, spread over all.

Some tests have sixty seeds, or a case for each of 270 messages. `make test` runs all of them, but a
few cases find most faults before a commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import TypeVar

import pytest

T = TypeVar("T")


def add_option(parser: pytest.Parser) -> None:
    """Add `--cases`; pytest reads options before the conftest registers this plugin."""
    parser.addoption(
        "--cases",
        type=int,
        default=0,
        metavar="N",
        help="of each test run at most N of its cases, spread over all; 0: all of them",
    )


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Keep N of a function's cases before pytest makes the items, which takes a millisecond each.

    If some cases have marks, the marks choose first, and the other hook keeps N of the rest. The
    choice depends on the seed of pytest-randomly, and is the same in all processes.
    """
    most = metafunc.config.getoption("--cases")
    calls = metafunc._calls
    if most and len(calls) > most and not any(call.marks for call in calls):
        seed = metafunc.config.getoption("randomly_seed", 0)
        drawn = Random(f"{seed} {metafunc.definition.nodeid}").sample(range(len(calls)), most)
        calls[:] = [calls[place] for place in sorted(drawn)]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep N of each test's cases, after markers have chosen."""
    most = config.getoption("--cases")
    if most:
        kept = set(chosen([item.nodeid for item in items], most))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in kept])
        items[:] = [item for item in items if item.nodeid in kept]


def function_id(node_id: str) -> str:
    """Return `file::test` of `file::test[case]`."""
    return node_id.partition("[")[0]


def chosen(node_ids: Iterable[str], most: int) -> list[str]:
    """Return at most `most` cases (`file::test[case]`) of each test."""
    tests: dict[str, list[str]] = {}
    for node_id in node_ids:
        tests.setdefault(function_id(node_id), []).append(node_id)
    return [node_id for cases in tests.values() for node_id in spread(cases, most)]


def spread(cases: Sequence[T], most: int) -> list[T]:
    """Return the first and last case and some evenly between; all if there are at most `most`."""
    count = len(cases)
    if count <= most:
        return list(cases)
    if most == 1:
        return [cases[0]]
    return [cases[index * (count - 1) // (most - 1)] for index in range(most)]
