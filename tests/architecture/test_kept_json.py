"""Kept JSON has one case a line, and the same content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kept_json import LINE_MAX, write_json

LONG = "z" * LINE_MAX


@pytest.mark.parametrize(
    "cases, kept",
    [
        (
            {"b": [1, {"x": None}], "a": "ü\u2028\ud800\n"},
            '{\n "b":[1,{"x":null}],\n "a":"ü\\u2028\\ud800\\n"\n}\n',
        ),
        ([{"x": 1}, []], '[\n {"x":1},\n []\n]\n'),
        ({"long": [LONG, {"x": 1}]}, f'{{\n "long":[\n  "{LONG}",\n  {{"x":1}}\n ]\n}}\n'),
        ({}, "{}\n"),
    ],
)
def test_a_case_has_a_line(tmp_path: Path, cases: Any, kept: str) -> None:
    path = tmp_path / "cases.json"
    write_json(path, cases)
    assert path.read_text("utf-8") == kept
    assert json.loads(kept) == cases


def test_names_are_sorted_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    write_json(path, {"b": {"d": 1, "c": 2}, "a": 3}, sort_keys=True)
    assert path.read_text() == '{\n "a":3,\n "b":{"c":2,"d":1}\n}\n'


def test_a_shorter_line_spreads_more(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    write_json(path, {"a": {"b": [1, 2]}}, line_max=8)
    assert path.read_text() == '{\n "a":{\n  "b":[1,2]\n }\n}\n'
