"""Sums per window, cell and subscriber, and the table that keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import NOON, ON_SPARK, events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK


def test_sums_per_cell_and_per_subscriber(spark: SparkSession) -> None:
    from pipeline.jobs.audit import sums_of
    from pipeline.tables import aggregates

    rows = events(
        spark,
        {},
        {"dropped": True, "duration_s": 5},
        {"kind": "data", "duration_s": 0, "bytes": 700, "cell": "C2"},
        {"event_time": "2026-03-02T12:00:00Z"},
    )
    hour = int(NOON.timestamp() * 1000)
    assert sums_of(aggregates.summed(rows, "1 hour", 0.5)) == {
        ("cell", "C1", hour - 3_600_000): (2, 2, 1, 65, 0),
        ("cell", "C2", hour - 3_600_000): (1, 0, 0, 0, 700),
        ("cell", "C1", hour): (1, 1, 0, 60, 0),
        ("subscriber", "S1", hour - 3_600_000): (3, 2, 1, 65, 700),
        ("subscriber", "S1", hour): (1, 1, 0, 60, 0),
    }


def test_an_alert_wants_enough_calls_and_too_many_drops(spark: SparkSession) -> None:
    from pipeline.tables import aggregates

    many = [{"dropped": n < 6, "cell": "bad"} for n in range(20)]
    few = [{"dropped": True, "cell": "few"} for _ in range(19)]
    good = [{"dropped": n < 3, "cell": "good"} for n in range(20)]
    sums = aggregates.summed(events(spark, *many, *few, *good), "1 hour", 0.15)
    (row,) = aggregates.alerts(sums).collect()
    assert (row.id, row.since, row.calls, row.drops) == ("bad", "2026-03-02 11:00", 20, 6)


def test_rows_survive_the_compacted_topic(spark: SparkSession) -> None:
    from pipeline.tables import aggregates

    rows = aggregates.summed(events(spark, {}, {"dropped": True}), "1 hour", 0.15)
    written = aggregates.as_records(rows)
    keys = sorted(row.key for row in written.collect())
    assert keys == ["cell|C1|2026-03-02T11:00:00Z", "subscriber|S1|2026-03-02T11:00:00Z"]
    again = aggregates.from_records(written)
    assert sorted(again.collect()) == sorted(rows.collect())


def test_the_table_of_sums_keeps_the_last_row_of_a_key(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.jobs.audit import sums_of
    from pipeline.tables import aggregates

    monkeypatch.setattr(aggregates, "WHOLE_EVERY", 3)
    table = aggregates.AggregateTable(spark, str(tmp_path / "sums"))
    assert table.read().count() == 0
    key = ("cell", "C1", int(NOON.timestamp() * 1000) - 3_600_000)
    for batch in range(8):
        rows = aggregates.summed(events(spark, *[{}] * (batch + 1)), "1 hour", 0.15)
        if batch == 1:
            rows = rows.where("of = 'cell'")
        table.write(rows, batch)
        if batch in (0, 3, 5):
            table.write(rows, batch)  # the same batch again, after a crash
        assert sums_of(table.read())[key][0] == batch + 1
        assert table.read().count() == 2
    # 6 is whole, and the folders before it are gone.
    assert table.batches() == [6, 7]


def test_half_a_batch_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    from pipeline.tables import aggregates

    table = aggregates.AggregateTable(spark, str(tmp_path / "sums"))
    table.write(aggregates.summed(events(spark, {}), "1 hour", 0.15), 0)
    (tmp_path / "sums" / "batch=1").mkdir()
    assert table.batches() == [0]
