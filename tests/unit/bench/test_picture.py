"""The picture: every row turned so that the right side is better; well-formed."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bench.picture import Bar, bar_of, picture
from bench.report import FigureRow, rows
from bench.scenario import LARGER, SMALLER, Figure
from tests.unit.bench.one_run import ONE, run_of


def row(better: str, ratios: list[float], goal: float | None) -> FigureRow:
    values = {"ottla": [ratio * 10 for ratio in ratios], "kafka": [10.0] * len(ratios)}
    return FigureRow(ONE, Figure("f", "u", 1.0, better), values, ratios, goal, None)


def test_more_is_better_for_a_rate() -> None:
    assert bar_of(row(LARGER, [1.0, 2.0, 3.0], 1.2)) == Bar(2.0, 1.5, 2.5, 1.2)


def test_a_cost_is_turned() -> None:
    bar = bar_of(row(SMALLER, [0.2, 0.2, 0.2], 0.5))
    assert bar is not None
    assert (bar.middle, bar.low, bar.high, bar.goal) == pytest.approx((5, 5, 5, 2))


def test_nothing_to_compare_with_is_no_bar() -> None:
    alone = FigureRow(ONE, Figure("f", "u", 1.0, LARGER), {"ottla": [1.0]}, [], None, None)
    assert bar_of(alone) is None


def test_the_picture_is_svg_with_a_dot_a_row() -> None:
    run = run_of()
    drawn = ElementTree.fromstring(picture(run, rows(run, {"one": ONE})))
    assert drawn.tag.endswith("svg")
    dots = drawn.findall("{http://www.w3.org/2000/svg}circle")
    assert len(dots) == 2 + 3  # rows with a goal, and the legend
