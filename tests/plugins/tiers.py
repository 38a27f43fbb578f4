"""The two tiers of the tests: those that every change must pass, and those that take too long.

`make test` leaves out tests marked `long`. Of a test marked `long(sample=N)` it runs N cases, which
are spread over all. `--long` runs them too; `--long -m long` runs those tests alone.
"""

from __future__ import annotations

import pytest

from tests.plugins.quick_cases import function_id, spread

MARKER = "long"


def add_option(parser: pytest.Parser) -> None:
    """Add `--long`; pytest reads options before the conftest registers this plugin."""
    parser.addoption(
        "--long",
        action="store_true",
        help="run the tests marked long as well, with all of their cases: make test-long",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long tests out, unless `--long` is set."""
    if config.getoption("--long"):
        return
    kept = kept_items(items)
    if len(kept) < len(items):
        names = {item.nodeid for item in kept}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in names])
        items[:] = kept


def kept_items(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests of the first tier, in their order."""
    sampled: dict[str, list[str]] = {}
    samples: dict[str, int] = {}
    left_out: set[str] = set()
    for item in items:
        marks = [mark.kwargs for mark in item.iter_markers(MARKER)]
        if any("sample" not in keywords for keywords in marks):
            left_out.add(item.nodeid)
        elif marks:
            name = function_id(item.nodeid)
            samples[name] = min(keywords["sample"] for keywords in marks)
            sampled.setdefault(name, []).append(item.nodeid)
    for name, cases in sampled.items():
        left_out |= set(cases) - set(spread(cases, samples[name]))
    return [item for item in items if item.nodeid not in left_out]
