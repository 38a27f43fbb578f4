"""Each record becomes a row or a misfit, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.compat.pipeline.small_frames import NOON, ON_SPARK, checked, records, split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK


def test_the_fields_of_columns_that_a_table_keeps() -> None:
    from pyspark.sql.types import StructType

    from pipeline.columns.columns import Columns, field_names
    from pipeline.columns.json_fields import Json
    from pipeline.columns.plain import Raw

    fields = StructType().add("id", "long").add("Offset", "long").add("", "long")
    kept = Columns(Json(fields), Raw("key")).to_text()
    assert field_names(kept) == {"id": "id", "value_Offset": "Offset", "value_": ""}
    assert field_names(Columns(Raw(), Raw("key")).to_text()) is None
    assert field_names(None) is None


def test_bytes_are_kept_as_they_are(spark: SparkSession) -> None:
    from pipeline.columns.columns import Columns
    from pipeline.columns.plain import Raw
    from pipeline.columns.records import MISFIT_SCHEMA

    columns = Columns(Raw(), Raw("key"))
    rows, misfits = split(columns, records(spark, b"\xff", None, key=None))
    assert [tuple(row) for row in rows.collect()] == [
        ("t", 0, 0, NOON.replace(tzinfo=None), None, None, bytearray(b"\xff")),
        ("t", 0, 1, NOON.replace(tzinfo=None), None, None, None),
    ]
    assert rows.schema.simpleString() == columns.schema.simpleString()
    assert misfits.schema.simpleString() == MISFIT_SCHEMA.simpleString()
    assert misfits.count() == 0


def test_a_record_that_does_not_fit_is_kept_with_the_reason(spark: SparkSession) -> None:
    from pipeline.columns.columns import Columns
    from pipeline.columns.plain import Text

    frame = records(spark, "é".encode(), b"\xff", None, key=b"k").unionByName(
        records(spark, b"v", b"\xff", key=b"\xfe")
    )
    columns = Columns(Text(), Text("key"))
    rows, misfits = split(columns, frame)
    assert [(row.offset, row.key, row.value) for row in rows.collect()] == [
        (0, "k", "é"),
        (2, "k", None),
    ]
    found = misfits.collect()
    assert [(row.offset, bytes(row.key), bytes(row.value)) for row in found] == [
        (1, b"k", b"\xff"),
        (0, b"\xfe", b"v"),
        (1, b"\xfe", b"\xff"),
    ]
    assert [row.reason for row in found] == [
        "the value is no text in UTF-8",
        "the key is no text in UTF-8",
        "the value is no text in UTF-8",
    ]


def test_what_is_kept_of_a_table_is_one_line(spark: SparkSession) -> None:
    import json

    from pipeline.columns.columns import VERSION, Columns
    from pipeline.columns.plain import Raw

    columns = Columns(Raw(), Raw("key"))
    text = columns.to_text()
    assert "\n" not in text
    assert json.loads(text) == {
        "version": VERSION,
        "value": {"format": "raw"},
        "key": {"format": "raw"},
    }
    assert columns.grown(checked(columns, records(spark, b"v"))) is columns
