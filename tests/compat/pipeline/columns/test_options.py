"""The columns that are made where no schema is given: those of a sample."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import pytest

from pipeline.errors import PipelineError
from tests.compat.pipeline.small_frames import on_spark, records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from pipeline.columns.columns import Columns


@on_spark
def test_a_schema_is_found_once_in_a_sample(spark: SparkSession) -> None:
    from pyspark.sql.types import ArrayType, LongType, StructField, StructType

    from pipeline.columns import options

    parser = argparse.ArgumentParser()
    options.add_arguments(parser)
    parser.set_defaults(topic="t", to="delta")
    asked = parser.parse_args(["--value-format", "json"])
    options.check(asked)

    def no_sample() -> DataFrame:
        raise AssertionError("no sample is wanted")

    def found(*values: object) -> Columns:
        return options.columns_of(asked, None, lambda: records(spark, *values))

    odd = {f"u{n}": n for n in range(2_001)}
    first = found(*({"id": 1},) * 100, b"nope", None, {"id": 2.5, "tags": ["x"]}, {"ID": 1}, odd)
    assert first.schema.names[6:] == ["id", "tags"]
    again = options.columns_of(asked, first.to_text(), no_sample)
    assert again.schema == first.schema
    asked.to = "iceberg"
    assert found({"id": 1, "s": {"": 1, "x": [{"": 2, "y": 3}]}}).schema["s"] == StructField(
        "s", StructType().add("x", ArrayType(StructType().add("y", LongType())))
    ), "what has no name comes into no column: the record is a misfit"
    often = ({"a": {"b": 1}},) * 100
    assert found({"a.b": 2, "_file": "x"}, *often).schema.names[6:] == ["a"], "of rare fields"
    for values, line in (
        (({"id": 1, "s": {"": 1}},), "no field without a name, as there is one in s: give a"),
        ((None,), "the topic has no record in which a schema could be found: give --schema"),
        ((b"nope", 5), "none of 2 records is a JSON object with fields: is --value-format json"),
        (
            ({"by_user": {f"u{n}": n for n in range(2_001)}},),
            "more than 2000 fields, as where keys of an object are data: give --schema, with MAP",
        ),
    ):
        with pytest.raises(PipelineError, match=line):
            found(*values)


@on_spark
def test_a_sample_is_bounded_by_bytes(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipeline.columns import json_fields

    name = "CASE WHEN id = 1999 THEN 'last' ELSE 'id' END"
    text = f"""concat('{{"', {name}, '":1,"s":"', repeat('x', 20000), '"}}')"""
    sample = spark.range(0, 2_000, 1, 1).selectExpr(f"CAST({text} AS BINARY) AS value")
    assert json_fields.fields_of_sample(sample).fields.names == ["id", "s", "last"]
    monkeypatch.setattr(json_fields, "BYTES_MAX", 1_000_000)
    assert json_fields.fields_of_sample(sample).fields.names == ["id", "s"]
    assert json_fields._seen(sample, 1_000_000).records == 80, "two batches"
