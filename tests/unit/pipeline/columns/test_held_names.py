"""What a format cannot hold by its name is found, and the rest is left as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

pytest.importorskip("pyspark")


def schema(value: dict[str, Any]) -> StructType:
    from pipeline.columns.inference import schema_of
    from pipeline.columns.json.parsing import JsonParser
    from pipeline.columns.json.sightings import Sighting

    sighting = Sighting()
    sighting.see(JsonParser().parse(json.dumps(value)))
    return schema_of(sighting)


def held(value: dict[str, Any], form: str = "iceberg", kept: dict[str, Any] | None = None) -> str:
    from pipeline.columns.held_names import Names
    from pipeline.columns.records import HEADERS_FIELD, PLACE_FIELDS

    names = Names(form, (*PLACE_FIELDS, HEADERS_FIELD))
    found = names.held(schema(value), None if kept is None else schema(kept))
    return found.simpleString().removeprefix("struct<")[:-1]


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"s": {"": 1, "x": 2}}, "s:struct<x:bigint>"),
        ({"s": [{"y": [{"z": {"": 1}, "n": 1}]}]}, "s:array<struct<y:array<struct<n:bigint>>>>"),
        ({"s": {"": 1}, "n": 2}, "n:bigint"),
        ({"": 1, "s": {" ": 1}}, ":bigint,s:struct< :bigint>"),
        ({"a": {"b": 1}, "a.b": 2}, "a:struct<b:bigint>"),
        ({"a.b": 2, "a": {"B": 1, "c": 1}}, "a.b:bigint,a:struct<c:bigint>"),
        ({"a": [{"b": 1}], "a.element.b": 2, "a.b": 3}, "a:array<struct<b:bigint>>,a.b:bigint"),
        ({"a.": {"b": 1, "c": 1}, "a": {".b": 2, "d": 1}}, None),
        ({"headers.element": 1, "headers.key": 2}, "headers.key:bigint"),
        ({"_file": 1, "_row_id": 2, "_Pos": 3, "s": {"_file": 4}}, None),
    ],
)
def test_what_iceberg_holds(value: dict[str, Any], left: str | None) -> None:
    wanted = {
        "a.": "a.:struct<b:bigint,c:bigint>,a:struct<d:bigint>",
        "_file": "_Pos:bigint,s:struct<_file:bigint>",
    }
    assert held(value) == (left if left is not None else wanted[next(iter(value))])
    assert held(value, "delta") == held(value, "parquet") == schema(value).simpleString()[7:-1]


def test_columns_that_the_table_has_stay() -> None:
    kept = {"a": {"x": 1}, "a.b": 1}
    wider = {"a": {"x": 1, "b": 2, "c": 3}, "a.b": 1}
    assert held(wider, kept=kept) == "a:struct<x:bigint,c:bigint>,a.b:bigint"


def test_the_first_name_that_is_refused_is_told_with_what_to_do() -> None:
    from pyspark.sql.types import LongType, MapType, StringType, StructType

    from pipeline.columns.held_names import check_names

    inside = StructType().add("", LongType())
    columns = StructType().add("m", MapType(StringType(), inside))
    check_names("delta", columns)
    with pytest.raises(PipelineError, match=r"as there is one in m.value: give a --schema without"):
        check_names("iceberg", columns)
    keyed = StructType().add("m", MapType(StringType(), LongType())).add("M.Key", LongType())
    with pytest.raises(PipelineError, match=r"two fields are M.Key to Iceberg"):
        check_names("iceberg", keyed)
    twins = StructType().add("s", StructType().add("a", LongType()).add("A", LongType()))
    for form in ("delta", "iceberg", "parquet"):
        with pytest.raises(PipelineError, match=r"s\.A is there twice"):
            check_names(form, twins)


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_a_field_that_would_have_the_column_of_another_is_left_out(form: str) -> None:
    """`offset` is a record's own, so a field of that name is the column `value_offset`."""
    wider = {"value_offset": 1, "offset": 2, "n": 3}
    assert held(wider, form, {"value_offset": 1}) == "value_offset:bigint,n:bigint"


def test_a_column_of_a_rare_field_may_be_lost() -> None:
    from pipeline.columns.held_names import Names

    fields = schema({"id": 1, "_file": "x"})
    assert Names("iceberg").held_in_all(fields, {"_file"}).names == ["id"]
    for rare in ({"id"}, set[str]()):
        with pytest.raises(PipelineError, match="Iceberg has a column _file of its own"):
            Names("iceberg").held_in_all(fields, rare)
