"""Rows of any file as records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import NOON, on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@on_spark
def test_rows_of_any_file_become_records(spark: SparkSession) -> None:
    from pipeline.errors import PipelineError
    from pipeline.jobs.replay import from_rows

    frame = spark.createDataFrame(
        [("b", 2, None, NOON), ("a", 1, 0.5, NOON)], "id STRING, n INT, x DOUBLE, at TIMESTAMP"
    )
    rows = from_rows(frame, ["id", "n"], "at", ["n"]).collect()
    assert [bytes(row.key) for row in rows] == [b"a|1", b"b|2"]
    assert json.loads(rows[1].value) == {
        "id": "b",
        "n": 2,
        "x": None,
        "at": "2026-03-02T12:00:00.000000Z",
    }
    assert rows[0].timestamp_ms == int(NOON.timestamp() * 1000)
    with pytest.raises(PipelineError, match="no column nope in these files: they have id, n, x"):
        from_rows(frame, ["nope"], None, [])
    assert {row.misfit for row in rows} == {None}
    with pytest.raises(PipelineError, match="column x is of type double"):
        from_rows(frame, [], "x", [])


@on_spark
def test_columns_of_any_name(spark: SparkSession) -> None:
    from pipeline.jobs.replay import from_rows

    frame = spark.createDataFrame([(1, 2, 3)], "`a.b` INT, `c``d` INT, `e f` BIGINT")
    (row,) = from_rows(frame, ["a.b", "c`d"], "e f", ["a.b"]).collect()
    assert (bytes(row.key), row.timestamp_ms) == (b"1|2", 3)
    assert json.loads(row.value) == {"a.b": 1, "c`d": 2, "e f": 3}


@on_spark
def test_a_key_keeps_its_order(spark: SparkSession) -> None:
    """Rows of one key go in one task, in the order that was asked for."""
    from pipeline.jobs.replay import from_rows

    frame = spark.createDataFrame(
        [("ab"[n % 2], n) for n in (5, 2, 4, 1, 3, 0)], "id STRING, n INT"
    )
    sent = from_rows(frame.repartition(3), ["id"], None, ["n"]).collect()
    for key in (b"a", b"b"):
        numbers = [json.loads(row.value)["n"] for row in sent if bytes(row.key) == key]
        assert numbers == sorted(numbers) and len(numbers) == 3


@on_spark
def test_columns_of_time(spark: SparkSession) -> None:
    from pipeline.jobs.replay import from_rows

    frame = spark.sql(
        "SELECT 5 AS whole, '1970-01-01T00:00:01Z' AS text, 'soon' AS word, DATE'1970-01-02' AS day"
    )
    for name, found in (("whole", 5), ("text", 1000), ("word", None), ("day", 86_400_000)):
        (row,) = from_rows(frame, [], name, []).collect()
        assert (row.timestamp_ms, row.key) == (found, None)


@on_spark
def test_a_loaded_table_is_sent_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.command import parser_for
    from pipeline.jobs.replay import read_records
    from pipeline.tables.parquet_table import ParquetTable
    from tests.compat.pipeline.small_frames import records
    from tests.compat.pipeline.tables.table_life import NOTHING

    table = ParquetTable(spark, str(tmp_path / "table"))
    table.create(records(spark).schema, {})
    table.append(records(spark, b"a", None, b"c"), NOTHING.following({0: 0}, {0: 3}))
    given = ["replay", "--topic", "t", "--files", str(tmp_path / "table")]
    rows = read_records(spark, parser_for("replay").parse_args(given), True).collect()
    assert [row.value and bytes(row.value) for row in rows] == [b"a", None, b"c"]
    assert {(row.partition, row.timestamp_ms) for row in rows} == {(0, NOON.timestamp() * 1000)}
    later = parser_for("replay").parse_args([*given, "--from-time", "2026-03-02T12:00:01"])
    assert read_records(spark, later).count() == 0


@on_spark
@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_a_dead_letter_is_sent_as_the_record_that_it_was(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    """Also in a folder whose name does not say what it holds."""
    from dataclasses import replace

    from pipeline.command import parser_for
    from pipeline.jobs.replay import read_records
    from pipeline.tables.progress import DEAD_LETTERS, KEY
    from pipeline.tables.table import open_table
    from tests.compat.pipeline.small_frames import records
    from tests.compat.pipeline.tables.table_life import NOTHING

    letters = open_table(spark, form, str(tmp_path / "t"))
    header = "array(named_struct('key', 'reason', 'value', X'00FF')) AS headers"
    refused = records(spark, b'{"id":"seven"}', None, b"\xff\x00").selectExpr(
        "* EXCEPT (headers)", header, "'the field id does not fit' AS reason"
    )
    began = replace(NOTHING, of=DEAD_LETTERS)
    letters.create(refused.schema, {KEY: began.text()})
    assert letters.append(refused, began.following({0: 0}, {0: 3})) == 3
    given = ["replay", "--topic", "t", "--files", str(tmp_path / "t")]
    rows = read_records(spark, parser_for("replay").parse_args(given), True).collect()
    assert [row.value and bytes(row.value) for row in rows] == [
        b'{"id":"seven"}',
        None,
        b"\xff\x00",
    ]
    at_ms = NOON.timestamp() * 1000
    assert {(bytes(row.key), row.partition, row.timestamp_ms) for row in rows} == {
        (b"S1", 0, at_ms)
    }
    assert [(one.key, bytes(one.value)) for one in rows[0].headers] == [("reason", b"\x00\xff")]
    later = parser_for("replay").parse_args([*given, "--from-time", "2026-03-02T12:00:01"])
    assert read_records(spark, later).count() == 0


@on_spark
def test_files_of_another_format_are_one_line(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.command import parser_for
    from pipeline.errors import PipelineError
    from pipeline.jobs.replay import read_records

    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    for name, words in (
        ("json", "no row of .*rows.csv is json: name another --format"),
        ("table", "rows.csv is no table that table or load wrote: say --format"),
    ):
        given = ["--topic", "t", "--files", str(tmp_path / "rows.csv"), "--format", name]
        with pytest.raises(PipelineError, match=words):
            read_records(spark, parser_for("replay").parse_args(["replay", *given]))
