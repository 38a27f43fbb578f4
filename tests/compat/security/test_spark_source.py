"""Spark's Kafka source over SASL_SSL: what another client wrote is read, and written again."""

from __future__ import annotations

import gc
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.compat.security.secured_broker import SecuredBroker
from tests.compat.security.ways import PLAINTEXT, SASL_SSL, SHA_512, java, librdkafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(240),
    # PySpark leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

RECORDS = 50


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    from tests.compat.spark_session import spark_session

    with spark_session("ottla-tests") as session:
        yield session
    gc.collect()  # sockets that PySpark left open: here, where the module expects the warning


def test_spark_reads_and_writes(secured: SecuredBroker, spark: SparkSession) -> None:
    from confluent_kafka import Producer

    source, sink = (secured.topic(f"spark-{uuid.uuid4()}") for _ in range(2))
    producer = Producer(librdkafka(secured.way(PLAINTEXT)))
    values = [f"value {i}" for i in range(RECORDS)]
    for value in values:
        producer.produce(source, value)
    assert producer.flush(20) == 0

    way = secured.way(SASL_SSL, SHA_512)
    options = {f"kafka.{key}": value for key, value in java(way).items()}

    def read(topic: str) -> list[str]:
        frame = spark.read.format("kafka").options(**options, subscribe=topic).load()
        return sorted(row[0].decode() for row in frame.select("value").collect())

    assert read(source) == sorted(values)
    frame = spark.read.format("kafka").options(**options, subscribe=source).load()
    frame.select("value").write.format("kafka").options(**options, topic=sink).save()
    assert read(sink) == sorted(values)
