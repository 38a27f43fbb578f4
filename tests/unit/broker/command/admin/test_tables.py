"""Columns for people, an object a line for programs."""

from __future__ import annotations

import json

import pytest

from broker.command.admin.tables import ByteCount, aligned, size_text, table

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


def test_sizes_and_what_is_not_known() -> None:
    row = [ByteCount(1_234_567), None]
    assert table(("size", "of"), [row], as_json=False) == ["SIZE    OF", "1.2 MB  -"]
    assert table(("size", "of"), [row], as_json=True) == ['{"size": 1234567, "of": null}']


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (5e9, "5.0 GB"), (2e18, "2000.0 PB")],
)
def test_units_count_by_thousands(count: float, text: str) -> None:
    assert size_text(count) == text
