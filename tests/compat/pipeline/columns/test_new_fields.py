"""Which fields of a record its schema lacks, at any depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.compat.pipeline.small_frames import ON_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK

SCHEMA = (
    "id INT, s STRUCT<a: INT, t: STRUCT<u: INT>>, tags ARRAY<STRUCT<n: INT>>, j STRING, "
    "m MAP<STRING, STRUCT<x: INT>>, ll ARRAY<ARRAY<STRUCT<n: INT>>>"
)
RECORDS = (
    ('{"id":1,"s":{"a":1,"t":{"u":1}},"tags":[{"n":1},null],"m":{"k":{"x":1}},"j":{"b":1}}', ""),
    ('{"id":1,"s":null,"tags":null,"m":null,"ll":[[],null,[null]]}', ""),
    ('{"b":1,"s":{"b":"x"}}', "b new, s.b new"),
    ('{"s":{"t":{"v":[{"w":1}]}}}', "s.t.v new"),
    ('{"tags":[{"n":1},{"q":2},{"q":2,"r":0}]}', "tags[].q new, tags[].q new, tags[].r new"),
    ('{"m":{"k":{"x":1},"l":{"y":false}}}', "m[].y new"),
    ('{"ll":[[{"n":1}],[{"o":1}]]}', "ll[][].o new"),
    ('{"s":{"A":1},"ID":null}', "ID twin, s.A twin"),
    # Nothing that says what its type is.
    ('{"s":{"e":null,"f":[[]],"g":{"BIGINT":[null]}}}', "s.e empty, s.f empty, s.g empty"),
    # What looks so, and is a string; and what is there twice.
    ('{"s":{"e":"[]","f":"null","g":""}}', "s.e new, s.f new, s.g new"),
    ('{"s":{"b":null,"b":1},"s":{"c":{"x":1,"x":2}}}', "s.b new, s.c new"),
    ('{"a.b":1,"`":{"c: d":1}}', "a.b new, ` new"),
)


def test_each_is_named_with_its_place(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from pipeline.columns.new_fields import new_fields
    from pipeline.columns.schema_text import parse_schema

    frame = spark.createDataFrame(list(RECORDS), "text STRING, told STRING")
    flat = parse_schema("x", "id INT, s STRING, tags ARRAY<INT>")
    deep = new_fields(F.col("text"), parse_schema("x", SCHEMA)).alias("deep")
    for row in frame.select("*", deep, new_fields(F.col("text"), flat).alias("flat")).collect():
        assert ", ".join(" ".join(one) for one in row.deep) == row.told, row.text
        assert all(one.name in ("m", "ll", "j", "b", "ID", "a.b", "`") for one in row.flat), row
        assert ("b", "new") in row.flat or '"b":1,"s"' not in row.text
