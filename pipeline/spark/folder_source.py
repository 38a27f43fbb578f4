"""Records of a broker's data folders in a job, read by the format `kafka-folder`.

Only Spark's machines have the folders, so this module does not look for them on its own machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from pipeline.spark.kafka_source import offsets_json


@dataclass(frozen=True, slots=True)
class FolderPartition:
    """A partition in a folder. A job may read its offsets from `start` to before `end`."""

    topic: str
    partition: int
    topic_id: str | None
    cluster_id: str | None
    start: int
    end: int
    log_end: int
    """The offset after the last record: above `end` if a transaction is open."""
    notes: tuple[str, ...]


def partitions(
    spark: SparkSession, path: str, topic: str | None, options: Mapping[str, str]
) -> list[FolderPartition]:
    """Return the partitions of a topic in a folder, or in several with commas; without a topic,
    those of all topics but Kafka's internal ones."""
    rows = _reader(spark, path, topic, {**options, "view": "partitions"}).collect()
    return [
        FolderPartition(
            row["topic"],
            row["partition"],
            row["topicId"],
            row["clusterId"],
            row["startOffset"],
            row["endOffset"],
            row["logEndOffset"],
            tuple(row["notes"]),
        )
        for row in rows
    ]


def batch(
    spark: SparkSession,
    path: str,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int],
    options: Mapping[str, str],
) -> DataFrame:
    """Return a topic's records from `starts` to before `ends`, as
    `pipeline.spark.kafka_source.batch` does."""
    of_these = {
        "assign": json.dumps({topic: sorted(starts)}),
        "startingOffsets": offsets_json(topic, starts),
        "endingOffsets": offsets_json(topic, ends),
    }
    return _reader(spark, path, None, {**options, **of_these})


def _reader(
    spark: SparkSession, path: str, topic: str | None, options: Mapping[str, str]
) -> DataFrame:
    from log_format.spark_registration import register_folder_source
    from log_format.spark_source import FORMAT

    register_folder_source(spark)
    reader = spark.read.format(FORMAT).options(**options)
    if topic is not None:
        reader = reader.option("subscribe", topic)
    return reader.load(path)
