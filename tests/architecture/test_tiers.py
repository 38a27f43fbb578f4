"""The tests that `make test` leaves to `make test-long`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.plugins.tiers import kept_items


def item(node_id: str, *marks: pytest.MarkDecorator) -> Any:
    """Return a collected test with these marks."""
    return SimpleNamespace(
        nodeid=node_id, iter_markers=lambda name: [m.mark for m in marks if m.name == name]
    )


def test_long_tests_are_left_out_and_of_sampled_ones_all_cases_but_some() -> None:
    sampled = [item(f"a.py::seeds[{case}]", pytest.mark.long(sample=3)) for case in range(9)]
    sampled.append(item("a.py::seeds[all]", pytest.mark.long(sample=3), pytest.mark.long))
    others = [item("a.py::short"), item("a.py::long", pytest.mark.long), item("b.py::seeds[0]")]
    kept = [kept.nodeid for kept in kept_items([*sampled, *others])]
    assert kept == [
        *("a.py::seeds[0]", "a.py::seeds[4]", "a.py::seeds[8]"),
        *("a.py::short", "b.py::seeds[0]"),
    ]
