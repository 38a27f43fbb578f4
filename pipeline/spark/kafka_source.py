"""Spark's stock Kafka source, as the jobs read through it: a stream, or a batch between offsets.

Owns the options that keep a job honest: lost records are an error, never skipped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from pipeline.spark.connection import Connection

# A retry of Spark's own look-ups: an election takes a moment.
_RETRIES = {"fetchOffset.numRetries": "10", "fetchOffset.retryIntervalMs": "1000"}


def stream(spark: SparkSession, connection: Connection, topic: str, batch_max: int) -> DataFrame:
    """A topic from its beginning, in batches of at most `batch_max` records."""
    return (
        spark.readStream.format("kafka")
        .options(**_RETRIES)
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
) -> DataFrame:
    """A topic from `starts` to before `ends`, offsets by partition: these partitions alone, the
    same in both."""
    return (
        spark.read.format("kafka")
        .options(**_RETRIES)
        .options(**connection.reading())
        .option("assign", json.dumps({topic: sorted(starts)}))
        .option("startingOffsets", offsets_json(topic, starts))
        .option("endingOffsets", offsets_json(topic, ends))
        .option("includeHeaders", "true")
        .option("failOnDataLoss", "true")
        .load()
    )


def offsets_json(topic: str, offsets: Mapping[int, int]) -> str:
    """As the connector's options want offsets."""
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})
