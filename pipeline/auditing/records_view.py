"""What an audit asks of records, wherever they lie: counts, gaps, repetitions, lag, throughput.

Pure transformations of frames with the columns of Spark's Kafka source or of a loaded table (which
has the same), and the small results as values. Never reads a topic, never judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

BUCKETS = 60
PARTS = ("partition", "offset", "timestamp", "headers", "key", "value")
"""Of a record: what two places may have alike."""
_LOW_32_BITS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """What was found of one partition."""

    partition: int
    records: int
    offsets: int
    """Different ones."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """A stretch of time, by the records' timestamps."""

    start_ms: int
    records: int
    lag_p50_ms: int | None
    lag_p95_ms: int | None


@dataclass(frozen=True, slots=True)
class Content:
    """The count and the hash that two sets of records are compared by."""

    records: int
    hash_sum: int
    """Of some of the `PARTS` of each record, the same ones for both sets."""


@dataclass(frozen=True, slots=True)
class RecordsView:
    """Everything about one set of records."""

    partitions: list[PartitionCounts]
    checksum: int
    """Sum of the CRC-32 of key and value of each record."""
    hash_sum: int
    """As in `Content`."""
    ids: int
    """Different ids; 0 where the values have none."""
    repeated: int
    """Records whose id an earlier one has."""
    lags_ms: tuple[int, int, int] | None
    """p50, p95, greatest."""
    width_ms: int
    buckets: list[Bucket]

    @property
    def records(self) -> int:
        """Of all partitions."""
        return sum(one.records for one in self.partitions)

    @property
    def content(self) -> Content:
        """To be compared with another's."""
        return Content(self.records, self.hash_sum)


def view(
    records: DataFrame, id_field: str, time_field: str, parts: Sequence[str] = PARTS
) -> RecordsView:
    """Look at all of it: it is read once, and passed over four times."""
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
    found = whole.lags
    return RecordsView(
        partitions=[
            PartitionCounts(row.partition, row.records, row.offsets, row.first, row.last)
            for row in counts
        ],
        checksum=sum(row.checksum for row in counts),
        hash_sum=sum(row.hash_sum for row in counts),
        ids=ids.ids or 0,
        repeated=ids.repeated or 0,
        lags_ms=None if not found or found[0] is None else (found[0], found[1], found[2]),
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
    """What a compacted topic comes to, wherever compaction has come: the last values, without
    tombstones."""
    return content_of(last_per_key(records).where("value IS NOT NULL"), parts)


def content_of(records: DataFrame, parts: Sequence[str] = PARTS) -> Content:
    """Return what two sets of records are compared by, as `RecordsView.content`."""
    hashes = records.select(hashed(parts).alias("hash"))
    row = hashes.agg(F.count(F.lit(1)).alias("records"), F.sum("hash").alias("hash_sum"))
    (found,) = row.collect()
    return Content(found.records, found.hash_sum or 0)


def from_starts(records: DataFrame, starts: Mapping[int, int]) -> DataFrame:
    """Return the records without those before `starts`, offsets by partition."""
    for partition, start in starts.items():
        records = records.where(f"partition <> {partition} OR offset >= {start}")
    return records


def with_fields(
    records: DataFrame, id_field: str, time_field: str, parts: Sequence[str]
) -> DataFrame:
    """`checksum`, `hash`, `id`, `at_ms`, `lag_ms` of each record; null where a value lacks the
    field."""
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
    """The CRC-32 of key and value behind each other, one record's."""
    empty = F.lit("").cast("binary")
    return F.crc32(F.concat(F.coalesce("key", empty), F.coalesce("value", empty)))


def hashed(parts: Sequence[str]) -> Column:
    """A hash of these parts of one record, of so few bits that the sum of any number of them is
    a BIGINT."""
    # A null leaves Spark's hash as it is: a key without a value would be a value without a key.
    nulls = [F.col(one).isNull() for one in parts]
    return F.xxhash64(*parts, *nulls).bitwiseAND(F.lit(_LOW_32_BITS))


def per_partition(records: DataFrame) -> DataFrame:
    """Counts, offsets, checksum and hashes of each partition."""
    return records.groupBy("partition").agg(
        F.count(F.lit(1)).alias("records"),
        F.count_distinct("offset").alias("offsets"),
        F.min("offset").alias("first"),
        F.max("offset").alias("last"),
        F.sum("checksum").alias("checksum"),
        F.sum("hash").alias("hash_sum"),
    )


def repetitions(records: DataFrame) -> DataFrame:
    """One row: different ids, and records beyond the first of each."""
    by_id = records.where("id IS NOT NULL").groupBy("id").agg(F.count(F.lit(1)).alias("times"))
    return by_id.agg(F.count(F.lit(1)).alias("ids"), F.sum(F.col("times") - 1).alias("repeated"))


def bucket_width(first_ms: int, last_ms: int) -> int:
    """About sixty stretches of time, in whole seconds."""
    return max(1000, -(-(last_ms - first_ms + 1) // BUCKETS // 1000) * 1000)


def over_time(records: DataFrame, width_ms: int) -> DataFrame:
    """Records and lag of each stretch; without those that have no time."""
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
    """With those between in which there is nothing: time goes on there too."""
    if not buckets:
        return []
    there = {one.start_ms: one for one in buckets}
    starts = range(buckets[0].start_ms, buckets[-1].start_ms + 1, width_ms)
    return [there.get(start) or Bucket(start, 0, None, None) for start in starts]


def last_per_key(records: DataFrame) -> DataFrame:
    """What a compacted topic comes to: the last record of each key, tombstones too.

    A key lies in one partition, so its greatest offset is its last one.
    """
    others = [name for name in records.columns if name not in ("key", "offset")]
    last = F.max_by(F.struct("offset", *others), "offset").alias("last")
    return records.where("key IS NOT NULL").groupBy("key").agg(last).select("key", "last.*")
