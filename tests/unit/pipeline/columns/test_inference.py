"""The columns that come of what values have in common."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyspark")

from hypothesis import given

from pipeline.columns.inference import field_count, schema_of
from pipeline.columns.json.parsing import JsonParser
from pipeline.columns.json.record_reader import RecordReader
from pipeline.columns.json.sightings import Sighting
from tests.unit.pipeline.columns.json.random_values import OBJECTS


def sighting_of(*values: Any) -> Sighting:
    sighting = Sighting()
    for value in values:
        text = value if isinstance(value, str) else json.dumps(value)
        sighting.see(JsonParser().parse(text))
    return sighting


def inferred(*values: Any) -> str:
    return schema_of(sighting_of(*values)).simpleString()


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([{"a": 1}, {"a": None}, {"b": "x"}], "a:bigint,b:string"),
        ([{"a": 1}, {"a": 1.5}], "a:double"),
        ([{"a": 1 << 63}, {"a": 1}], "a:decimal(38,0)"),
        ([{"a": 1 << 63}, {"a": 0.5}], "a:double"),
        ([{"a": 9007199254740993}, {"a": 1.5}], "a:string"),
        ([{"a": (1 << 63) - 1}, {"a": 1.5}], "a:string"),
        ([{"a": 9007199254740993}, {"a": 1}], "a:bigint"),
        ([{"a": 10**38 - 1}], "a:decimal(38,0)"),
        ([{"a": 10**38}], "a:string"),
        ([{"a": 2**256 - 1}], "a:string"),
        (['{"a":1e400}'], "a:string"),
        (['{"a":1e5}', '{"a":1}'], "a:double"),
        ([{"a": True}, {"a": 1}], "a:string"),
        ([{"a": "2026-03-02T12:00:00Z"}], "a:string"),
        ([{"a": [1, 2.5]}, {"a": []}], "a:array<double>"),
        ([{"a": {"x": 1}}, {"a": {"y": [{"z": True}]}}], "a:struct<x:bigint,y:array<struct<z:"),
        ([{"a": {"x": 1}}, {"a": 5}], "a:string"),
        ([{"a": {}}, {"a": 5}], "a:string"),
        ([{"a": None, "b": [], "c": {}, "d": [None], "e": {"f": []}, "g": 1}], "g:bigint"),
        ([{"b\U0001f600": 2}], "b\U0001f600:bigint"),
        ([{}], ""),
    ],
)
def test_what_fits_all(values: list[Any], schema: str) -> None:
    assert inferred(*values).startswith(f"struct<{schema}")


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([{"Id": "x"}, {"id": 1}, {"id": 2}], "id:bigint"),
        ([{"Id": "x"}, {"id": 1}], "Id:string"),
        ([{"Id": None}, {"Id": None}, {"id": 1}], "id:bigint"),
        ([{"value_offset": "x"}, {"offset": 1}, {"offset": 2}], "offset:bigint"),
        ([{"a": [{"x": {"y": 1}, "X": "y"}]}, {"a": [{"x": {"Y": 1.5}}]}], "a:array<struct<x:"),
    ],
)
def test_of_names_that_are_one_the_more_frequent_has_the_column(
    values: list[Any], schema: str
) -> None:
    assert inferred(*values).startswith(f"struct<{schema}")
    assert "X" not in inferred(*values)


def test_thirty_levels_are_columns_and_forty_are_text() -> None:
    for levels, text in ((30, "bigint"), (40, "string")):
        deep: Any = 1
        for _ in range(levels):
            deep = {"a": deep}
        assert inferred(deep).count("struct<") == min(levels, 32) and text in inferred(deep)


def test_fields_are_counted_at_any_depth() -> None:
    assert field_count(schema_of(sighting_of({"a": [{"b": 1}], "c": {"d": {"e": 1}}}))) == 5


@given(OBJECTS)
def test_the_order_of_the_sample_changes_no_type(values: list[dict[str, Any]]) -> None:
    forth, back = schema_of(sighting_of(*values)), schema_of(sighting_of(*reversed(values)))
    if not _has_twins(values):
        assert _sorted(forth.jsonValue()) == _sorted(back.jsonValue())


@given(OBJECTS)
def test_what_was_in_the_sample_fits(values: list[dict[str, Any]]) -> None:
    schema = schema_of(sighting_of(*values))
    reader = RecordReader(schema, "ignore", "value")
    for value in values:
        reason = reader.read(json.dumps(value).encode()).reason
        assert reason is None or reason.endswith("differs from a column in case alone")


def _has_twins(value: Any) -> bool:
    """Return whether names differ in case, or are as many."""
    text = json.dumps(value, ensure_ascii=False)
    return text.lower() != text or any(isinstance(one, dict) and "" in one for one in value)


def _sorted(kind: Any) -> Any:
    if isinstance(kind, dict) and kind["type"] == "struct":
        return sorted((one["name"], json.dumps(_sorted(one["type"]))) for one in kind["fields"])
    if isinstance(kind, dict):
        return _sorted(kind["elementType"])
    return kind
