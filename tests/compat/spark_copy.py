"""A Spark program that a test kills: `python -m tests.compat.spark_copy ADDRESS TOPIC COPY FOLDER`.

Two streams from a topic, in many small batches: one to Parquet, one to another topic, each with a
checkpoint, all under FOLDER. The test that resumes them uses the same `copies`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql.streaming import StreamingQuery

from tests.compat.spark_session import Kafka, spark_session

SINKS = ("parquet", "kafka")


def copies(
    kafka: Kafka, topic: str, copy: str, folder: Path, trigger: dict[str, Any], **options: Any
) -> list[StreamingQuery]:
    """Both streams, started; `options` are those of the source."""
    source = kafka.stream(topic, **options)
    numbers = source.selectExpr("CAST(value AS STRING) AS number", "partition", "offset")
    parquet = numbers.writeStream.format("parquet").option("path", str(folder / "numbers"))
    sink = source.select("key", "value").writeStream.format("kafka")
    sink = sink.option("kafka.bootstrap.servers", kafka.bootstrap).option("topic", copy)
    return [
        writer.option("checkpointLocation", str(checkpoint(folder, name)))
        .trigger(**trigger)
        .start()
        for name, writer in zip(SINKS, (parquet, sink), strict=True)
    ]


def checkpoint(folder: Path, sink: str) -> Path:
    """Where the stream into this sink keeps its checkpoint."""
    return folder / f"checkpoint-{sink}"


def main() -> None:
    """Until it is killed."""
    bootstrap, topic, copy, folder = sys.argv[1:]
    kafka = Kafka(spark_session("ottla-copy"), bootstrap)
    every = {"processingTime": "0 seconds"}
    for query in copies(kafka, topic, copy, Path(folder), every, maxOffsetsPerTrigger="100"):
        query.awaitTermination()


if __name__ == "__main__":
    main()
