"""The report as text for the terminal, and as Markdown for the README."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from bench.report import FigureRow
from bench.scenario import LARGER, Scenario
from bench.turns import BenchRun

FIGURES_WITHOUT_GOAL = 2


def head(run: BenchRun) -> list[str]:
    """Return the facts about the machine, and the options of each peer."""
    lines = [f"{key}: {value}" for key, value in run.machine.items()]
    lines += [f"{name}: {flags}" for name, flags in run.flags.items()]
    lines.append(f"{rounds_of(run)}, windows of {run.window_s:g} s")
    return lines


def terminal(run: BenchRun, rows: Sequence[FigureRow]) -> str:
    """Return the table for the terminal, with all figures.

    Medians of each peer, the ratio of medians, its quartiles, the goal and whether it is met.
    """
    lines = [*head(run), ""]
    lines.append(f"{'':32}" + "".join(f"{short(name)[:12]:>13}" for name in run.peers))
    lines[-1] += "      ratio  quartiles"
    for scenario, scenario_rows in groupby(rows, lambda row: row.scenario):
        lines.append(f"{scenario.name}: {scenario.title}; {load_of(scenario)}")
        lines += [_table_line(run, row) for row in scenario_rows]
    lines += failures(run)
    goals = [row.meets_goals for row in rows if row.meets_goals is not None]
    if goals:
        lines.append(f"{sum(goals)} of {len(goals)} goals are met")
    return "\n".join(lines)


def _table_line(run: BenchRun, row: FigureRow) -> str:
    line = f"  {label_of(row):30}"
    for name in run.peers:
        values = row.values.get(name)
        line += f"{number(statistics.median(values)) if values else '–':>13}"
    if row.ratio is not None and row.spread is not None:
        low, high = row.spread
        line += f"  {row.ratio:7.2f} ×  {low:.2f}–{high:.2f}"
    if goal := goal_of(row):
        verdict = {True: ": met", False: ": NOT MET", None: ""}[row.meets_goals]
        line += f"  goal {goal}{verdict}"
    return line


def markdown(run: BenchRun, rows: Sequence[FigureRow]) -> str:
    """Return the table of figures with a goal, or of a scenario's first figures if it has none."""
    first, second = [*map(short, run.peers), "–"][:2]
    lines = [
        f"| load | figure | {first} | {second} | ratio (quartiles) | goal | met |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for scenario, scenario_rows in groupby(rows, lambda row: row.scenario):
        before = f"{scenario.title} ({load_of(scenario)})"
        for row in of_note(list(scenario_rows)):
            values = [row.values.get(name) for name in run.peers[:2]]
            medians = [
                f"{number(statistics.median(peer_values))} {row.figure.unit}" if peer_values else ""
                for peer_values in values
            ]
            ratio = ""
            if row.ratio is not None and row.spread is not None:
                ratio = f"{row.ratio:.2f} ({row.spread[0]:.2f}–{row.spread[1]:.2f})"
            met = {True: "yes", False: "no", None: ""}[row.meets_goals]
            cells = [before, row.figure.name, *(medians + [""])[:2], ratio, goal_of(row), met]
            lines.append(f"| {' | '.join(cells)} |")
            before = ""
    return "\n".join([*lines, "", *(f"{line}  " for line in (*head(run), *failures(run)))])


def of_note(rows: Sequence[FigureRow]) -> list[FigureRow]:
    """Return the rows of a scenario that have a goal or a limit, or else the first two."""
    with_goal = [row for row in rows if row.goal is not None or row.limit is not None]
    return with_goal or list(rows[:FIGURES_WITHOUT_GOAL])


def load_of(scenario: Scenario) -> str:
    """Return the client, connections and partitions as text."""
    parts = [
        _counted(scenario.connections, "connection"),
        _counted(scenario.partitions, "partition"),
    ]
    return ", ".join([scenario.client, *parts])


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def goal_of(row: FigureRow) -> str:
    """Return a text such as `≥ 1.2 × and ≤ 35 µs`, or an empty one."""
    sign = "≥" if row.figure.better == LARGER else "≤"
    goals = [f"{sign} {row.goal:g} ×"] if row.goal is not None else []
    if goals and row.enough is not None:
        goals[0] += f" or {sign} {row.enough:g} {row.figure.unit}"
    if row.limit is not None:
        goals.append(f"{sign} {row.limit:g} {row.figure.unit}")
    return " and ".join(goals)


def failures(run: BenchRun) -> list[str]:
    """Return a line for each scenario that failed, and one for those that were not steady."""
    failed = [
        f"FAILED: {record.scenario} on {record.peer}, round {record.round}: {record.error}"
        for record in run.records
        if record.error
    ]
    shaky = Counter(
        f"{record.scenario} on {short(record.peer)}" for record in run.records if record.unsteady
    )
    unsteady = [f"{name} ({count} of {run.rounds})" for name, count in shaky.items()]
    return failed + ([f"not steady after all windows: {', '.join(unsteady)}"] if unsteady else [])


def rounds_of(run: BenchRun) -> str:
    """Return a text such as `5 alternations`."""
    return _counted(run.rounds, "alternation")


def label_of(row: FigureRow) -> str:
    """Return a text such as `rate, req/s`."""
    return ", ".join(filter(None, (row.figure.name, row.figure.unit)))


def short(peer: str) -> str:
    """Return a peer's short name for readers; of another checkout the name of its folder."""
    kind, _, checkout = peer.partition("@")
    if checkout:
        return f"{kind}@{checkout.rstrip('/').rpartition('/')[2]}"
    return {"ottla": "Ottla", "kafka": "Kafka"}.get(peer, peer.partition("=")[0])


def number(value: float) -> str:
    """Return the value with three digits, and with all digits before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"
