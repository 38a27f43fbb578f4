"""Spark with its stock Kafka connector, small enough for a test; and topics to read.

Owns how the session is made and how a topic is read and written through the connector. The broker
is somebody else's; records that Spark reads come from confluent-kafka, a client that is not Java.
"""

from __future__ import annotations

import contextlib
import os
import sys
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession

from tests.tools.java_tools import spark_jars
from tests.tools.spark_jvm import end_jvm_of_others
from tests.tools.waiting import wait_until

TIMEOUT_S = 60
SHARED = "ottla-tests"
"""The application of the session that tests share."""

_CONFIG = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.pollingDelay": "50ms",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def spark_session(name: str) -> SparkSession:
    """The session of this process, with the connector's jars from Maven."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName(name)
    builder = builder.config(map=_CONFIG).config("spark.jars", ",".join(spark_jars()))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def shared_session() -> SparkSession:
    """Return a session of the JVM that tests share; settings, views and sources are its own."""
    end_jvm_of_others(SHARED)
    return spark_session(SHARED).newSession()


def remove_empty_folders() -> None:
    """Remove the folders for artifacts of sessions, which Spark makes here and leaves empty."""
    top = Path("artifacts")
    for folder in (*top.glob("spark-*"), top):
        with contextlib.suppress(OSError):  # not empty, or not there
            folder.rmdir()


class Kafka:
    """One broker as Spark and a plain client see it."""

    def __init__(self, spark: SparkSession, bootstrap: str) -> None:
        self.spark = spark
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def topic(
        self, partitions: int, prefix: str = "spark", config: dict[str, str] | None = None
    ) -> str:
        """A new topic, whose records stay however old their timestamps are."""
        name = f"{prefix}-{uuid.uuid4()}"
        configs = {"retention.ms": "-1", **(config or {})}
        (created,) = self.admin.create_topics(
            [NewTopic(name, partitions, 1, config=configs)]
        ).values()
        created.result(TIMEOUT_S)
        wait_until(
            lambda: len(self.admin.list_topics(name).topics[name].partitions) == partitions,
            f"{partitions} partitions of {name}",
        )
        return name

    def tasks_running(self) -> int:
        """In the session; those of a query that was stopped, too, until they have ended."""
        context: Any = self.spark.sparkContext
        executors = context._jsc.sc().statusTracker().getExecutorInfos()
        return sum(one.numRunningTasks() for one in executors)

    def produce(self, topic: str, records: Iterable[dict[str, Any]], **settings: Any) -> None:
        """Records as arguments of `Producer.produce`; all are acknowledged on return."""
        refused: list[object] = []

        def delivered(error: object, message: Message) -> None:
            if error is not None:
                refused.append(error)

        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        for record in records:
            producer.produce(topic, on_delivery=delivered, **record)
            producer.poll(0)
        assert producer.flush(TIMEOUT_S) == 0
        assert refused == []

    def numbers(self, topic: str, first: int, count: int, partitions: int = 3) -> list[int]:
        """Produce `count` records that each hold a number of its own, over all partitions."""
        numbers = list(range(first, first + count))
        self.produce(
            topic, ({"partition": n % partitions, "key": f"k{n}", "value": str(n)} for n in numbers)
        )
        return numbers

    def ends(self, topic: str, partitions: int = 3) -> dict[int, int]:
        """The high watermark of each partition."""
        consumer = self._consumer()
        try:
            found = {}
            for p in range(partitions):
                found[p] = consumer.get_watermark_offsets(TopicPartition(topic, p), TIMEOUT_S)[1]
            return found
        finally:
            consumer.close()

    def messages(self, topic: str, partitions: int = 3) -> list[Message]:
        """All records, by partition and offset, as confluent-kafka reads them."""
        ends = self.ends(topic, partitions)
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(topic, p, 0) for p in ends])
            found = consumer.consume(sum(ends.values()), TIMEOUT_S)
        finally:
            consumer.close()
        for message in found:
            if message.error():
                raise KafkaException(message.error())
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "looks-only",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
            }
        )

    def read(self, topic: str, **options: Any) -> DataFrame:
        """A batch of what the topic holds."""
        return self._source(self.spark.read, {"subscribe": topic, **options})

    def stream(self, topic: str, **options: Any) -> DataFrame:
        """The topic from its beginning, unless `startingOffsets` says otherwise."""
        chosen = {"subscribe": topic, "startingOffsets": "earliest", **options}
        return self._source(self.spark.readStream, chosen)

    def _source(self, reader: Any, options: dict[str, Any]) -> DataFrame:
        # An underscore stands for the dot of "kafka.group.id"; None takes an option away.
        named = {name.replace("_", "."): v for name, v in options.items() if v is not None}
        frame: DataFrame = (
            reader.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .options(**named)
            .load()
        )
        return frame

    def write(self, frame: DataFrame, topic: str | None = None, **options: Any) -> None:
        """Append a batch; without a topic the rows name theirs."""
        named = {name.replace("_", "."): value for name, value in options.items()}
        writer = frame.write.format("kafka").option("kafka.bootstrap.servers", self.bootstrap)
        if topic is not None:
            writer = writer.option("topic", topic)
        writer.options(**named).save()
