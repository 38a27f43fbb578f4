"""The report as text: for the terminal, and as Markdown for the README."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from bench.report import Row
from bench.scenario import LARGER
from bench.turns import Run


def terminal(run: Run, rows: Sequence[Row]) -> str:
    """Medians of each peer, the ratio of medians, its quartiles, the goal and whether it is met."""
    lines = [
        f"{'':32}" + "".join(f"{name[:12]:>13}" for name in run.peers) + "     ratio  quartiles"
    ]
    before = ""
    for row in rows:
        if row.scenario.name != before:
            one = row.scenario
            before = one.name
            lines.append(
                f"{one.name}: {one.title}; {one.client}, "
                f"{one.connections} connections, {one.partitions} partitions"
            )
        lines.append(_line(run, row))
    for record in run.records:
        if record.error:
            lines.append(f"FAILED {record.scenario} on {record.peer}: {record.error}")
    return "\n".join(lines)


def _line(run: Run, row: Row) -> str:
    line = f"  {row.figure.name + ', ' + row.figure.unit:30}"
    for name in run.peers:
        values = row.values.get(name)
        line += f"{statistics.median(values):13.4g}" if values else f"{'–':>13}"
    if row.ratio is not None and row.spread is not None:
        low, high = row.spread
        line += f"  {row.ratio:6.2f} ×  {low:.2f}–{high:.2f}"
    sign = "≥" if row.figure.better == LARGER else "≤"
    goals = [f"{sign} {row.goal:g} ×"] if row.goal is not None else []
    goals += [f"{sign} {row.limit:g} {row.figure.unit}"] if row.limit is not None else []
    if goals:
        verdict = {True: ": met", False: ": NOT MET", None: ""}[row.met]
        line += f"  goal {' and '.join(goals)}{verdict}"
    return line
