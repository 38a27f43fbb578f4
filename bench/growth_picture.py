"""The curves of `bench.growth` as one picture in SVG: a panel for each curve, a line for each peer.

The axis of sizes is logarithmic, the axis of costs begins at zero. Does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Protocol

WIDTH, HEIGHT = 240, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 16, 40, 30
_COLOURS = ("#0b6e8f", "#c8682b", "#6b7f3a", "#7a4fa3")
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.title{font-weight:600}.end{text-anchor:end}"
    ".mid{text-anchor:middle}.grid{stroke:#ddd}polyline{fill:none;stroke-width:2}"
)


class CurveShown(Protocol):
    """The parts of a `bench.curves.Curve` that the picture shows."""

    @property
    def name(self) -> str: ...
    @property
    def what(self) -> str: ...
    @property
    def request(self) -> str: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...


class MeasuredShown(Protocol):
    """The parts of a `bench.growth.PeerCurve` that the picture shows."""

    @property
    def curve(self) -> str: ...
    @property
    def peer(self) -> str: ...
    @property
    def cost_us(self) -> Mapping[int, float]: ...


def picture(curves: Sequence[CurveShown], measured: Sequence[MeasuredShown]) -> str:
    """Return the picture with all panels beside each other."""
    peers = list(dict.fromkeys(result.peer for result in measured))
    colours = {peer: _COLOURS[at % len(_COLOURS)] for at, peer in enumerate(peers)}
    panels = []
    for at, curve in enumerate(curves):
        own = [result for result in measured if result.curve == curve.name]
        panels.append(
            f'<g transform="translate({at * WIDTH},20)">{_panel(curve, own, colours)}</g>'
        )
    keys = []
    for at, peer in enumerate(peers):
        x = _LEFT + at * 110
        keys.append(
            f'<rect x="{x}" y="6" width="12" height="4" fill="{colours[peer]}"/>'
            f'<text x="{x + 16}" y="12">{escape(peer)}</text>'
        )
    width = WIDTH * max(1, len(curves))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT + 20}" role="img" '
        f'aria-label="broker CPU per request beside what is idle"><style>{_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(keys)}{"".join(panels)}</svg>\n'
    )


def _panel(curve: CurveShown, measured: Sequence[MeasuredShown], colours: Mapping[str, str]) -> str:
    """Return the SVG parts of a curve's panel, with a line for each measured peer."""
    top = round_up(
        max((cost for result in measured for cost in result.cost_us.values()), default=1.0)
    )
    parts = [
        f'<text class="title" x="{_LEFT}" y="14">{escape(curve.what)}</text>',
        f'<text x="{_LEFT}" y="28">µs per request ({escape(curve.request)})</text>',
    ]
    for step in range(3):
        y = _y(top * step / 2, top)
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="end" x="{_LEFT - 4}" y="{y + 4}">{top * step / 2:g}</text>')
    xs = {size: _x(at, len(curve.sizes)) for at, size in enumerate(curve.sizes)}
    for size, x in xs.items():
        parts.append(f'<text class="mid" x="{x:.1f}" y="{HEIGHT - 10}">{size:,}</text>')
    for result in measured:
        colour = colours[result.peer]
        points = [(xs[size], _y(cost, top)) for size, cost in result.cost_us.items()]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline stroke="{colour}" points="{line}"/>')
        for (x, y), cost in zip(points, result.cost_us.values(), strict=True):
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">'
                f"<title>{escape(result.peer)}: {cost:.1f} µs</title></circle>"
            )
    return "".join(parts)


def _x(at: int, count: int) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * (at + 0.5) / count


def _y(value: float, top: float) -> float:
    return round(HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / top, 1)


def round_up(value: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, 50 …"""
    step = 1.0
    while step * 10 <= value:
        step *= 10
    return next(step * factor for factor in (1, 2, 5, 10) if step * factor >= value)
