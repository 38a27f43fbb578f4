"""A small streaming job: writes the records of topics that match a pattern to a Delta table.

Each record becomes one row, also if the job is stopped or killed: Spark's checkpoint and Delta's
log ensure that. Small files are merged as the table grows. The file imports no module of this
project, so spark-submit needs only the packages of Kafka's connector and of Delta. The settings are
environment variables:

    BOOTSTRAP_SERVERS   host:port,host:port of the cluster
    TOPICS              the pattern, in Java's syntax: events.*
    TABLE               a folder, or its URI
    CHECKPOINT          a folder for the offsets that the job has read
    ONCE                if set: write the records that are there, then end

`ottla-pipeline table` can do more: columns from JSON and Avro, dead letters, other formats, records
whose times Spark's source cannot read (nanoseconds end this job with "long overflow"). It also
knows topics by their ids, which Spark's source does not give. Here, name another TABLE and
CHECKPOINT for a topic that was deleted and made again, or its first records are left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

SETTINGS = ("BOOTSTRAP_SERVERS", "TOPICS", "TABLE", "CHECKPOINT")
# The settings of the session, which override spark-submit --conf. The partitions suit a laptop.
SPARK = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.autoCompact.enabled": "true",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "4",
}
LOOK_S = 2


def rows(records: DataFrame) -> DataFrame:
    """Return records of Spark's Kafka source as rows. Bytes that are no UTF-8 become U+FFFD."""
    return records.selectExpr(
        "topic",
        "partition",
        "offset",
        "timestamp",
        "make_valid_utf8(CAST(key AS STRING)) AS key",
        "make_valid_utf8(CAST(value AS STRING)) AS value",
    )


def start(spark: SparkSession, settings: Mapping[str, str]) -> StreamingQuery:
    """Start the query, and return it. Raises KeyError if a setting is missing."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings["BOOTSTRAP_SERVERS"])
        .option("kafka.isolation.level", "read_committed")
        .option("subscribePattern", settings["TOPICS"])
        .option("startingOffsets", "earliest")
        .load()
    )
    writer = (
        # A batch is small, so it is written as one file.
        rows(records)
        .coalesce(1)
        .writeStream.format("delta")
        .option("checkpointLocation", settings["CHECKPOINT"])
    )
    if settings.get("ONCE"):
        return writer.trigger(availableNow=True).start(settings["TABLE"])
    return writer.trigger(processingTime="5 seconds").start(settings["TABLE"])


def follow(query: StreamingQuery, table: str) -> None:
    """Print a line for each batch until the query ends. Raises the query's error if it fails."""
    said = -1
    ended = False
    while not ended:
        ended = bool(query.awaitTermination(LOOK_S))
        last = query.lastProgress
        if last is not None and last.numInputRows and last.batchId > said:
            said = last.batchId
            print(f"batch {said}: {last.numInputRows:,} records into {table}", flush=True)


def main() -> None:
    """Run until the job is stopped, or once if `ONCE` is set."""
    missing = [name for name in SETTINGS if not os.environ.get(name)]
    if missing:
        sys.exit(f"topics_to_table: set {', '.join(missing)} in the environment")
    builder = SparkSession.builder.appName("topics-to-table")
    for key, value in SPARK.items():
        builder = builder.config(key, value)
    follow(start(builder.getOrCreate(), os.environ), os.environ["TABLE"])


if __name__ == "__main__":
    main()
