"""The columns that a table keeps have the names that its rows have."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pipeline.columns.avro.avro_fields import Avro
from pipeline.columns.avro.avro_schema import AvroSchema
from pipeline.columns.columns import Columns, Format
from pipeline.columns.json_fields import Json
from pipeline.columns.kept_columns import kept_columns
from pipeline.columns.plain import Raw, Text
from pipeline.columns.schema_text import parse_schema
from tests.unit.pipeline.columns.avro.fake_registry import record


def avro(name: str | None) -> Avro:
    schema = AvroSchema("x", record(("id", "int"), ("offset", ["null", "long"])))
    return Avro.of(schema, None, None, name)


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (Raw(), Raw("key")),
        (Text(), Text("key")),
        (
            Json(parse_schema("x", "id INT NOT NULL, `Offset` STRUCT<a: INT>")),
            Json(parse_schema("x", "id INT"), name="key"),
        ),
        (avro(None), avro("key")),
        (Avro.of(AvroSchema("x", '"long"'), None, None, None), Raw("key")),
    ],
)
def test_they_are_those_of_the_rows(value: Format, key: Format) -> None:
    columns = Columns(value, key)
    kept = kept_columns(columns.to_text())
    wanted = [field.simpleString() for field in columns.schema]
    assert [field.simpleString() for field in kept] == wanted
