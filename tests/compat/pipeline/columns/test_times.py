"""What is said of dates and times beyond the bounds of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import on_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from pyspark.sql.types import DateType, StringType, TimestampNTZType, TimestampType

from pipeline.columns import times


@on_spark
def test_what_is_beyond_the_bounds_has_a_sentence(spark: SparkSession) -> None:
    # An expression is made in Spark's JVM.
    assert spark.sparkContext is not None
    said = [
        [words for words, _ in times.beyond(kind, True, "a.b")]
        for kind in (DateType(), TimestampType(), TimestampNTZType(), StringType())
    ]
    time = ["field a.b is a time before the year 1", "field a.b is a time after the year 9999"]
    date = ["field a.b is a date before the year 1", "field a.b is a date after the year 9999"]
    assert said == [date, time, time, []]
