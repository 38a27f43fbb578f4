"""Columns for people, an object a line for programs."""

from __future__ import annotations

import json

import pytest

from client.tables import size_text, table

HEADINGS = ("user", "iterations")


def test_json_is_an_object_a_line() -> None:
    lines = table(HEADINGS, [("ä\nb", 4096), ("bo", 1)], as_json=True)
    assert [json.loads(line) for line in lines] == [
        {"user": "ä\nb", "iterations": 4096},
        {"user": "bo", "iterations": 1},
    ]
    assert all(line.isprintable() for line in lines) and "ä" in lines[0]


def test_a_name_begins_no_line_of_its_own() -> None:
    assert table(("user",), [("a\nb\x1b[2J",)], as_json=False)[1:] == ["a\\nb\\x1b[2J"]


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (5e9, "5.0 GB"), (2e18, "2000.0 PB")],
)
def test_units_count_by_thousands(count: float, text: str) -> None:
    assert size_text(count) == text
