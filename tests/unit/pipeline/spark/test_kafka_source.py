"""The options that Spark's Kafka source gets: the job's own have the last word."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

from pipeline.spark import kafka_source
from pipeline.spark.connection import Connection

SECURE = Connection(
    "kafka:9093",
    {
        "kafka.security.protocol": "SSL",
        "librdkafka.debug": "all",
        "failOnDataLoss": "false",
        "fetchOffset.numRetries": "3",
    },
)


class Reader:
    """Takes options as Spark's readers do; `load()` gives them back."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def format(self, name: str) -> Reader:
        assert name == "kafka"
        return self

    def option(self, name: str, value: Any) -> Reader:
        self.found[name] = value
        return self

    def options(self, **options: Any) -> Reader:
        self.found.update(options)
        return self

    def load(self) -> dict[str, Any]:
        return self.found


class Session:
    """A session that has readers and nothing else."""

    def __init__(self) -> None:
        self.read = self.readStream = Reader()


def test_a_stream() -> None:
    spark: Any = Session()
    found: Any = kafka_source.stream(spark, SECURE, "cdr", 500)
    assert found == {
        "kafka.bootstrap.servers": "kafka:9093",
        "kafka.security.protocol": "SSL",
        "kafka.max.poll.records": "40",
        "subscribe": "cdr",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": 500,
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "fetchOffset.numRetries": "3",
        "fetchOffset.retryIntervalMs": "1000",
    }
