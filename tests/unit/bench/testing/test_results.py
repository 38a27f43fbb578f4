"""What a run has found: values, what failed, what is lacking, goals that are missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.testing.results import Results


def results() -> Results:
    return Results({"date": "today"}, {"Ottla": "1", "other": "2"}, 3)


def test_goals_are_of_the_median() -> None:
    found = results()
    for value in (1, 9, 4):
        found.add("Ottla", "start", value)
    assert found.missed("Ottla", {"start": 4}) == []
    assert found.missed("Ottla", {"start": 3.9, "reset": 5}) == ["start", "reset"]


def test_what_never_works_is_given_up() -> None:
    found = results()
    found.fails("Ottla", "start", "no")
    assert not found.is_given_up("Ottla", "start")
    found.fails("Ottla", "start", "no")
    assert found.is_given_up("Ottla", "start") and not found.is_given_up("Ottla", "reset")
    found.add("Ottla", "start", 1)
    assert not found.is_given_up("Ottla", "start")


def test_a_file_is_read_again(tmp_path: Path) -> None:
    found, path = results(), tmp_path / "new" / "run.json"
    found.add("Ottla", "start", 1.23456)
    found.fails("other", "start", "no")
    found.lacks("other", "reset", "it has none")
    found.save(path)
    assert Results.load(path) == found and found.of("Ottla", "start") == [1.235]
    path.write_text('{"another": 1}')
    with pytest.raises(ValueError, match="no result of bench.testing"):
        Results.load(path)
