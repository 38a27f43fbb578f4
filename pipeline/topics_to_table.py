"""A small streaming job: the records of all topics that match a pattern, in one Delta table.

Each record is a row, once, whatever was stopped or killed between: Spark's checkpoint and Delta's
log see to that. Small files are merged as the table grows. One file without imports of its own, so
that spark-submit needs nothing beside it but the packages of Kafka's connector and of Delta. Its
settings are environment variables:

    BOOTSTRAP_SERVERS   host:port,host:port of the cluster
    TOPICS              the pattern, in Java's syntax: events.*
    TABLE               a folder, or its URI
    CHECKPOINT          a folder where the job remembers what it has read
    ONCE                set: take what is there, then end

`ottla-pipeline table` can do more: columns from JSON and Avro, dead letters, other formats, records
whose times Spark's source cannot read (nanoseconds end this job with "long overflow"). It also
knows topics by their ids, which Spark's source does not tell. Here, name another TABLE and
CHECKPOINT for a topic that was deleted and made again, or its first records are left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

SETTINGS = ("BOOTSTRAP_SERVERS", "TOPICS", "TABLE", "CHECKPOINT")
# Of the session; spark-submit --conf has the last word. The partitions are a laptop's.
SPARK = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.autoCompact.enabled": "true",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "4",
}
LOOK_S = 2


def rows(records: DataFrame) -> DataFrame:
    """Records of Spark's Kafka source → rows. Bytes that are no UTF-8 become its sign for that."""
    return records.selectExpr(
        "topic",
        "partition",
        "offset",
        "timestamp",
        "make_valid_utf8(CAST(key AS STRING)) AS key",
        "make_valid_utf8(CAST(value AS STRING)) AS value",
    )


def start(spark: SparkSession, settings: Mapping[str, str]) -> StreamingQuery:
    """The running query; KeyError where a setting is missing."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings["BOOTSTRAP_SERVERS"])
        .option("kafka.isolation.level", "read_committed")
        .option("subscribePattern", settings["TOPICS"])
        .option("startingOffsets", "earliest")
        .load()
    )
    writer = (
        # A batch is one file: it is small.
        rows(records)
        .coalesce(1)
        .writeStream.format("delta")
        .option("checkpointLocation", settings["CHECKPOINT"])
    )
    if settings.get("ONCE"):
        return writer.trigger(availableNow=True).start(settings["TABLE"])
    return writer.trigger(processingTime="5 seconds").start(settings["TABLE"])


def follow(query: StreamingQuery, table: str) -> None:
    """Say what comes until the query ends; raises what it fails with."""
    said = -1
    ended = False
    while not ended:
        ended = bool(query.awaitTermination(LOOK_S))
        last = query.lastProgress
        if last is not None and last.numInputRows and last.batchId > said:
            said = last.batchId
            print(f"batch {said}: {last.numInputRows:,} records into {table}", flush=True)


def main() -> None:
    """Run until it is stopped, or once."""
    missing = [name for name in SETTINGS if not os.environ.get(name)]
    if missing:
        sys.exit(f"topics_to_table: set {', '.join(missing)} in the environment")
    builder = SparkSession.builder.appName("topics-to-table")
    for key, value in SPARK.items():
        builder = builder.config(key, value)
    follow(start(builder.getOrCreate(), os.environ), os.environ["TABLE"])


if __name__ == "__main__":
    main()
