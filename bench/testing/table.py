"""The results as a table of Markdown, which is readable in a terminal as well."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from bench.report import quartiles
from bench.table import number
from bench.testing.results import Results

NONE = "–"


def table(results: Results, measures: Sequence[str], goals_ms: Mapping[str, float]) -> str:
    """Return the table of medians with quartiles, in milliseconds, and notes on missing values."""
    names = list(results.candidates)
    notes: list[str] = []
    rows = [["milliseconds", *names, "goal"]]
    for measure in measures:
        cells = [_result_cell(results, name, measure, notes) for name in names]
        rows.append([measure, *cells, _goal_text(results, names[0], measure, goals_ms)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    lines = [_table_line(row, widths) for row in rows]
    facts = [f"{name}: {what}" for name, what in [*results.machine.items(), *_facts(results)]]
    return "\n\n".join("\n".join(part) for part in (lines, notes, facts) if part)


def _facts(results: Results) -> list[tuple[str, str]]:
    """Return the candidates' descriptions and the number of rounds, as label and text."""
    return [*results.candidates.items(), ("rounds", str(results.rounds))]


def _table_line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return f"| {' | '.join([first, *others])} |"


def _result_cell(results: Results, name: str, measure: str, notes: list[str]) -> str:
    """Return the median and quartiles; failures and what is lacking become footnotes in `notes`."""
    values = results.of(name, measure)
    failed = results.failures.get(name, {}).get(measure, [])
    reason = results.lacking.get(name, {}).get(measure)
    if failed:
        often = "" if results.is_given_up(name, measure) else f" ({len(failed)} ×)"
        reason = f"it fails{often}: {failed[-1]}"
    mark = f" {_note(notes, f'{name}: {reason}')}" if reason else ""
    if not values:
        return f"{NONE}{mark}"
    low, high = quartiles(values)
    return f"{number(statistics.median(values))} ({number(low)}–{number(high)}){mark}"


def _note(notes: list[str], text: str) -> str:
    """Return the note's number in brackets; the same text has the same number."""
    texts = [note.partition("] ")[2] for note in notes]
    if text not in texts:
        texts.append(text)
        notes.append(f"[{len(texts)}] {text}")
    return f"[{texts.index(text) + 1}]"


def _goal_text(results: Results, name: str, measure: str, goals_ms: Mapping[str, float]) -> str:
    """Return the goal and whether it is met; "" without a goal."""
    if measure not in goals_ms:
        return ""
    verdict = "not met" if results.missed(name, {measure: goals_ms[measure]}) else "met"
    return f"≤ {goals_ms[measure]:g}: {verdict}"
