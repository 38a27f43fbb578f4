"""The figures of a set of records, in a topic or a table: counts, gaps, repetitions, lag, rates.

Pure transformations of frames with the columns of Spark's Kafka source (a loaded table has the
same), and the small results as values. Never reads a topic, never judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

BUCKETS = 60
PARTS = ("partition", "offset", "timestamp", "headers", "key", "value")
"""The parts of a record by which two places can be compared."""
_LOW_32_BITS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """The counts and the offsets of a partition's records."""

    partition: int
    records: int
    offsets: int
    """The number of different offsets."""
    first: int
    """The least offset."""
    last: int
    """The greatest offset."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A stretch of time, by the records' timestamps, and its lags. None: no record has a lag."""

    start_ms: int
    records: int
    lag_p50_ms: int | None
    lag_p95_ms: int | None


@dataclass(frozen=True, slots=True)
class Content:
    """The count and the hash by which two sets of records are compared."""

    records: int
    hash_sum: int
    """The sum of a hash of some of the `PARTS` of each record, the same parts for both sets."""


@dataclass(frozen=True, slots=True)
class RecordsView:
    """The figures of a set of records. Lag is the time from the event to the record's timestamp."""

    partitions: list[PartitionCounts]
    checksum: int
    """The sum of the CRC-32 of key and value of each record."""
    hash_sum: int
    """The hash of `Content`."""
    ids: int
    """The number of different ids; 0 if the values have none."""
    repeated: int
    """The number of records whose id an earlier record has."""
    lags_ms: tuple[int, int, int] | None
    """The lags p50 and p95 and the greatest lag; None if no record has a lag."""
    width_ms: int
    """The length of each bucket."""
    buckets: list[Bucket]
    """The stretches from the first timestamp to the last, without gaps."""

    @property
    def records(self) -> int:
        """The number of records in all partitions."""
        return sum(counts.records for counts in self.partitions)

    @property
    def content(self) -> Content:
        """The count and the hash of these records."""
        return Content(self.records, self.hash_sum)


def view(
    records: DataFrame, id_field: str, time_field: str, parts: Sequence[str] = PARTS
) -> RecordsView:
    """Return the figures of all records.

    `id_field` and `time_field` are fields of the JSON in the values; `parts` are hashed. The
    records are read once, and passed over four times.
    """
    looked = with_fields(records, id_field, time_field, parts).persist()
    try:
        return _view(looked)
    finally:
        looked.unpersist()


def _view(looked: DataFrame) -> RecordsView:
    counts = per_partition(looked).orderBy("partition").collect()
    ids = repetitions(looked).collect()[0]
    whole = looked.agg(
        F.percentile_approx("lag_ms", [0.5, 0.95, 1.0], 1_000).alias("lags"),
        F.min("at_ms").alias("first"),
        F.max("at_ms").alias("last"),
    ).collect()[0]
    width = bucket_width(whole["first"] or 0, whole["last"] or 0)
    lags = whole.lags
    return RecordsView(
        partitions=[
            PartitionCounts(row.partition, row.records, row.offsets, row.first, row.last)
            for row in counts
        ],
        checksum=sum(row.checksum for row in counts),
        hash_sum=sum(row.hash_sum for row in counts),
        ids=ids.ids or 0,
        repeated=ids.repeated or 0,
        lags_ms=None if not lags or lags[0] is None else (lags[0], lags[1], lags[2]),
        width_ms=width,
        buckets=without_holes(
            [
                Bucket(
                    row.start_ms, row.records, row.lags and row.lags[0], row.lags and row.lags[1]
                )
                for row in over_time(looked, width).orderBy("start_ms").collect()
            ],
            width,
        ),
    )


def last_values(records: DataFrame, parts: Sequence[str] = PARTS) -> Content:
    """Return the content of a compacted topic, however much of it is compacted yet: the last value
    of each key, without tombstones."""
    return content_of(last_per_key(records).where("value IS NOT NULL"), parts)


def content_of(records: DataFrame, parts: Sequence[str] = PARTS) -> Content:
    """Return the count and the hash of records, as `RecordsView.content`."""
    hashes = records.select(hashed(parts).alias("hash"))
    row = hashes.agg(F.count(F.lit(1)).alias("records"), F.sum("hash").alias("hash_sum"))
    (total,) = row.collect()
    return Content(total.records, total.hash_sum or 0)


def from_starts(records: DataFrame, starts: Mapping[int, int]) -> DataFrame:
    """Return the records without those before `starts`, offsets by partition."""
    for partition, start in starts.items():
        records = records.where(f"partition <> {partition} OR offset >= {start}")
    return records


def with_fields(
    records: DataFrame, id_field: str, time_field: str, parts: Sequence[str]
) -> DataFrame:
    """Return the columns `partition`, `offset`, `checksum`, `hash`, `at_ms`, `id` and `lag_ms` of
    each record. `id` and `lag_ms` are null if the value lacks the field."""
    text = F.col("value").cast("string")
    time = F.try_to_timestamp(F.get_json_object(text, f"$.{time_field}"))
    at = F.unix_millis("timestamp")
    return records.select(
        "partition",
        "offset",
        checksum().alias("checksum"),
        hashed(parts).alias("hash"),
        at.alias("at_ms"),
        F.get_json_object(text, f"$.{id_field}").alias("id"),
        (at - F.unix_millis(time)).alias("lag_ms"),
    )


def checksum() -> Column:
    """Return the CRC-32 of a record's key, followed by its value."""
    empty = F.lit("").cast("binary")
    return F.crc32(F.concat(F.coalesce("key", empty), F.coalesce("value", empty)))


def hashed(parts: Sequence[str]) -> Column:
    """Return a hash of these parts of a record. The hash has 32 bits, so that the sum over 2^31
    records is a BIGINT."""
    # Spark's hash ignores nulls: a key without a value would equal a value without a key.
    nulls = [F.col(part).isNull() for part in parts]
    return F.xxhash64(*parts, *nulls).bitwiseAND(F.lit(_LOW_32_BITS))


def per_partition(records: DataFrame) -> DataFrame:
    """Return the counts, offsets, checksum and hash of each partition."""
    return records.groupBy("partition").agg(
        F.count(F.lit(1)).alias("records"),
        F.count_distinct("offset").alias("offsets"),
        F.min("offset").alias("first"),
        F.max("offset").alias("last"),
        F.sum("checksum").alias("checksum"),
        F.sum("hash").alias("hash_sum"),
    )


def repetitions(records: DataFrame) -> DataFrame:
    """Return one row: the number of ids, and of the records after the first of each id."""
    by_id = records.where("id IS NOT NULL").groupBy("id").agg(F.count(F.lit(1)).alias("times"))
    return by_id.agg(F.count(F.lit(1)).alias("ids"), F.sum(F.col("times") - 1).alias("repeated"))


def bucket_width(first_ms: int, last_ms: int) -> int:
    """Return the width in ms of some sixty stretches of time, a whole number of seconds."""
    return max(1000, -(-(last_ms - first_ms + 1) // BUCKETS // 1000) * 1000)


def over_time(records: DataFrame, width_ms: int) -> DataFrame:
    """Return the records and lags of each stretch of time. Omits records without a timestamp."""
    start = F.col("at_ms") - F.pmod(F.col("at_ms"), F.lit(width_ms))
    return (
        records.where("at_ms IS NOT NULL")
        .groupBy(start.alias("start_ms"))
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.percentile_approx("lag_ms", [0.5, 0.95], 1_000).alias("lags"),
        )
    )


def without_holes(buckets: list[Bucket], width_ms: int) -> list[Bucket]:
    """Return the buckets with empty buckets in the gaps between them."""
    if not buckets:
        return []
    there = {bucket.start_ms: bucket for bucket in buckets}
    starts = range(buckets[0].start_ms, buckets[-1].start_ms + 1, width_ms)
    return [there.get(start) or Bucket(start, 0, None, None) for start in starts]


def last_per_key(records: DataFrame) -> DataFrame:
    """Return the last record of each key of a compacted topic, tombstones too.

    All records of a key are in one partition, so the last record has the greatest offset.
    """
    others = [name for name in records.columns if name not in ("key", "offset")]
    last = F.max_by(F.struct("offset", *others), "offset").alias("last")
    return records.where("key IS NOT NULL").groupBy("key").agg(last).select("key", "last.*")
