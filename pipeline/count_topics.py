"""A small streaming job: how many records each topic and partition has received.

Reads the topics that match a pattern, counts, and writes each new count to a topic: the key is
`topic-partition`, the value the count, so that the last value of a key is right whatever was
stopped or killed between. One file without imports of its own, so that spark-submit needs nothing
beside it. Its settings are environment variables:

    BOOTSTRAP_SERVERS   host:port,host:port of the cluster
    TOPICS              the pattern, in Java's syntax: events.*
    COUNTS_TOPIC        where the counts go
    CHECKPOINT          a folder where the job remembers what it has counted
    ONCE                set: count what is there, then end
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

SETTINGS = ("BOOTSTRAP_SERVERS", "TOPICS", "COUNTS_TOPIC", "CHECKPOINT")


def counts(records: DataFrame) -> DataFrame:
    """Records of Spark's Kafka source → a key and a value for each topic and partition."""
    counted = records.groupBy("topic", "partition").count()
    return counted.selectExpr(
        "concat(topic, '-', partition) AS key", "CAST(count AS STRING) AS value"
    )


def start(spark: SparkSession, settings: Mapping[str, str]) -> StreamingQuery:
    """The running query; KeyError where a setting is missing."""
    servers = settings["BOOTSTRAP_SERVERS"]
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribePattern", settings["TOPICS"])
        .option("startingOffsets", "earliest")
        .load()
    )
    writer = (
        counts(records)
        .writeStream.format("kafka")
        .outputMode("update")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", settings["COUNTS_TOPIC"])
        .option("checkpointLocation", settings["CHECKPOINT"])
    )
    if settings.get("ONCE"):
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime="2 seconds").start()


def main() -> None:
    """Run until it is stopped, or once."""
    missing = [name for name in SETTINGS if not os.environ.get(name)]
    if missing:
        sys.exit(f"count_topics: set {', '.join(missing)} in the environment")
    # The partitions of a laptop, not of a cluster of Spark; spark-submit --conf has the last word.
    builder = SparkSession.builder.appName("count-topics")
    spark = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    start(spark, os.environ).awaitTermination()


if __name__ == "__main__":
    main()
