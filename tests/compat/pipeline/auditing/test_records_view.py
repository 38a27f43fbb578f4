"""What an audit counts."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from tests.compat.pipeline.small_frames import GOOD, ON_SPARK, records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = ON_SPARK


def test_the_view_of_records(spark: SparkSession) -> None:
    from pipeline.auditing.records_view import bucket_width, last_per_key, view

    values = [GOOD, {**GOOD, "event_id": "e2"}, GOOD, b"x"]
    frame = records(spark, *values)
    found = view(frame, "event_id", "event_time")
    assert (found.records, found.ids, found.repeated) == (4, 2, 1)
    assert found.lags_ms == (2000, 2000, 2000)
    written = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in values]
    assert found.checksum == sum(zlib.crc32(b"S1" + one) for one in written)
    assert [(one.records, one.lag_p50_ms) for one in found.buckets] == [(4, 2000)]
    doubled = view(frame.unionByName(frame), "event_id", "event_time")
    assert (doubled.partitions[0].records, doubled.partitions[0].offsets) == (8, 4)
    (last,) = last_per_key(frame).collect()
    assert (last.offset, bytes(last.value)) == (3, b"x")
    assert bucket_width(0, 3_600_000) == 61_000


def test_the_last_values_are_the_same_before_and_after_compaction(spark: SparkSession) -> None:
    from pipeline.auditing.records_view import PARTS, Content, hashed, last_values

    frame = records(spark, b"old", b"new")
    (new,) = frame.where("offset = 1").select(hashed(PARTS)).collect()
    assert last_values(frame) == Content(1, new[0])
    assert last_values(frame.where("offset = 1")) == last_values(frame)
    gone = records(spark, b"old", None)
    assert last_values(gone) == last_values(gone.limit(0)) == Content(0, 0)


def test_each_part_of_a_record_counts_and_no_part_that_is_left_out(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from pipeline.auditing.records_view import PARTS, hashed

    frame = records(spark, b"x", None)
    a_header = "array(named_struct('key', '{}', 'value', X'{}'))"
    changes = {
        "partition": ["1"],
        "offset": ["offset + 7"],
        "timestamp": ["timestamp + INTERVAL 1 MILLISECOND"],
        "headers": [a_header.format("h", ""), a_header.format("h", "01"), "array()"],
        "key": ["CAST(NULL AS BINARY)", "X''", "value"],
        "value": ["key", "X''"],
    }
    for part, others in changes.items():
        typed = [f"CAST({one} AS {dict(frame.dtypes)[part]})" for one in others]
        every = [frame.withColumn(part, F.expr(one)) for one in typed]
        rest = [one for one in PARTS if one != part]

        def sums(parts: Sequence[str], frames: Sequence[DataFrame] = (frame, *every)) -> int:
            hashes = [one.agg(F.sum(hashed(parts))) for one in frames]
            return len(set(reduce(lambda left, right: left.union(right), hashes).collect()))

        assert (sums(PARTS), sums(rest)) == (1 + len(others), 1), part
    swapped = frame.selectExpr("* EXCEPT (key, value)", "value AS key", "key AS value")
    both = frame.unionByName(swapped).select(hashed(("key", "value")))
    assert len(set(both.collect())) == 4, "which of both is which"


def test_values_without_the_fields_are_counted_all_the_same(spark: SparkSession) -> None:
    from pipeline.auditing.records_view import view

    found = view(records(spark, b"x", None, {"event_id": None}), "event_id", "event_time")
    assert (found.records, found.ids, found.repeated, found.lags_ms) == (3, 0, 0, None)
    assert [one.lag_p50_ms for one in found.buckets] == [None]
    nothing = view(records(spark).limit(0), "event_id", "event_time")
    assert (nothing.records, nothing.partitions, nothing.buckets) == (0, [], [])


def test_stretches_of_time_begin_at_whole_ones(spark: SparkSession) -> None:
    from pipeline.auditing.records_view import over_time

    at = [-1, 0, 999, 1000]
    frame = spark.createDataFrame([(ms, 1) for ms in at], "at_ms BIGINT, lag_ms BIGINT")
    found = sorted((row.start_ms, row.records) for row in over_time(frame, 1000).collect())
    assert found == [(-1000, 1), (0, 2), (1000, 1)]


def test_time_in_which_nothing_came_has_its_place_too() -> None:
    from pipeline.auditing.records_view import Bucket, without_holes

    first, last = Bucket(2_000, 7, 1, 2), Bucket(5_000, 1, 1, 1)
    between = [Bucket(3_000, 0, None, None), Bucket(4_000, 0, None, None)]
    assert without_holes([first, last], 1_000) == [first, *between, last]
    assert without_holes([last], 1_000) == [last] and without_holes([], 1_000) == []
