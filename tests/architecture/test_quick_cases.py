"""`make check` leaves out cases of a test with many of them, but no whole test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.plugins.quick_cases import chosen, pytest_generate_tests, spread


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


def made(calls: list[Any], most: int, seed: int = 1) -> list[str]:
    """Return the ids of the cases of a function that a process keeps."""
    options = {"--cases": most, "randomly_seed": seed}
    metafunc = SimpleNamespace(
        _calls=list(calls),
        config=SimpleNamespace(getoption=lambda name, _=None: options[name]),
        definition=SimpleNamespace(nodeid="a.py::many"),
    )
    pytest_generate_tests(metafunc)  # type: ignore[arg-type]
    return [call.id for call in metafunc._calls]


MANY = [SimpleNamespace(id=str(number), marks=[]) for number in range(60)]


def test_cases_are_drawn_before_they_are_made_and_others_with_each_seed() -> None:
    few = made(MANY, 2)
    assert len(few) == 2 and few == sorted(few, key=int) and few == made(MANY, 2)
    assert len({case for seed in range(40) for case in made(MANY, 2, seed)}) > 20


def test_all_are_made_where_all_are_wanted_or_there_are_few() -> None:
    assert made(MANY, 0) == [call.id for call in MANY]
    assert made(MANY[:2], 2) == ["0", "1"]


def test_where_cases_have_marks_these_choose_first() -> None:
    slow = SimpleNamespace(id="slow", marks=[pytest.mark.slow])
    assert len(made([*MANY, slow], 2)) == 61
