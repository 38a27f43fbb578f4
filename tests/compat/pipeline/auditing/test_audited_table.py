"""What is looked at of a table, by what its commits say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import on_spark, records
from tests.compat.pipeline.tables.table_life import NOTHING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("pyspark")

from pipeline.auditing.audited_table import looked_at
from pipeline.auditing.records_view import PARTS
from pipeline.errors import PipelineError
from pipeline.tables.parquet_table import ParquetTable
from pipeline.tables.progress import KEY, Progress

FIRST = NOTHING.following({0: 3}, {0: 9})
SECOND = FIRST.following({0: 9, 1: 0}, {0: 12, 1: 4})


@on_spark
def test_dead_letters_that_came_after_the_version_are_not_its(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Kept:
        """A table that has other rows and commits as of a version."""

        def __init__(self, _: object, form: str, path: str) -> None:
            self._letters = path.endswith("-dead-letters")

        def exists(self) -> bool:
            return True

        def progress(self) -> Progress:
            return SECOND

        def properties(self) -> dict[str, str]:
            return {}

        def commits(self, version: str | None = None, time: str | None = None) -> list[Progress]:
            return {"7": [FIRST], "1": []}.get(version or "", [FIRST, SECOND])

        def read(self, version: str | None = None, time: str | None = None) -> DataFrame:
            rows = records(spark, b"a", b"b", b"c")
            first = 8 if self._letters else 3
            return rows.selectExpr("* EXCEPT (offset)", f"offset + {first} AS offset")

    monkeypatch.setattr("pipeline.auditing.audited_table.open_table", Kept)
    then = looked_at(spark, "delta", "t", None, version="7")
    assert sorted(row.offset for row in then.records.collect()) == [3, 4, 5, 8]
    assert (then.runs, then.ranges) == (1, {0: (3, 9)})
    now = looked_at(spark, "delta", "t", None)
    assert now.records.count() == 6 and now.ranges == {0: (3, 12), 1: (0, 4)}
    with pytest.raises(PipelineError, match="no run of table or load is known of t as it was then"):
        looked_at(spark, "delta", "t", None, version="1")


@on_spark
def test_rows_and_dead_letters_are_looked_at_together(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    with pytest.raises(PipelineError, match="is no table that table or load wrote"):
        looked_at(spark, "parquet", path, None)
    table = ParquetTable(spark, path)
    rows = records(spark, b"a").selectExpr("* EXCEPT (value)", "7 AS id")
    table.create(rows.schema, {KEY: NOTHING.text()})
    table.append(rows, NOTHING.following({0: 0}, {0: 2}))
    alone = looked_at(spark, "parquet", path, None)
    assert (alone.runs, alone.ranges) == (1, {0: (0, 2)})
    assert (alone.keeps_values, alone.keeps_keys) == (False, True)
    assert alone.progress.topic_id == NOTHING.topic_id
    assert alone.is_of("t", "id") and not alone.is_of("t", "another") and not alone.is_of("u", "id")
    of_place = ["partition", "offset", "timestamp"]
    assert alone.parts("t", "id") == [*of_place, "headers", "key"]
    assert alone.parts("u", "id") == ["headers", "key"], "sent to another topic, it is elsewhere"
    as_json = replace(alone, keeps_keys=False)
    assert as_json.parts("t", "id") == [*of_place, "headers"]
    assert replace(alone, keeps_values=True).parts("t", "id") == list(PARTS)
    with pytest.raises(PipelineError, match="is no table of dead letters"):
        looked_at(spark, "parquet", path, str(tmp_path / "none"))
    letters = ParquetTable(spark, f"{path}-dead-letters")
    refused = records(spark, b"b").selectExpr(
        "* EXCEPT (offset)", "1L AS offset", "'bad' AS reason"
    )
    letters.create(refused.schema, {KEY: NOTHING.text()})
    letters.append(refused, NOTHING.following({0: 0}, {0: 2}))
    both = looked_at(spark, "parquet", path, None).records.orderBy("offset").collect()
    assert [bytes(row.value) for row in both] == [b'{"id":7}', b"b"]
