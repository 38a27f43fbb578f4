"""Names and words of SQL, and what the formats want of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, StructField, StructType

from pipeline.errors import PipelineError
from pipeline.tables import table


def test_names_and_strings_stay_what_they_are_in_sql() -> None:
    schema = StructType(
        [StructField("a`b", IntegerType()), StructField("c", ArrayType(StringType()))]
    )
    assert table.columns_of(schema) == "`a``b` int, `c` array<string>"
    inside = StructType([StructField("a b", MapType(StringType(), schema))])
    kept = "struct<`a``b`: int, `c`: array<string>>"
    within = StructType([StructField("s", inside)])
    assert table.columns_of(within) == f"`s` struct<`a b`: map<string, {kept}>>"
    assert table.pairs({"a": "it's \\ it"}) == "'a' = 'it\\'s \\\\ it'"


def test_parquet_wants_nothing_more_of_spark() -> None:
    assert table.wants(["parquet"], local=True) == ((), {})


def test_only_on_a_laptop_is_deltas_state_read_in_few_tasks() -> None:
    key = "spark.databricks.delta.snapshotPartitions"
    assert key in table.wants(["delta"], local=True)[1]
    assert key not in table.wants(["delta"], local=False)[1]


def test_an_error_is_known_by_its_words() -> None:
    error = ValueError("[DELTA_CONCURRENT_APPEND] somebody was quicker")
    assert table.says(error, ("ABSENT", "DELTA_CONCURRENT"))
    assert not table.says(error, ("ABSENT",))
    assert "another job has written run 7 of /t" in str(table.another_writer("/t", 7))


def test_a_version_is_found_by_its_time() -> None:
    history = [(7, 1_000_000), (3, 2_000_000), (9, 3_000_000)]
    assert table.as_of("/t", history, "3", None) == 3
    assert table.as_of("/t", history, None, "1970-01-01 00:00:02.000000") == 3
    assert table.as_of("/t", history, None, "2026-01-01 00:00:00.000000") == 9
    with pytest.raises(PipelineError, match=r"/t was not there by .*back to 1970-01-01 00:00:01"):
        table.as_of("/t", history, None, "1970-01-01 00:00:00.999999")
    with pytest.raises(PipelineError, match="/t has no version 4, or its files were deleted"):
        table.as_of("/t", history, "4", None)


def test_a_tables_format_is_known_by_its_files(tmp_path: Path) -> None:
    for form, folder in (("delta", "_delta_log"), ("iceberg", "metadata"), ("parquet", "_load")):
        (tmp_path / form / folder).mkdir(parents=True)
    (tmp_path / "iceberg" / "metadata" / "version-hint.text").write_text("1")
    for form in table.FORMATS:
        assert table.form_of(str(tmp_path / form)) == form
        assert table.form_of(f"file://{tmp_path / form}") == form
    assert table.form_of(str(tmp_path)) is None and table.form_of("s3a://bucket/t") is None
