"""Rows and offsets are one commit of Delta, and are found again behind whatever came after."""

from __future__ import annotations

import json
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
from pipeline.tables.delta_table import DeltaTable
from pipeline.tables.progress import KEY, ROWS, Progress
from pipeline.tables.table import quoted


@on_spark
def test_each_run_is_one_commit_and_no_number_comes_twice(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "it's [a] {table} é%20#*?")
    maker = of_before(spark, DeltaTable, path)
    table = filled(spark, DeltaTable(spark, path), maker)
    with other_file_system(spark):
        check_refusals(spark, table)
        (then,) = (
            table._sql(f"DESCRIBE HISTORY {table._name}")
            .where("version = 1")
            .selectExpr("CAST(timestamp AS STRING) AS at")
            .collect()
        )
        check_way_back(spark, table, "1", 6, "--as-of-time", then.at)
        check_forgets(table, "1", 6)
    # The log is cleaned: what is left is the checkpoint, the properties, the rows.
    log = tmp_path / "it's [a] {table} é%20#*?" / "_delta_log"
    table.remember({"delta.checkpointInterval": "1"})
    table.append(records(spark), after(table, {0: 10}, {0: 12}))
    for file in sorted(log.glob("*.json"))[:-1]:
        file.unlink()
    last = max(log.glob("*.json"))
    kept = [json.loads(line) for line in last.read_text().splitlines()]
    for one in kept:
        one.get("commitInfo", {}).pop("userMetadata", None)
    last.write_text("".join(json.dumps(one) + "\n" for one in kept))
    (log / f".{last.name}.crc").unlink(missing_ok=True)
    found = DeltaTable(spark, table.path).progress()
    assert found is not None and (found.ends, found.run) == ({0: 10}, 4)
    assert found.topic_id == NOTHING.topic_id


@on_spark
def test_a_table_of_somebody_else_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    records(spark, b"x").write.format("delta").save(str(tmp_path / "theirs"))
    with pytest.raises(PipelineError, match="is a table that this job did not make"):
        DeltaTable(spark, str(tmp_path / "theirs")).progress()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "holiday.jpg").write_bytes(b"x")
    table = DeltaTable(spark, str(tmp_path / "photos"))
    assert not table.exists() and table.progress() is None
    with pytest.raises(PipelineError, match="photos holds files that this job did not write"):
        table.create(records(spark).schema, {KEY: NOTHING.text()})


@on_spark
def test_a_table_has_columns_of_any_name_and_is_clustered_by_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    names = ("\U0001f600", "a\U0001f600`b c", "CLUSTER BY (x)", "e")
    frame = records(spark, b"v").selectExpr("*", "struct(1 AS `\U0001f4a1`) AS s")
    frame = frame.withColumns(dict.fromkeys(names, frame["offset"]))
    table = DeltaTable(spark, str(tmp_path / "t"))
    progress = Progress("t", "c", 0, {}, {}, ROWS)
    table.create(frame.schema, {KEY: progress.text()})
    table.append(frame, progress.following({0: 0}, {0: 1}))
    (detail,) = table._sql(f"DESCRIBE DETAIL {table._name}").collect()
    assert detail.clusteringColumns == ["timestamp"]
    (row,) = table.read().select("s", *(quoted(name) for name in names)).collect()
    assert tuple(row) == ((1,), 0, 0, 0, 0)
    table.merge(1 << 20, True)
