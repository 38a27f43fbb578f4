"""Plain Parquet as the job asks for it: what its manifests name, once each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, records
from tests.compat.pipeline.tables.table_life import NOTHING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.tables.parquet_table import ParquetTable
from pipeline.tables.progress import KEY

pytestmark = ON_SPARK


def test_runs_go_on_where_the_manifests_end(spark: SparkSession, tmp_path: Path) -> None:
    table = ParquetTable(spark, str(tmp_path / "a [table] {b,c} é%20#*?"))
    assert not table.exists() and table.progress() is None
    table.create(records(spark).schema, {KEY: NOTHING.text(), "ottla.columns": "{}"})
    first = NOTHING.following({0: 0}, {0: 2})
    table.append(records(spark, b"a", b"b"), first)
    again = ParquetTable(spark, table.path)
    found = again.progress()
    assert found is not None and (found.run, found.ends) == (1, {0: 2})
    assert found.topic_id == NOTHING.topic_id
    assert again.properties()["ottla.columns"] == "{}"
    second = replace(found, topic_id="another").following({1: 0}, {1: 4})
    again.append(records(spark, b"c").selectExpr("* EXCEPT (partition)", "1 AS partition"), second)
    assert [(one.run, one.ends, one.topic_id) for one in again.commits()] == [
        (1, {0: 2}, NOTHING.topic_id),
        (2, {0: 2, 1: 4}, "another"),
    ]
    assert set(again.read().columns) == set(records(spark).columns), "none of the folders"
    assert again.read().count() == 3 and again.size().files == 2
    with pytest.raises(PipelineError, match="another load has written run 2 of"):
        table.append(records(spark, b"z"), second)
    assert table.read().count() == 3


def test_what_parquet_cannot_do_is_said(spark: SparkSession, tmp_path: Path) -> None:
    table = ParquetTable(spark, str(tmp_path / "table"))
    with pytest.raises(PipelineError, match="keeps no older versions"):
        table.read(version="1")
    with pytest.raises(PipelineError, match="files are not merged"):
        table.merge(1, False)
    with pytest.raises(PipelineError, match="keeps no older versions"):
        table.forget(7)
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(PipelineError, match="holds files that load did not write"):
        ParquetTable(spark, str(tmp_path)).progress()
