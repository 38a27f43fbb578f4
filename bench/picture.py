"""The report as one picture: the ratio to the second peer, with spread and goal.

An SVG text, made without a library. The right side is better in every row: a rate has its ratio, a
cost or a latency the inverse ratio. The axis is logarithmic.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

from bench.report import FigureRow
from bench.scenario import LARGER
from bench.table import goal_of, label_of, load_of, number, of_note, rounds_of, short
from bench.turns import BenchRun

WIDTH = 1240
LEFT = 250
PLOT = 500
RATIO, OURS, THEIRS, GOAL = (LEFT + PLOT + step for step in (84, 170, 256, 276))
TOP = 96
ROW = 24
GROUP = 34
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
INK, SOFT, LINE, MET, MISSED, NEUTRAL = (
    "#1f2933",
    "#6b7785",
    "#e3e7ec",
    "#1a7f64",
    "#c2571a",
    "#4a6fa5",
)


@dataclass(frozen=True, slots=True)
class Bar:
    """A row's ratio with its quartiles and goal, inverted if less is better."""

    middle: float
    low: float
    high: float
    goal: float | None


def bar_of(row: FigureRow) -> Bar | None:
    """Return the bar of a row, or None if there is no second peer to compare with."""
    if row.ratio is None or row.spread is None or min(row.ratio, *row.spread) <= 0:
        return None
    low, high = row.spread
    if row.figure.better == LARGER:
        return Bar(row.ratio, low, high, row.goal)
    return Bar(1 / row.ratio, 1 / high, 1 / low, 1 / row.goal if row.goal else None)


def picture(run: BenchRun, rows: Sequence[FigureRow]) -> str:
    """Return the whole SVG."""
    shown = [
        (scenario, [(row, bar) for row in of_note(list(scenario_rows)) if (bar := bar_of(row))])
        for scenario, scenario_rows in groupby(rows, lambda row: row.scenario)
    ]
    shown = [(scenario, bars) for scenario, bars in shown if bars]
    all_bars = [bar for _, bars in shown for _, bar in bars]
    lowest = min((value for bar in all_bars for value in (bar.low, bar.goal or 1)), default=1.0)
    highest = max((value for bar in all_bars for value in (bar.high, bar.goal or 1)), default=1.0)
    ticks = [tick for tick in TICKS if lowest / 2 < tick < highest * 2]
    axis = Axis(min(lowest, *ticks) / 1.08, max(highest, *ticks) * 1.08)
    body: list[str] = []
    y = TOP
    for scenario, bars in shown:
        y += GROUP
        body.append(text(28, y - 12, scenario.title, weight=600, halo=True))
        body.append(text(LEFT + PLOT + 28, y - 12, load_of(scenario), size=11, fill=SOFT))
        for row, bar in bars:
            body += _row_parts(run, row, bar, axis, y + 6)
            y += ROW
    bottom = y + 10
    grid = [part for tick in ticks for part in _tick_parts(axis.x(tick), tick, bottom)]
    parts = [*_frame_parts(run, bottom + 76), *grid, *body, *_legend_parts(run, bottom + 30)]
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis from `least` to `most`."""

    least: float
    most: float

    def x(self, ratio: float) -> float:
        return LEFT + PLOT * math.log(ratio / self.least) / math.log(self.most / self.least)


def _row_parts(run: BenchRun, row: FigureRow, bar: Bar, axis: Axis, y: float) -> list[str]:
    """Return the SVG parts of a measured figure: bars, goal and values."""
    colour = {True: MET, False: MISSED, None: NEUTRAL}[row.meets_goals]
    parity, low, high, middle = (axis.x(value) for value in (1, bar.low, bar.high, bar.middle))
    start, width = min(parity, middle), abs(middle - parity)
    parts = [
        text(46, y + 4, f"{label_of(row)}", fill=SOFT),
        rect(start, y - 5, max(width, 0.5), 10, colour, opacity=0.28),
        rect(low, y - 1.25, max(high - low, 1), 2.5, colour),
        f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>',
    ]
    if bar.goal:
        x = axis.x(bar.goal)
        parts.append(
            f'<path d="M{x:.1f} {y - 9:.1f}v18" stroke="{INK}" stroke-width="2" fill="none"/>'
        )
    ours, theirs = (number(statistics.median(row.values[name])) for name in run.peers[:2])
    parts += [
        text(RATIO, y + 4, f"{bar.middle:.2f} ×", weight=600, fill=colour, anchor="end"),
        text(OURS, y + 4, ours, anchor="end"),
        text(THEIRS, y + 4, theirs, anchor="end"),
        text(GOAL, y + 4, goal_of(row), size=11, fill=SOFT),
    ]
    return parts


def _tick_parts(x: float, tick: float, bottom: float) -> list[str]:
    """Return the SVG parts of a line of the axis, and its label."""
    colour, width = (SOFT, 1.5) if tick == 1 else (LINE, 1)
    return [
        f'<path d="M{x:.1f} {TOP}V{bottom}" stroke="{colour}" stroke-width="{width}" fill="none"/>',
        text(x, TOP - 8, f"{tick:g} ×", size=11, fill=SOFT, anchor="middle"),
    ]


def _frame_parts(run: BenchRun, height: float) -> list[str]:
    """Return the SVG's beginning: its root, which stays open, titles and column heads."""
    first, second = (short(name) for name in run.peers[:2])
    facts = [run.machine.get(key, "") for key in ("date", "processor", "system")]
    facts += [f"Python {run.machine.get('Python', '')}", rounds_of(run)]
    columns = ((RATIO, "better"), (OURS, first), (THEIRS, second))
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" font-family="{FONT}" font-size="13">',
        rect(0, 0, WIDTH, height, "#ffffff"),
        text(
            28, 36, f"{first} beside {second}, on the same machine in one run", size=20, weight=650
        ),
        text(28, 58, "; ".join(part for part in facts if part), size=12, fill=SOFT),
        *(text(x, TOP - 8, words, size=11, fill=SOFT, anchor="end") for x, words in columns),
        text(GOAL, TOP - 8, "goal (ratio, value)", size=11, fill=SOFT),
    ]


def _legend_parts(run: BenchRun, y: float) -> list[str]:
    """Return the SVG parts that explain colours and marks."""
    explanation = (
        f"Axis: times better than {short(run.peers[1])}, more of a rate or less of a cost or "
        "latency. Dot: ratio of the medians. Line: quartiles of the ratios. Upright: goal."
    )
    parts = [text(28, y, explanation, size=12, fill=SOFT)]
    for x, colour, words in (
        (34, MET, "goal met"),
        (124, MISSED, "not met"),
        (208, NEUTRAL, "no goal"),
    ):
        parts.append(f'<circle cx="{x}" cy="{y + 20}" r="5" fill="{colour}"/>')
        parts.append(text(x + 12, y + 24, words, size=12, fill=SOFT))
    return parts


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: int = 13,
    fill: str = INK,
    anchor: str = "start",
    weight: int = 400,
    halo: bool = False,
) -> str:
    """Return one line of text; a halo keeps it readable over lines."""
    around = ' stroke="#ffffff" stroke-width="5" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
        f'font-weight="{weight}"{around}>{escape(words)}</text>'
    )


def rect(
    x: float, y: float, width: float, height: float, fill: str, *, opacity: float = 1.0
) -> str:
    """Return a rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" '
        f'fill="{fill}" fill-opacity="{opacity:g}"/>'
    )
