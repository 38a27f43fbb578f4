"""Columns for people, an object a line for programs."""

from __future__ import annotations

import json

from broker.command.admin.tables import aligned, table

HEADINGS = ("user", "iterations")


def test_columns_are_aligned_under_their_headings() -> None:
    assert table(HEADINGS, [("alice", 4096), ("bo", 16384)], as_json=False) == [
        "USER   ITERATIONS",
        "alice  4096",
        "bo     16384",
    ]
    assert table(HEADINGS, [], as_json=False) == []


def test_json_is_an_object_a_line() -> None:
    lines = table(HEADINGS, [("ä\nb", 4096), ("bo", 1)], as_json=True)
    assert [json.loads(line) for line in lines] == [
        {"user": "ä\nb", "iterations": 4096},
        {"user": "bo", "iterations": 1},
    ]
    assert all(line.isprintable() for line in lines) and "ä" in lines[0]


def test_a_name_begins_no_line_of_its_own() -> None:
    assert table(("user",), [("a\nb\x1b[2J",)], as_json=False)[1:] == ["a?b?[2J"]


def test_a_column_that_is_empty_everywhere_is_left_out() -> None:
    assert aligned([["1", "", "x"], ["22", "", "y"]], "  ") == ["  1   x", "  22  y"]
