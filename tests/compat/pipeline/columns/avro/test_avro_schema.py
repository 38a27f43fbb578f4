"""Schemas of Avro as the types that Spark itself makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.compat.pipeline.small_frames import on_spark
from tests.unit.pipeline.columns.avro.fake_registry import E, record

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
