"""What `make check` leaves out of a test with many cases, and that it leaves out no test."""

from __future__ import annotations

import pytest

from tests.plugins.quick_cases import chosen, spread


@pytest.mark.parametrize(
    ("count", "most", "kept"),
    [
        (0, 3, []),
        (3, 3, [0, 1, 2]),
        (4, 3, [0, 1, 3]),
        (9, 3, [0, 4, 8]),
        (60, 2, [0, 59]),
        (60, 1, [0]),
    ],
)
def test_the_first_the_last_and_what_lies_between(count: int, most: int, kept: list[int]) -> None:
    assert spread(range(count), most) == kept


def test_each_test_keeps_some_of_its_cases() -> None:
    cases = [f"a.py::many[{seed}-x]" for seed in range(20)]
    others = ["a.py::one", "b.py::many[0-x]", "b.py::Class::method[1]"]
    assert chosen([*others, *cases], 2) == [*others, cases[0], cases[-1]]
