"""Rows and offsets are one snapshot of Iceberg, and are found again behind whatever came after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import on_spark, records
from tests.compat.pipeline.tables.table_life import (
    NOTHING,
    after,
    check_forgets,
    check_refusals,
    check_way_back,
    filled,
    of_before,
    other_file_system,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")


from pipeline.errors import PipelineError
from pipeline.tables.iceberg_table import IcebergTable, lineage
from pipeline.tables.progress import KEY


@on_spark
def test_each_run_is_one_snapshot_and_no_number_comes_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    with other_file_system(spark):
        path = str(tmp_path / "it's [a] {table} é%20#*?")
        table = filled(spark, IcebergTable(spark, path))
        check_refusals(spark, table)
    oldest = str(lineage(table._snapshots(), table._head())[-1].snapshot_id)
    check_way_back(spark, table, oldest, 6, "--as-of-version", oldest)
    # Somebody takes the last run back: it is loaded again.
    snapshots = table._snapshots()
    head = table._head()
    assert head is not None
    table._call("rollback_to_snapshot", snapshot_id=str(snapshots[head].parent_id))
    found = table.progress()
    assert found is not None and found.ends == {0: 9}
    table.append(
        records(spark, b"z").selectExpr("* EXCEPT (offset)", "9L AS offset"),
        after(table, {0: 9}, {0: 10}),
    )
    # A merge, and all older snapshots expire: what is left is the properties and the rows.
    table.merge(1_000_000, True)
    check_forgets(table, oldest, 6)
    table._call("expire_snapshots", older_than="TIMESTAMP '2100-01-01 00:00:00'", retain_last="1")
    assert table.commits() == []
    found = table.progress()
    assert found is not None and (found.ends, found.topic_id) == ({0: 10}, NOTHING.topic_id)
    table.remember({KEY: after(table, {0: 10}, {0: 12}).text()})
    assert after(table, {0: 12}, {0: 12}).ends == {0: 12}


@on_spark
def test_a_table_whose_metadata_have_paths_without_a_scheme_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "old")
    old = of_before(spark, IcebergTable, path)
    old.create(records(spark).schema, {KEY: NOTHING.text()})
    first = NOTHING.following({0: 0}, {0: 1})
    old.append(records(spark, b"x"), first)
    table = IcebergTable(spark, path)
    assert table.progress() == first
    more = records(spark, b"y").selectExpr("* EXCEPT (offset)", "1L AS offset")
    table.append(more, first.following({0: 1}, {0: 2}))
    assert sorted(row.offset for row in table.read().collect()) == [0, 1]


@on_spark
def test_a_table_of_somebody_else_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    table = IcebergTable(spark, str(tmp_path / "theirs"))
    assert not table.exists()
    records(spark, b"x").writeTo(table._name).create()
    with pytest.raises(PipelineError, match="is a table that this job did not make"):
        table.progress()
