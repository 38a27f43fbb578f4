"""The small picture is that of the results that are kept."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.readme_picture import FIGURES, picture
from bench.turns import BenchRun

ROOT = Path(__file__).resolve().parents[3]
NEWEST = [ROOT / f"bench/results/2026-11-25-{name}-xeon.json" for name in ("one-node", "rf3")]


@pytest.fixture(scope="module")
def runs() -> list[BenchRun]:
    return [BenchRun.load(path) for path in NEWEST]


def test_the_picture_that_is_checked_in_is_drawn_from_the_results(runs: list[BenchRun]) -> None:
    assert (ROOT / "docs/speed.svg").read_text() == picture(runs), (
        f"python -m bench.readme_picture {' '.join(map(str, NEWEST))} > docs/speed.svg"
    )


def test_a_bar_for_each_broker(runs: list[BenchRun]) -> None:
    drawn = ElementTree.fromstring(picture(runs))
    bars = drawn.findall("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == 1 + 2 * len(FIGURES)  # the background, too


def test_a_figure_that_was_not_measured_is_an_error(runs: list[BenchRun]) -> None:
    with pytest.raises(KeyError):
        picture(runs[:1])
