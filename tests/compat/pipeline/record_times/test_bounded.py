"""A record's time is a TIMESTAMP that every reader takes, or a number behind its headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.compat.pipeline.small_frames import ON_SPARK, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")

from pipeline.record_times.bounded import bounded, own_headers, time_ms

pytestmark = ON_SPARK

WITHIN = (-62_135_596_800_000, -1, 0, 253_402_300_799_999)
BEYOND = (-(1 << 63), -62_135_596_800_001, 253_402_300_800_000, (1 << 63) - 1)


def test_each_number_comes_back(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    times = (*WITHIN, *BEYOND)
    numbers = F.array(*map(F.lit, times))
    frame = records(spark, *times).withColumn(
        "at", F.element_at(numbers, (F.col("offset") + 1).cast("int"))
    )
    found = bounded(frame, F.col("at")).orderBy("offset")
    seen = found.select(
        F.col("timestamp").isNull().alias("is_beyond"),
        "headers",
        time_ms().alias("ms"),
        own_headers().alias("own"),
    ).collect()
    assert [row.ms for row in seen] == list(times)
    assert [row.is_beyond for row in seen] == [False] * 4 + [True] * 4
    assert [row.headers for row in seen[:4]] == [None] * 4
    kept = [[(one.key, bytes(one.value)) for one in row.headers] for row in seen[4:]]
    assert kept == [[("ottla.timestamp.ms", str(at).encode())] for at in BEYOND]
    assert not any(row.own for row in seen)


def test_a_header_of_the_name_is_the_records_own_where_there_is_a_time(
    spark: SparkSession,
) -> None:
    header = "array(named_struct('key', 'ottla.timestamp.ms', 'value', CAST('7' AS BINARY)))"
    frame = records(spark, b"").selectExpr("* EXCEPT (headers)", f"{header} AS headers")
    (row,) = frame.select(time_ms().alias("ms"), own_headers().alias("own")).collect()
    assert row.ms > 7 and len(row.own) == 1
