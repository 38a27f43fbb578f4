"""The reader of JSON on Spark: what goes to the executors, what comes back, and what grows.

`tests/unit/pipeline/columns/json` has which JSON fits, and what becomes of it.
"""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, checked, json_columns, records, split

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = ON_SPARK

SCHEMA = (
    "id STRING NOT NULL, k SMALLINT, n INT, l BIGINT, f FLOAT, x DOUBLE, p DECIMAL(5,2), "
    "ok BOOLEAN, b BINARY, t TIMESTAMP, u TIMESTAMP_NTZ, d DATE, s STRUCT<a: DOUBLE, ` b`: STRING>,"
    " tags ARRAY<STRUCT<n: INT>>, m MAP<STRING, ARRAY<INT>>, offset INT"
)
WHOLE = (
    '{"id":{"a": [1.50]},"k":-1,"n":2,"l":3,"f":0.5,"x":1e5,"p":1.5,"ok":true,"b":"aGk=",'
    '"t":"0001-01-01","u":"9999-12-31 23:59:59.999999","d":"9999-12-31","s":{" b":1.0},'
    '"tags":[{"n":1},null],"m":{"k":[1,null],"K":null},"offset":7,"more":8}'
)


def test_each_type_comes_back(spark: SparkSession) -> None:
    columns = json_columns(SCHEMA)
    frame = records(spark, WHOLE.encode(), b'{"id":"a"}', b"nope", None, key=b"k")
    rows, misfits = split(columns, frame)
    assert rows.schema.simpleString() == columns.schema.simpleString()
    first, second = rows.toArrow().to_pylist()
    assert (first["offset"], first["key"], second["offset"]) == (0, b"k", 1)
    names = columns.schema.names[6:]
    assert {name: first[name] for name in names} == {
        **{"id": '{"a": [1.50]}', "k": -1, "n": 2, "l": 3, "f": 0.5, "x": 1e5, "p": Decimal("1.5")},
        **{"ok": True, "b": b"hi", "t": datetime(1, 1, 1, tzinfo=UTC), "d": date(9999, 12, 31)},
        "u": datetime(9999, 12, 31, 23, 59, 59, 999_999),
        "s": {"a": None, " b": "1.0"},
        "tags": [{"n": 1}, None],
        "m": [("k", [1, None]), ("K", None)],
        "value_offset": 7,
    }
    assert [second[name] for name in names] == ["a", *[None] * (len(names) - 1)]
    letters = [
        (row.offset, row.value and bytes(row.value), row.reason) for row in misfits.collect()
    ]
    assert letters == [
        (2, b"nope", "the value is not JSON: nope"),
        (3, None, "there is no value (a tombstone)"),
    ]
    assert [bytes(row.key) for row in misfits.collect()] == [b"k", b"k"]


def test_a_new_field_becomes_a_column_and_an_empty_one_waits(spark: SparkSession) -> None:
    columns = json_columns("id INT, s STRUCT<a: INT>", "add")
    frame = records(
        spark,
        {"id": 1, "s": {"a": 1}},
        {"id": 2, "b": 1, "c": None, "d": []},
        {"id": 3, "b": 1.5, "s": {"e": "x"}},
        {"id": "x", "f": 1},
    )
    wider = columns.grown(checked(columns, frame))
    assert wider.schema.simpleString().endswith("id:int,s:struct<a:int,e:string>,b:double>")
    assert wider.grown(checked(wider, frame)) is wider
    rows, misfits = split(wider, frame)
    assert [tuple(row)[6:] for row in rows.orderBy("id").collect()] == [
        (1, (1, None), None),
        (2, None, 1.0),
        (3, (None, "x"), 1.5),
    ]
    assert [bytes(row.value) for row in misfits.collect()] == [b'{"id": "x", "f": 1}']
    same = json_columns("id INT, s STRUCT<a: INT>", "ignore")
    assert same.grown(checked(same, frame)) is same


def test_a_new_field_that_the_table_cannot_hold_makes_a_misfit(spark: SparkSession) -> None:
    from pipeline.columns.held_names import Names

    columns = json_columns("id INT, s STRUCT<a: INT>", "add")
    columns = replace(columns, value=replace(columns.value, names=Names("iceberg")))
    values = ({"id": 1, "s": {"a": 1}}, {"id": 2, "s": {"": 1}}, {"id": 3, "s.a": 1})
    many = {f"f{n}": n for n in range(2_000)}
    looked = checked(columns, records(spark, *values, many))
    assert columns.grown(looked) is columns
    rows, misfits = columns.split(looked)
    assert [row.id for row in rows.collect()] == [1]
    letters = misfits.orderBy("offset").collect()
    assert [row.reason for row in letters] == [
        "no column was found for a field of the value: s.",
        "no column was found for a field of the value: s.a",
        "no column was found for a field of the value: f0",
    ]
    assert json.loads(bytes(letters[0].value)) == values[1]


def test_a_new_field_of_one_record_among_many_is_seen(spark: SparkSession) -> None:
    columns = json_columns("id INT", "add")
    often = [{"id": n, "often": 1, "never": None} for n in range(1_100)]
    rare = {"id": 1, "it's [rare]": {"x": True}, "never": {}}
    wider = columns.grown(checked(columns, records(spark, *often, rare)))
    assert wider.schema.names[6:] == ["id", "often", "it's [rare]"]


def test_a_key_of_json_is_one_column(spark: SparkSession) -> None:
    from pipeline.columns.columns import Columns
    from pipeline.columns.json_fields import Json
    from pipeline.columns.plain import Raw
    from pipeline.columns.schema_text import parse_schema

    key = Json(parse_schema("x", "id INT NOT NULL, d DATE"), name="key")
    columns = Columns(Raw(), key)
    frame = records(spark, b"v", key=b'{"id":1,"d":"2026-11-28"}')
    for other in (None, b"{}", b'{"id":1,"d":"20261128"}'):
        frame = frame.unionAll(records(spark, b"v", key=other))
    rows, misfits = split(columns, frame)
    assert [(row.key and tuple(row.key), bytes(row.value)) for row in rows.collect()] == [
        ((1, date(2026, 11, 28)), b"v"),
        (None, b"v"),
    ]
    letters = [(bytes(row.key), bytes(row.value), row.reason) for row in misfits.collect()]
    assert letters == [
        (b"{}", b"v", "field id is missing or null"),
        (b'{"id":1,"d":"20261128"}', b"v", "field d is STRING, not DATE: 20261128"),
    ]
    assert rows.schema.simpleString() == columns.schema.simpleString()


def test_a_value_is_read_once(spark: SparkSession) -> None:
    columns = json_columns("id INT NOT NULL, b STRING, s STRUCT<x: DATE>", "add")
    assert _plan(columns.checked(records(spark, b"{}"))).count("MapInArrow") == 1


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_the_sessions_zone_changes_no_value(spark: SparkSession, zone: str) -> None:
    """`--conf` has the last word of the session's settings: not of what a time means."""
    texts = ("2026-03-29T02:30:00", "2026-11-28", "1883-11-18T12:03:58")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = records(spark, *({"t": text} for text in texts))
        rows, _ = split(json_columns("t TIMESTAMP"), frame)
        micros = [row.micros for row in rows.selectExpr("unix_micros(t) AS micros").collect()]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    epoch = datetime(1970, 1, 1)
    assert [epoch + timedelta(microseconds=number) for number in micros] == [
        datetime.fromisoformat(text) for text in texts
    ]


def test_what_is_kept_is_the_schema(spark: SparkSession) -> None:
    kept = json.loads(json_columns("id INT NOT NULL").to_text())
    assert kept["value"]["format"] == "json"
    assert json.loads(kept["value"]["fields"])["fields"][0]["nullable"] is False


def _plan(frame: DataFrame) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        frame.explain()
    return text.getvalue()
