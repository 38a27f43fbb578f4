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
    ],
)
def test_what_fits_all(values: list[Any], schema: str) -> None:
    assert found(*values).startswith(f"struct<{schema}")


def test_what_is_no_json_says_nothing() -> None:
    from pipeline.columns.inference import objects

    assert objects([None, b"", b"\xff", b"{", b"[" * 100_000, bytearray(b'{"a":1}')]) == [{"a": 1}]


def test_keys_that_are_data_are_refused() -> None:
    from pipeline.errors import PipelineError

    with pytest.raises(PipelineError, match="more than 2000 fields, as where keys of an object"):
        found({"by_user": {f"u{n}": n for n in range(2_001)}})


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
