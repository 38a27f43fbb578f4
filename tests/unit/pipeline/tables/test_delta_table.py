"""Rows and offsets are one commit of Delta, and are found again behind whatever came after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.pipeline.small_frames import on_spark, records
from tests.unit.pipeline.tables.table_life import (
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

from pyspark.sql import Row
from pyspark.sql.types import ArrayType, MapType, StringType, StructType

from pipeline.errors import PipelineError
from pipeline.tables.delta_table import DeltaTable, _mapping, lineage, newest
from pipeline.tables.progress import KEY, Progress


def commit(version: int, run: int | None = None, operation: str = "WRITE", to: str = "") -> Row:
    said = None if run is None else Progress("t", "id", run, {}, {0: run * 10}).text()
    return Row(
        version=version, operation=operation, operationParameters={"version": to}, userMetadata=said
    )


def test_the_newest_commit_of_ours_counts_behind_those_of_others() -> None:
    history = [commit(4, None, "OPTIMIZE"), commit(3, 2), commit(2, 1), commit(1)]
    found = newest(history)
    assert found is not None and (found.run, found.ends) == (2, {0: 20})
    assert newest([commit(1)]) is None


def test_a_restored_table_holds_what_it_held_then() -> None:
    history = [commit(4, None, "RESTORE", to="2"), commit(3, 2), commit(2, 1), commit(1)]
    assert [row.version for row in lineage(history)] == [4, 2, 1]
    found = newest(history)
    assert found is not None and found.ends == {0: 10}
    assert found.run == 2, "its number is taken: Delta keeps it"


def test_a_table_that_was_made_anew_has_nothing_of_the_old_one() -> None:
    anew = commit(3, None, "CREATE OR REPLACE TABLE AS SELECT")
    assert newest([commit(4), anew, commit(2, 1)]) is None


def test_columns_whose_names_delta_does_not_take_get_others_in_its_files() -> None:
    plain = StructType().add("a.b`c", "long").add("s", StructType().add("ü", "long"))
    assert _mapping(plain) == {}
    inside = StructType().add(
        "x", MapType(StringType(), ArrayType(StructType().add("a b", "long")))
    )
    for odd in (StructType().add("a,b", "long"), inside):
        assert _mapping(odd)["delta.columnMapping.mode"] == "name"


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
