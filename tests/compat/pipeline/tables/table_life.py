"""What every table that the job `table` fills does alike, as steps that the tests of each take."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import pytest

from tests.compat.pipeline.small_frames import records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.tables.table import Table

pytest.importorskip("pyspark")

from pipeline.errors import PipelineError
from pipeline.tables.progress import KEY, Progress

NOTHING = Progress("t", "id", 0, {}, {}, topic_id="1hmEKRB-SnOHcsCzOyL1Gg")
LONG_AGO, FAR_OFF = "2001-01-01 00:00:00.000000", "2101-01-01 00:00:00.000000"
T = TypeVar("T", bound="Table")


def after(table: Table, starts: dict[int, int], ends: dict[int, int]) -> Progress:
    found = table.progress()
    assert found is not None
    return found.following(starts, ends)


def filled(spark: SparkSession, table: T, maker: Table | None = None) -> T:
    """Two runs, merged, and behind them a change of somebody else's; `maker` makes the table."""
    assert table.progress() is None
    (maker or table).create(
        records(spark).schema, {KEY: NOTHING.text(), "ottla.columns": "it's {}"}
    )
    assert table.properties()["ottla.columns"] == "it's {}"
    assert table.progress() == NOTHING
    first = NOTHING.following({0: 0}, {0: 3})
    table.append(records(spark, b"a", b"b", None), first)
    assert table.progress() == first
    second = first.following({0: 3}, {0: 9})
    rows = records(spark, b"d", b"e").selectExpr("* EXCEPT (offset)", "offset + 3 AS offset")
    table.append(rows, second)
    before = table.size()
    assert before.files >= 2
    table.merge(1_000_000, False)
    assert table.size().files == 1
    assert table.progress() == second, "behind a merge"
    table.remember({"ottla.columns": "{}"})
    assert table.progress() == second and table.commits() == [first, second]
    assert sorted(row.offset for row in table.read().collect()) == [0, 1, 2, 3, 4]
    return table


def of_before(spark: SparkSession, make: Callable[[SparkSession, str], T], path: str) -> T:
    """The table as older versions had it, who gave Spark a path without a scheme."""
    with pytest.MonkeyPatch.context() as before:
        before.setattr(f"{make.__module__}.as_spark_has_it", lambda path: path)
        return make(spark, path)


@contextlib.contextmanager
def other_file_system(spark: SparkSession) -> Iterator[None]:
    """Spark's default is none of this machine's, and nothing is there."""
    spark.conf.set("fs.defaultFS", "viewfs://nowhere")
    try:
        yield
    finally:
        spark.conf.unset("fs.defaultFS")


def check_refusals(spark: SparkSession, table: Table) -> None:
    """Whoever comes second with a number adds nothing."""
    third = after(table, {0: 9}, {0: 10})
    assert third.run == 3
    rival = after(table, {0: 9}, {0: 11})
    table.append(records(spark, b"z").selectExpr("* EXCEPT (offset)", "9L AS offset"), third)
    with pytest.raises(PipelineError, match="another job has written run 3 of .* meanwhile"):
        table.append(records(spark, b"z", b"z"), rival)
    assert table.read().count() == 6
    assert table.progress() == third
    with pytest.raises(PipelineError, match="another job has written run 1"):
        table.append(records(spark, b"z"), NOTHING.following({0: 0}, {0: 1}))
    assert table.read().count() == 6


def check_way_back(
    spark: SparkSession, table: Table, first: str, last: int, *replayed: str
) -> None:
    """As of the version `first`, of three rows, and as of times; what is not there is one line.
    `last` is how many rows there are now, `replayed` the options by which replay has the first."""
    from pipeline.auditing.audited_table import looked_at
    from pipeline.command import parser_for
    from pipeline.jobs.replay import table_form, table_rows

    there = ["replay", "--topic", "t", "--files", table.path, *replayed]
    options = parser_for("replay").parse_args(there)
    rows, _ = table_rows(spark, options)
    assert sorted(row.offset for row in rows.collect()) == [0, 1, 2]
    looked = looked_at(spark, table_form(options), table.path, None, version=first)
    assert (looked.runs, looked.ranges, looked.records.count()) == (1, {0: (0, 3)}, 3)
    assert table.read(time=FAR_OFF).count() == last
    with pytest.raises(PipelineError, match="was not there by 2001-01-01 .* goes back to 20"):
        table.read(time=LONG_AGO)
    with pytest.raises(PipelineError, match="has no version 99, or its files were deleted"):
        table.read(version="99")


def check_forgets(table: Table, first: str, last: int) -> None:
    """What is older than some days is gone, and the rest is whole."""
    table.forget(0)
    with pytest.raises(PipelineError, match=f"has no version {first}, or its files were deleted"):
        table.read(version=first)
    assert table.read(time=FAR_OFF).count() == table.read().count() == last
