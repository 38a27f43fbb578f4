"""Counting on a small frame; the query around it is in tests/compat/test_count_topics.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.pipeline.small_frames import ON_SPARK, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = ON_SPARK


def test_a_row_for_each_partition(spark: SparkSession) -> None:
    from pipeline.count_topics import counts

    frame = records(spark, b"a", b"b", b"c")
    other = frame.selectExpr("topic", "1 AS partition").limit(1)
    both = frame.select("topic", "partition").unionByName(other)
    assert sorted((row.key, row.value) for row in counts(both).collect()) == [
        ("t-0", "3"),
        ("t-1", "1"),
    ]
