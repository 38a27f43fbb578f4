"""A table keeps each offset once, whatever is killed when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.compat.pipeline.small_frames import GOOD, ON_SPARK, far_folder, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK


def loaded(spark: SparkSession, path: Path | str) -> Any:
    from pipeline.tables.loaded_table import LoadedTable

    return LoadedTable(spark, str(path))


def test_a_load_that_was_killed_is_finished_or_forgotten(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.tables.loaded_table import LoadedTable, layout

    path = tmp_path / "table"
    rows = layout(records(spark, GOOD, b"x", None))

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    # Before the commit: nothing of it counts.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LoadedTable, "commit", dies)
        loaded(spark, path).write(rows, "t", "id", {0: 0}, {0: 3})
    assert loaded(spark, path).manifests() == []
    assert loaded(spark, path).finish_last() == 0
    assert not any(path.rglob("*.parquet"))
    # After it: the next run puts the files in place.
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LoadedTable, "_place", dies)
        loaded(spark, path).write(rows, "t", "id", {0: 0}, {0: 3})
    assert [one.ends for one in loaded(spark, path).manifests()] == [{"0": 3}]
    assert loaded(spark, path).finish_last() == 1
    again = sorted(row.offset for row in loaded(spark, path).read().collect())
    assert again == [0, 1, 2]
    assert spark.read.parquet(str(path)).count() == 3, "any engine can read it"
    assert (path / "date=2026-03-02" / "hour=12" / "run-000001-00000.parquet").exists()


def test_off_a_disk_rows_stay_where_a_run_wrote_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.errors import PipelineError
    from pipeline.tables.loaded_table import LoadedTable, layout

    path = f"{far_folder(spark, tmp_path)}/table"
    rows = layout(records(spark, GOOD, b"x", None))

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LoadedTable, "commit", dies)
        loaded(spark, path).write(rows, "t", "id", {0: 0}, {0: 3})
    # Killed while it committed: Spark leaves the folder of its file.
    (tmp_path / "table" / "_load" / "000001.json" / "_temporary").mkdir(parents=True)
    assert loaded(spark, path).manifests() == []
    loaded(spark, path).write(rows, "t", "id", {0: 0}, {0: 3})
    later = layout(records(spark, b"y").selectExpr("* EXCEPT (offset)", "3L AS offset", "1 AS new"))
    last = loaded(spark, path).write(later, "t", "id", {0: 3}, {0: 4}, {"a": "b"})
    found = loaded(spark, path).read().orderBy("offset").collect()
    assert [(row.offset, row.new, row.hour) for row in found] == [
        (0, None, 12),
        (1, None, 12),
        (2, None, 12),
        (3, 1, 12),
    ]
    assert set(found[0].asDict()) == set(later.columns), "and no column of the run"
    assert loaded(spark, path).manifests()[1] == last and loaded(spark, path).finish_last() == 0
    with pytest.raises(PipelineError, match="another load has written run 2 "):
        loaded(spark, path).commit(last)
    (tmp_path / "table" / last.placed()[0]).unlink()
    with pytest.raises(PipelineError, match=r"part-.*\.parquet is gone, which run 2 had written"):
        loaded(spark, path).finish_last()


def test_rows_lie_by_hour_and_in_the_order_of_their_offsets(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pipeline.tables.loaded_table import layout

    table = loaded(spark, tmp_path / "table")
    assert not table.exists() and table.read().count() == 0
    frame = records(spark, *[b"%d" % n for n in range(4)])
    later = frame.selectExpr(
        *("topic", "partition", "offset + 4 AS offset", "key", "value", "headers"),
        "timestamp + INTERVAL 1 HOUR AS timestamp",
    )
    both = layout(later.unionByName(frame)).coalesce(1)
    manifest = table.write(both, "t", "id", {0: 0}, {0: 8})
    assert manifest.placed() == [
        "date=2026-03-02/hour=12/run-000001-00000.parquet",
        "date=2026-03-02/hour=13/run-000001-00001.parquet",
    ]
    assert [row.offset for row in table.read().where("hour = 13").collect()] == [4, 5, 6, 7]
    (again,) = table.manifests()
    assert again == manifest


def test_of_two_loads_at_once_one_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.errors import PipelineError
    from pipeline.tables.loaded_table import layout

    table = loaded(spark, tmp_path / "table")
    first = table.write(layout(records(spark, b"x")), "t", "id", {0: 0}, {0: 1})
    with pytest.raises(PipelineError, match="another load has written run 1 .* start it again"):
        table.commit(first)


def test_a_file_that_somebody_removed_is_named(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.errors import PipelineError
    from pipeline.tables.loaded_table import layout

    table = loaded(spark, tmp_path / "table")
    done = table.write(layout(records(spark, b"x")), "t", "id", {0: 0}, {0: 1})
    (tmp_path / "table" / done.placed()[0]).unlink()
    with pytest.raises(PipelineError, match=r"run-000001-00000.parquet is gone, which run 1 had"):
        table.finish_last()


def test_a_folder_of_somebody_else_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.errors import PipelineError

    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(PipelineError, match="holds files that load did not write"):
        loaded(spark, tmp_path).check_folder()


def test_a_column_with_a_folders_name_is_called_otherwise(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pipeline.tables.loaded_table import layout

    table = loaded(spark, tmp_path / "table")
    rows = records(spark, b"x").selectExpr("*", "'noon' AS Date", "'x' AS ottla_run")
    table.write(layout(rows), "t", "id", {0: 0}, {0: 1}, {"a": "b"})
    (row,) = table.read().collect()
    assert (row.value_Date, str(row.date), row.hour) == ("noon", "2026-03-02", 12)
    assert row.value_ottla_run == "x"
    assert table.manifests()[0].properties == {"a": "b"}


def test_where_a_run_puts_its_files() -> None:
    from pipeline.tables.loaded_table import Manifest

    one = Manifest(7, "t", "id", {}, {}, "s", ["date=d/hour=1/part-a.parquet"])
    assert one.placed() == ["date=d/hour=1/run-000007-00000.parquet"]


def test_two_fields_of_one_column_are_refused(spark: SparkSession) -> None:
    from pipeline.errors import PipelineError
    from pipeline.tables.loaded_table import layout

    frame = records(spark, b"").selectExpr("*", "1 AS Date", "2 AS value_date")
    with pytest.raises(PipelineError, match="the fields Date and value_Date would have one column"):
        layout(frame)
