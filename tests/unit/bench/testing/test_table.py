"""The table: medians with quartiles, goals, and a note for what is not there."""

from __future__ import annotations

from bench.testing.results import Results
from bench.testing.table import table


def test_medians_goals_and_notes() -> None:
    found = Results({"date": "today"}, {"Ottla": "a process", "other": "a thread"}, 3)
    for value in (10, 20, 40):
        found.add("Ottla", "start", value)
        found.add("Ottla", "reset", value)
        found.add("other", "start", value / 10)
    found.fails("other", "start", "TimeoutError: late")
    found.lacks("other", "reset", "it has none")
    found.lacks("other", "more", "it has none")
    lines = table(found, ("start", "reset", "more"), {"start": 20, "reset": 5}).splitlines()
    assert [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines[:1] + lines[2:5]
    ] == [
        ["milliseconds", "Ottla", "other", "goal"],
        ["start", "20.0 (15.0–30.0)", "2.00 (1.50–3.00) [1]", "≤ 20: met"],
        ["reset", "20.0 (15.0–30.0)", "– [2]", "≤ 5: not met"],
        ["more", "–", "– [2]", ""],
    ]
    assert len({len(line) for line in lines[:5]}) == 1
    assert lines[5:] == [
        "",
        "[1] other: it fails (1 ×): TimeoutError: late",
        "[2] other: it has none",
        "",
        "date: today",
        "Ottla: a process",
        "other: a thread",
        "rounds: 3",
    ]


def test_what_never_works_has_no_count() -> None:
    found = Results({}, {"Ottla": ""}, 1)
    for _ in range(2):
        found.fails("Ottla", "start", "no")
    assert "[1] Ottla: it fails: no" in table(found, ("start",), {})
