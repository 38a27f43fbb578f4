"""Spark's standard Kafka source for the jobs: a stream, or a batch between offsets.

Owns the options by which lost records are an error and are never skipped. The source ends with an
overflow at times outside Spark's range, whichever columns a job needs. confluent-kafka can read a
batch in its place, which is slower and accepts every time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline import errors
from pipeline.record_times.bounded import bounded
from pipeline.spark.connection import ISOLATION, Connection
from pipeline.spark.memory import is_short

_POLL = "kafka.max.poll.records"
# Spark's retries of its own look-ups: the election of a leader takes a moment. Each task keeps the
# records of one poll. Those of the client's default, 500, may fill the memory: the client bounds
# their bytes only as they are compressed.
_READING = {
    "fetchOffset.numRetries": "10",
    "fetchOffset.retryIntervalMs": "1000",
    _POLL: "40",
}
_IF_SHORT = {_POLL: "2"}
LAST_READ_MS = (1 << 63) // 1000 - 1
"""The last time that the source reads, in ms since the epoch: Spark counts microseconds."""
_OVERFLOW = "long overflow"
# Times of the Julian calendar, which Spark's source moves to the same day of the Gregorian one.
_FIRST_GREGORIAN = "1582-10-15T00:00:00Z"
_TOO_EARLY = "a time before 1582"
T = TypeVar("T")


def stream(spark: SparkSession, connection: Connection, topic: str, batch_max: int) -> DataFrame:
    """Return a topic from its beginning as a stream, in batches of at most `batch_max` records."""
    return (
        spark.readStream.format("kafka")
        .options(**_READING)
        .options(**connection.reading())
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", batch_max)
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .load()
    )


def batch(
    spark: SparkSession,
    connection: Connection,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    *,
    any_time: bool = False,
) -> DataFrame:
    """Return a topic's records from `starts` to before `ends`, which have the offsets of the same
    partitions. Without `any_time`, reading may fail because of a record's time: see
    `with_any_time`."""
    if any_time:
        return _by_executors(spark, connection, topic, starts, ends)
    records = (
        spark.read.format("kafka")
        .options(**{**_READING, **(_IF_SHORT if is_short(spark) else {})})
        .options(**connection.reading())
        .option("assign", json.dumps({topic: sorted(starts)}))
        .option("startingOffsets", offsets_json(topic, starts))
        .option("endingOffsets", offsets_json(topic, ends))
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .load()
    )
    at = F.col("timestamp")
    early = F.raise_error(F.lit(_TOO_EARLY)).cast("bigint")
    is_early = at < F.lit(_FIRST_GREGORIAN).cast("timestamp")
    return bounded(records, F.when(is_early, early).otherwise(F.unix_millis(at)))


def with_any_time(look: Callable[[bool], T], again: Callable[[], None]) -> T:
    """Return the result of `look(any_time)`, first without `any_time`. If Spark's source cannot
    read a record's time, call `again`, and then `look(True)` for the other reader."""
    try:
        return look(False)
    except Exception as error:
        if not fails_on_time(error):
            raise
    again()
    return look(True)


def fails_on_time(error: BaseException) -> bool:
    """Return whether an error of Spark's source is about a time that it cannot read."""
    return any(words in str(error) for words in (_OVERFLOW, _TOO_EARLY))


def _by_executors(
    spark: SparkSession,
    connection: Connection,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
) -> DataFrame:
    """Return the same columns as `batch`, read by confluent-kafka in a task for each partition."""
    # Imported here, because only this reader needs pyarrow.
    from pipeline.record_times import reading

    for module in (errors, reading):
        register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    # Java's client and librdkafka have different defaults.
    isolation = connection.options.get(ISOLATION, "read_uncommitted")
    settings = {**connection.client(), "isolation.level": isolation}
    ranges = tuple(
        reading.PartitionRange(partition, starts[partition], ends[partition])
        for partition in sorted(starts)
    )
    read = reading.ReadRecords(settings, topic, ranges)
    numbers = spark.range(0, len(ranges), 1, len(ranges))
    records = numbers.mapInArrow(read, reading.SCHEMA)
    return bounded(records, F.col(reading.TIME_MS)).drop(reading.TIME_MS)


def offsets_json(topic: str, offsets: Mapping[int, int]) -> str:
    """Return offsets by partition as the connector's options require them."""
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})
