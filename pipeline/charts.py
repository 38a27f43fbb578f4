"""Plots as SVG text that stands in a page by itself: bars and lines over time or names.

Pure. Colours and type come from the page (`pipeline.report`): light and dark are its affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pipeline.generator import iso

WIDTH, HEIGHT = 720, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 24, 28
_KEY_WIDTH = 60
_DAY_MS = 86_400_000
_STEPS = 4
_LABELS = 6


@dataclass(frozen=True, slots=True)
class Series:
    """Values by position; None leaves a gap."""

    name: str
    values: Sequence[float | None]


def bars(labels: Sequence[str], series: Series, unit: str) -> str:
    """One bar a label."""
    top = _nice(max((value or 0 for value in series.values), default=0))
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
    return _framed(labels, top, unit, "".join(drawn), [series.name])


def lines(labels: Sequence[str], many: Sequence[Series], unit: str) -> str:
    """One line a series, over the same labels."""
    top = _nice(max((value or 0 for one in many for value in one.values), default=0))
    step = (WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    drawn = []
    for number, one in enumerate(many):
        points = " ".join(
            f"{_LEFT + (index + 0.5) * step:.1f},"
            f"{HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top:.1f}"
            for index, value in enumerate(one.values)
            if value is not None
        )
        drawn.append(
            f'<polyline class="line{number}" points="{points}">'
            f"<title>{escape(one.name)}</title></polyline>"
        )
    return _framed(labels, top, unit, "".join(drawn), [one.name for one in many])


def times(starts_ms: Sequence[int], width_ms: int) -> list[str]:
    """Labels of stretches of time, as exact as they are long: from dates down to seconds."""
    if width_ms >= _DAY_MS:
        return [iso(start)[:10] for start in starts_ms]
    end = 19 if width_ms < 60_000 else 16
    if starts_ms and starts_ms[-1] + width_ms - starts_ms[0] > _DAY_MS:
        return [iso(start)[5:end].replace("T", " ") for start in starts_ms]
    return [iso(start)[11:end] for start in starts_ms]


def _framed(labels: Sequence[str], top: float, unit: str, inner: str, names: Sequence[str]) -> str:
    parts = [f'<text x="{_LEFT}" y="12">{escape(unit)}</text>']
    if len(names) > 1:  # one line needs no key
        for number, name in enumerate(names):
            at = WIDTH - _RIGHT - (len(names) - number) * _KEY_WIDTH
            parts.append(f'<line class="line{number}" x1="{at}" x2="{at + 16}" y1="8" y2="8"/>')
            parts.append(f'<text x="{at + 20}" y="12">{escape(name)}</text>')
    for step in range(_STEPS + 1):
        y = HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * step / _STEPS
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" class="end">{_short(top * step / _STEPS)}')
        parts.append("</text>")
    every = max(1, -(-len(labels) // _LABELS))
    width = (WIDTH - _LEFT - _RIGHT) / max(1, len(labels))
    for index in range(0, len(labels), every):
        x = _LEFT + (index + 0.5) * width
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" class="mid">{escape(labels[index])}')
        parts.append("</text>")
    title = escape(f"{', '.join(names)} ({unit})")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">'
        f"{''.join(parts)}{inner}</svg>"
    )


def _nice(value: float) -> float:
    """The next round number above."""
    if value <= 0:
        return 1.0
    magnitude = 1.0
    while magnitude * 10 <= value:
        magnitude *= 10
    while magnitude > value:
        magnitude /= 10
    return next(magnitude * step for step in (1, 2, 2.5, 5, 10) if magnitude * step >= value)


def _short(value: float) -> str:
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:g}"
