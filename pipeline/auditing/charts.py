"""Plots as SVG text for a page of HTML: bars and lines over time or names.

Pure. Colours and fonts, light and dark, come from the page (`pipeline.auditing.report`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pipeline.generator import iso

# As wide as a phone: the text then has the size that the page sets, on a phone and on a desk.
WIDTH, HEIGHT = 440, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 30, 38
_KEY_WIDTH = 60
_DAY_MS = 86_400_000
# The ends of axes, and the number of steps to each by round numbers.
_ENDS = ((1.0, 5), (2.0, 4), (2.5, 5), (4.0, 4), (5.0, 5), (8.0, 4), (10.0, 5))
_LABELS = 6
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600)
_LABEL_WIDTH = 7
"""The width of a letter of a label."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values by position; None leaves a gap."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Timed:
    """Values by time, in seconds. Each run of points is a line; a run of one point is a dot."""

    name: str
    runs: Sequence[Sequence[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Mark:
    """An event of a run, such as a kill, with its name in the table of marks."""

    at_s: float
    name: str


def over_time(
    many: Sequence[Timed], unit: str, span: tuple[float, float], marks: Sequence[Mark]
) -> str:
    """Plot lines over seconds, from `span[0]` to `span[1]`, and the marks as dashed lines."""
    values = [value for series in many for run in series.runs for _, value in run]
    top, steps = _axis(max(values, default=0))
    begin, width = span[0], max(1.0, span[1] - span[0])

    def across(at: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (min(max(at, begin), span[1]) - begin) / width

    drawn = []
    for x, label in _apart([(across(mark.at_s), mark.name) for mark in marks]):
        drawn.append(
            f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{HEIGHT - _BOTTOM}"/>'
            f'<text x="{x:.1f}" y="{_TOP - 4}" class="mid">{escape(label)}</text>'
        )
    for number, series in enumerate(many):
        for run in series.runs:
            alone = len(run) == 1
            points = " ".join(
                f"{across(at):.1f},{HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top:.1f}"
                for at, value in (list(run) * 2 if alone else run)
            )
            drawn.append(
                f'<polyline class="line{number}{" alone" if alone else ""}" points="{points}"/>'
            )
    names = [series.name for series in many]
    frame = _levels(top, steps, unit, "seconds") + _seconds(begin, width) + _key(names)
    return _svg(frame + "".join(drawn), [name for name in names if name] or [unit], unit)


def _apart(marks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Return marks with room for their names: marks that are close together become one."""
    apart: list[tuple[float, str]] = []
    for x, name in marks:
        if apart and x - apart[-1][0] < 2 * _LABEL_WIDTH:
            apart[-1] = (apart[-1][0], f"{apart[-1][1]}, {name}")
        else:
            apart.append((x, name))
    return apart


def _seconds(begin: float, width: float) -> str:
    """Return the times below a plot, at round numbers of seconds."""
    step = next((length for length in _STEPS_S if width / length <= _LABELS), _STEPS_S[-1])
    first = math.ceil(begin / step) * step
    parts = []
    for at in range(first, int(begin + width) + 1, step):
        x = _LEFT + (WIDTH - _LEFT - _RIGHT) * (at - begin) / width
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 22}" class="mid">{at:,}</text>')
    return "".join(parts)


def bars(labels: Sequence[str], series: Series, unit: str, across: str) -> str:
    """Plot a bar for each label. `unit` is that of the values, `across` names the labels."""
    top, steps = _axis(max((value or 0 for value in series.values), default=0))
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    drawn = []
    for index, value in enumerate(series.values):
        height = (HEIGHT - _TOP - _BOTTOM) * (value or 0) / top
        x, y = _LEFT + index * step, HEIGHT - _BOTTOM - height
        drawn.append(
            f'<rect class="bar" x="{x + step * 0.1:.1f}" y="{y:.1f}" width="{step * 0.8:.1f}" '
            f'height="{height:.1f}"><title>{escape(labels[index])}: {value or 0:,.4g} '
            f"{escape(unit)}</title></rect>"
        )
    frame = _frame(labels, top, steps, unit, across)
    return _svg(frame + "".join(drawn), [series.name], unit)


def lines(labels: Sequence[str], many: Sequence[Series], unit: str, across: str) -> str:
    """Plot a line for each series, over the same labels. `unit` and `across` are as in `bars`."""
    top, steps = _axis(max((value or 0 for series in many for value in series.values), default=0))
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    drawn = []
    for number, series in enumerate(many):
        for run in _runs(series.values):
            # A single value is a line of length 0, which its round ends make a dot.
            alone = len(run) == 1
            points = " ".join(
                f"{_LEFT + (index + 0.5) * step:.1f},"
                f"{HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top:.1f}"
                for index, value in (run * 2 if alone else run)
            )
            drawn.append(
                f'<polyline class="line{number}{" alone" if alone else ""}" points="{points}">'
                f"<title>{escape(series.name)}</title></polyline>"
            )
    names = [series.name for series in many]
    frame = _frame(labels, top, steps, unit, across) + _key(names)
    return _svg(frame + "".join(drawn), names, unit)


def _runs(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    """Return values with their positions, cut where values are missing."""
    runs: list[list[tuple[int, float]]] = []
    last = -2
    for index, value in enumerate(values):
        if value is None:
            continue
        if index != last + 1:
            runs.append([])
        runs[-1].append((index, value))
        last = index
    return runs


def times(starts_ms: Sequence[int], width_ms: int) -> list[str]:
    """Return labels of stretches of time: dates, minutes or seconds, as their width requires."""
    if width_ms >= _DAY_MS:
        return [iso(start)[:10] for start in starts_ms]
    end = 19 if width_ms < 60_000 else 16
    if starts_ms and starts_ms[-1] + width_ms - starts_ms[0] > _DAY_MS:
        return [iso(start)[5:end].replace("T", " ") for start in starts_ms]
    return [iso(start)[11:end] for start in starts_ms]


def _svg(inner: str, names: Sequence[str], unit: str) -> str:
    title = escape(f"{', '.join(names)} ({unit})")
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">{inner}</svg>'


def _frame(labels: Sequence[str], top: float, steps: int, unit: str, across: str) -> str:
    """Return both axes, with their units and numbers."""
    parts = [_levels(top, steps, unit, across)]
    fitting = (WIDTH - _LEFT) // (_LABEL_WIDTH * (max(map(len, labels), default=0) + 1))
    every = max(1, -(-len(labels) // max(1, min(_LABELS, fitting))))
    width = (WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    for index in range(0, len(labels), every):
        x = _LEFT + (index + 0.5) * width
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - 22}" class="mid">{escape(labels[index])}</text>'
        )
    return "".join(parts)


def _levels(top: float, steps: int, unit: str, across: str) -> str:
    """Return the axis of the values, and the units of both axes."""
    parts = [
        f'<text x="0" y="12">{escape(unit)}</text>',
        f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - 4}" class="end">{escape(across)}</text>',
    ]
    for step in range(steps + 1):
        y = HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * step / steps
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="end">{_short(top * step / steps)}</text>'
        )
    return "".join(parts)


def _key(names: Sequence[str]) -> str:
    """Return the key with the name of each line; a single line needs none."""
    if len(names) < 2:
        return ""
    parts = []
    each = max(_KEY_WIDTH, 28 + _LABEL_WIDTH * max(map(len, names)))
    for number, name in enumerate(names):
        at = WIDTH - _RIGHT - (len(names) - number) * each
        parts.append(
            f'<line class="line{number}" x1="{at}" x2="{at + 16}" y1="8" y2="8"/>'
            f'<text x="{at + 20}" y="12">{escape(name)}</text>'
        )
    return "".join(parts)


def _axis(value: float) -> tuple[float, int]:
    """Return the next round number from `value` on, and the number of an axis' steps up to it."""
    if value <= 0:
        return 1.0, 1
    magnitude = 1.0
    while magnitude * 10 <= value:
        magnitude *= 10
    while magnitude > value:
        magnitude /= 10
    end, steps = next(axis for axis in _ENDS if magnitude * axis[0] >= value)
    return magnitude * end, steps


def _short(value: float) -> str:
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g} {letter}"
    return f"{value:g}"
