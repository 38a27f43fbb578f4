"""Schemas of Avro as types of Spark, and what is wrong with others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.unit.pipeline.columns.avro.fake_registry import E, record
from tests.unit.pipeline.small_frames import on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


R = {"type": "record", "name": "R", "fields": [{"name": "x", "type": ["long", "null", "int"]}]}
ALL = record(
    *((f"a_{kind}", kind) for kind in ("boolean", "int", "long", "float", "double", "string")),
    ("y", {"type": "bytes"}),
    ("e", E),
    ("e2", ["null", "E"]),
    ("e3", {"type": "array", "items": "a.b.E"}),
    ("fx", {"type": "fixed", "name": "F", "size": 4}),
    ("m", {"type": "map", "values": {"type": "array", "items": "int"}}),
    ("r", R),
    ("r2", ["null", "R"]),
    ("u", ["null", "F", "E", "string"]),
    ("u1", ["string"]),
    ("u2", ["float", "double"]),
    ("dec", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}),
    (
        "fdec",
        {"type": "fixed", "name": "D", "size": 8, "logicalType": "decimal", "precision": 12},
    ),
    ("day", {"type": "int", "logicalType": "date"}),
    ("tm", {"type": "int", "logicalType": "time-millis"}),
    ("ts", {"type": "long", "logicalType": "timestamp-millis"}),
    ("tu", {"type": "long", "logicalType": "timestamp-micros"}),
    ("lt", {"type": "long", "logicalType": "local-timestamp-millis"}),
    ("lu", {"type": "long", "logicalType": "local-timestamp-micros"}),
    ("id", {"type": "string", "logicalType": "uuid"}),
    namespace="a.b",
)


@on_spark
def test_types_are_those_that_spark_reads(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.columns.records import nullable

    schema = AvroSchema("x", ALL)
    read = [
        spark.range(1).select(F.call_function("from_avro", F.lit(b""), F.lit(one)).alias("v"))
        for one in (ALL, schema.text)
    ]
    kinds = [frame.schema["v"].dataType for frame in read]
    assert kinds[0] == kinds[1]
    assert nullable(kinds[0]) == nullable(schema.kind)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is no JSON"),
        ("5", "5 is no type"),
        ("{}", "{} is no type"),
        ('"Order"', "the type Order is not defined in it"),
        (record(("a", "nope")), "the type nope is not defined in it"),
        (record(("a", {"type": "array"})), "null is no type"),
        (record(("a", "null")), "a type that is always null has no column"),
        (record(("a", ["null"])), "a union of null alone has no column"),
        (record(), "the record O has no fields"),
        (json.dumps({"type": "record", "name": "O"}), "the record O has no fields"),
        (json.dumps({"type": "record", "fields": []}), "a record without a name"),
        (
            json.dumps({"type": "record", "name": "O", "fields": [{"type": "int"}]}),
            "a field of O has no name",
        ),
        (record(("next", ["null", "O"])), "the record O holds itself: no table has such a type"),
    ],
)
def test_a_mistake_is_one_line(text: str, words: str) -> None:
    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.errors import PipelineError

    with pytest.raises(PipelineError, match=f"^--schema: {words}"):
        AvroSchema("--schema", text)


def test_fields_that_were_taken_away_are_read_on() -> None:
    from pipeline.columns.avro.avro_schema import AvroSchema

    old = AvroSchema("x", record(("id", "int"), ("e", E), ("r", R), ("r2", ["null", "R"])))
    new = AvroSchema("x", record(("id", "long"), ("kind", E)))
    both = new.with_fields_of(old)
    assert both.kind.simpleString() == (
        "struct<id:bigint,kind:string,e:string,r:struct<x:bigint>,r2:struct<x:bigint>>"
    )
    fields = {one["name"]: one for one in json.loads(both.text)["fields"]}
    # The enum is defined once, where it comes first; so is the record.
    assert fields["e"]["type"] == ["null", "E"] and fields["e"]["default"] is None
    assert fields["r"]["type"] == ["null", R] and fields["r2"]["type"] == ["null", "R"]
    assert new.with_fields_of(new) is new
    assert new.with_fields_of(AvroSchema("x", '"string"')) is new
