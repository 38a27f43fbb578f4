"""The small picture of docs/performance.md and the README: four figures, a bar for each broker.

    python -m bench.readme_picture bench/results/A.json bench/results/B.json > docs/speed.svg

Draws medians of finished runs and measures nothing. `bench.picture` draws all figures of a run.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.picture import INK, SOFT, rect, text
from bench.registry import all_scenarios
from bench.report import rows
from bench.table import number, short
from bench.turns import BenchRun

WIDTH = 780
LEFT = 350
PLOT = 330
PANEL = 58
COLOURS = ("#1a7f64", "#b8c2cc")


@dataclass(frozen=True, slots=True)
class PictureFigure:
    """A figure of a scenario, with its title for readers."""

    scenario: str
    figure: str
    title: str
    better: str


FIGURES = (
    PictureFigure("single-1", "p50", "A record alone: round trip, p50", "less is better"),
    PictureFigure("single-1", "broker CPU", "A record alone: broker CPU", "less is better"),
    PictureFigure(
        "batched-1k-acks-1", "rate", "Batches of 1 KiB records, one node", "more is better"
    ),
    PictureFigure("rf3-batched", "rate", "The same on three nodes, acks=all", "more is better"),
)


def picture(runs: Sequence[BenchRun]) -> str:
    """Return the whole SVG. Raises KeyError if a figure was not measured."""
    scenarios = all_scenarios()
    measured = {
        (row.scenario.name, row.figure.name): (
            {peer: statistics.median(values) for peer, values in row.values.items()},
            row.figure.unit,
        )
        for run in runs
        for row in rows(run, scenarios)
    }
    height = 16 + PANEL * len(FIGURES)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="system-ui, sans-serif" font-size="13">',
        rect(0, 0, WIDTH, height, "#ffffff"),
    ]
    for index, shown in enumerate(FIGURES):
        medians, unit = measured[shown.scenario, shown.figure]
        parts += _panel(shown, medians, unit.replace("/req", ""), 16 + index * PANEL)
    return "\n".join([*parts, "</svg>", ""])


def _panel(shown: PictureFigure, medians: dict[str, float], unit: str, y: float) -> list[str]:
    """Return the SVG parts of a figure: a bar and a value for each peer."""
    parts = [
        text(24, y + 16, shown.title, weight=600),
        text(24, y + 33, shown.better, size=11, fill=SOFT),
    ]
    most = max(medians.values())
    for place, (peer, value) in enumerate(medians.items()):
        top = y + 3 + place * 20
        width = PLOT * value / most
        parts += [
            text(LEFT - 8, top + 12, short(peer), size=11, fill=SOFT, anchor="end"),
            rect(LEFT, top, width, 16, COLOURS[place]),
            text(LEFT + width + 8, top + 12, f"{number(value)} {unit}", size=12, fill=INK),
        ]
    return parts


if __name__ == "__main__":
    sys.stdout.write(picture([BenchRun.load(Path(name)) for name in sys.argv[1:]]))
