"""The schema that values have in common."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st


def found(*values: Any) -> str:
    from pipeline.columns.inference import objects, schema_of

    schema = schema_of(objects(json.dumps(value).encode() for value in values))
    return schema.simpleString()


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([{"a": 1}, {"a": None}, {"b": "x"}], "a:bigint,b:string"),
        ([{"a": 1}, {"a": 1.5}], "a:double"),
        ([{"a": 1 << 63}, {"a": 1}], "a:decimal(38,0)"),
        ([{"a": 1 << 63}, {"a": 0.5}], "a:double"),
        ([{"a": 10**40}], "a:double"),
        ([{"a": True}, {"a": 1}], "a:string"),
        ([{"a": "2026-03-02T12:00:00Z"}], "a:string"),
        ([{"a": [1, 2.5]}, {"a": []}], "a:array<double>"),
        ([{"a": {"x": 1}}, {"a": {"y": [{"z": True}]}}], "a:struct<x:bigint,y:array<struct<z:"),
        ([{"a": {"x": 1}}, {"a": 5}], "a:string"),
        ([{"a": None, "b": [], "c": {}, "d": [None], "e": {"f": []}, "g": 1}], "g:bigint"),
        ([5, "x", [{"a": 1}], None], ""),
        ([{"\ud800": 1, "a": {"\udfff": 1, "b\U0001f600": 2}}], "a:struct<b\U0001f600:bigint>"),
    ],
)
def test_what_fits_all(values: list[Any], schema: str) -> None:
    assert found(*values).startswith(f"struct<{schema}")


def test_what_is_no_json_says_nothing() -> None:
    from pipeline.columns.inference import objects

    assert objects([None, b"", b"\xff", b"{", b"[" * 100_000, bytearray(b'{"a":1}')]) == [{"a": 1}]


def test_keys_that_are_data_are_refused() -> None:
    from pipeline.columns.inference import for_a_table, schema_of
    from pipeline.errors import PipelineError

    schema = schema_of([{"by_user": {f"u{n}": n for n in range(2_001)}}])
    with pytest.raises(PipelineError, match="more than 2000 fields, as where keys of an object"):
        for_a_table(schema)
    few = schema_of([{"a": 1}])
    assert for_a_table(few) == few


def test_of_fields_that_differ_in_case_alone_the_first_is_left() -> None:
    from pipeline.columns.inference import for_a_table, schema_of

    found = schema_of([{"a": [{"x": {"y": 1}, "X": "y"}], "A": 1}, {"a": [{"x": {"Y": 1.5}}]}])
    assert for_a_table(found).simpleString() == (
        "struct<a:array<struct<x:struct<y:bigint>>>,A:bigint>"
    ), "of columns the options say it"


def test_an_object_that_is_too_deep_says_nothing() -> None:
    from pipeline.columns.inference import schema_of

    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    assert schema_of([{"id": 1}, deep]).simpleString() == "struct<id:bigint>"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(max_size=3), JSON, max_size=4), max_size=5))
def test_the_order_of_the_sample_changes_no_type(values: list[dict[str, Any]]) -> None:
    from pipeline.columns.inference import schema_of

    def kinds(schema: Any) -> Any:
        return sorted((one["name"], json.dumps(_sorted(one["type"]))) for one in schema["fields"])

    forth, back = schema_of(values), schema_of(reversed(values))
    assert kinds(forth.jsonValue()) == kinds(back.jsonValue())


def _sorted(kind: Any) -> Any:
    if isinstance(kind, dict) and kind["type"] == "struct":
        return sorted((one["name"], json.dumps(_sorted(one["type"]))) for one in kind["fields"])
    if isinstance(kind, dict):
        return _sorted(kind["elementType"])
    return kind
