"""Rows of a table come back as the records that they were."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import NOON, ON_SPARK, json_columns, records, split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from pipeline.tables.table_records import between, records_of

pytestmark = ON_SPARK


def test_bytes_and_text_come_back_as_they_were(spark: SparkSession) -> None:
    whole = records(spark, b"\xff", None)
    kept = whole.selectExpr("* EXCEPT (key)", "CAST(key AS STRING) AS key")
    first, second = records_of(kept, same_partitions=True).collect()
    assert (bytes(first.key), bytes(first.value), second.value) == (b"S1", b"\xff", None)
    assert first.timestamp_ms == int(NOON.timestamp() * 1000) and first.partition == 0
    assert records_of(kept).first().partition == -1, "where the key says"


def test_columns_come_back_as_json_with_the_names_of_the_fields(spark: SparkSession) -> None:
    frame = records(spark, b"").selectExpr(
        *("* EXCEPT (value, key)", "7 AS key", "1 AS id", "'x' AS value_Offset", "NULL AS gone"),
        *("2 AS value_id", "3 AS date", "4 AS `value_`", "5 AS `a.b ``c`", "6 AS value_hour"),
    )
    own = {"value_Offset": "Offset", "value_": "", "hour": "hour"}
    fields = {**{name: name for name in ("id", "gone", "value_id", "date", "a.b `c")}, **own}
    (row,) = records_of(frame, fields=fields).collect()
    assert json.loads(bytes(row.value)) == {
        **{"id": 1, "Offset": "x", "gone": None, "value_id": 2, "date": 3, "": 4, "a.b `c": 5},
        "hour": 6,  # of plain Parquet, which has a folder of that name
    }
    assert json.loads(bytes(row.key)) == {"key": 7}
    (none,) = records_of(frame.select(*frame.columns[:5], "key", "gone"), fields=fields).collect()
    assert none.value is None, "a record without a value"


def test_times_come_back_with_their_microseconds(spark: SparkSession) -> None:
    columns = json_columns("t TIMESTAMP, n TIMESTAMP_NTZ, d DATE, l ARRAY<TIMESTAMP>")
    fields = {name: name for name in "tndl"}
    day, zone = "1500-02-28", "+05:30"
    time = f"{day}T12:00:00.000001"
    frame = records(spark, {"t": f"{time}{zone}", "n": time, "d": day, "l": [f"{time}Z"]})
    rows, _ = split(columns, frame)
    (row,) = records_of(rows, fields=fields).collect()
    back = json.loads(bytes(row.value))
    assert back == {"t": f"{day}T06:30:00.000001Z", "n": time, "d": day, "l": [f"{time}Z"]}
    again, _ = split(columns, records(spark, back))
    assert again.select(*fields).exceptAll(rows.select(*fields)).count() == 0 < again.count()


def test_one_field_that_is_called_value_is_no_value(spark: SparkSession) -> None:
    frame = records(spark, b"").selectExpr(
        "* EXCEPT (value, key)", "'x' AS value", "struct(1 AS id) AS key"
    )
    (row,) = records_of(frame, fields={"value": "value"}).collect()
    assert (bytes(row.key), bytes(row.value)) == (b'{"id":1}', b'{"value":"x"}')


def test_records_between_two_times(spark: SparkSession) -> None:
    frame = records(spark, b"a")
    assert between(frame, "2026-03-02 12:00:00", "2026-03-02 12:00:01").count() == 1
    assert between(frame, None, "2026-03-02 12:00:00").count() == 0
    assert between(frame, "2026-03-02T12:00:00.001Z", None).count() == 0


def test_records_without_a_time_are_between_by_the_number_in_their_headers(
    spark: SparkSession,
) -> None:
    number = "CAST('17' || repeat('0', 17) AS BINARY)"
    header = f"named_struct('key', 'ottla.timestamp.ms', 'value', {number})"
    frame = records(spark, b"a").selectExpr(
        "* EXCEPT (timestamp, headers)",
        "CAST(NULL AS TIMESTAMP) AS timestamp",
        f"array({header}) AS headers",
    )
    (row,) = records_of(between(frame, "2026-03-02 12:00:00", None)).collect()
    assert (row.timestamp_ms, row.headers) == (17 * 10**17, [])
    assert between(frame, None, "2026-03-02 12:00:00").count() == 0
