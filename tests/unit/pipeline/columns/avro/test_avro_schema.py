"""What is wrong with schemas of Avro, and those of before a change."""

from __future__ import annotations

import json

import pytest

from tests.unit.pipeline.columns.avro.fake_registry import E, record

R = {"type": "record", "name": "R", "fields": [{"name": "x", "type": ["long", "null", "int"]}]}


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


def test_numbers_are_read_as_wide_as_the_table_has_them() -> None:
    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.columns.schema_text import parse_schema

    inner = {"type": "record", "name": "S", "fields": [{"name": "x", "type": "float"}]}
    date = {"type": "int", "logicalType": "date"}
    schema = AvroSchema(
        "x",
        record(
            ("id", {"type": "int", "doc": "x"}),
            ("f", "float"),
            ("narrow", "float"),
            ("day", date),
            ("s", ["null", inner]),
            ("l", {"type": "array", "items": ["int", "null"]}),
            ("m", {"type": "map", "values": "S"}),
            ("u", ["string", "float"]),
            ("w", ["null", "int", "long"]),
            ("v", ["int", {"type": "long", "doc": "x"}]),
        ),
    )
    assert schema.widened(schema.kind) is schema
    table = parse_schema(
        "x",
        "id BIGINT, f DOUBLE, narrow FLOAT, old STRING, day DATE, s STRUCT<x: DOUBLE>, "
        "l ARRAY<DOUBLE>, m MAP<STRING, STRUCT<x: DOUBLE>>, "
        "u STRUCT<member0: STRING, member1: DOUBLE>, w BIGINT, "
        "v STRUCT<member0: BIGINT, member1: BIGINT>",
    )
    wide = schema.widened(table)
    assert wide.kind.simpleString() == (
        "struct<id:bigint,f:double,narrow:float,day:date,s:struct<x:double>,l:array<double>,"
        "m:map<string,struct<x:double>>,u:struct<member0:string,member1:double>,w:bigint,"
        "v:struct<member0:int,member1:bigint>>"
    )
    fields = {one["name"]: one["type"] for one in json.loads(wide.text)["fields"]}
    assert fields["day"] == date and fields["w"] == ["null", "int", "long"]


def test_a_record_that_is_used_twice_stays_where_its_uses_differ() -> None:
    from pipeline.columns.avro.avro_schema import AvroSchema
    from pipeline.columns.schema_text import parse_schema

    inner = {"type": "record", "name": "S", "fields": [{"name": "x", "type": "int"}]}
    schema = AvroSchema("x", record(("a", inner), ("b", "S"), ("c", "int")))
    table = parse_schema("x", "a STRUCT<x: BIGINT>, b STRUCT<x: INT>, c BIGINT")
    wide = schema.widened(table).kind.simpleString()
    assert wide == "struct<a:struct<x:int>,b:struct<x:int>,c:bigint>"


def test_a_value_that_is_one_number_is_read_wider_too() -> None:
    from pyspark.sql.types import LongType

    from pipeline.columns.avro.avro_schema import AvroSchema

    assert AvroSchema("x", '["null", "int"]').widened(LongType()).text == '["null","long"]'
