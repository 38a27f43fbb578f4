"""Spark over SASL_SSL: its source and sink, and the jobs of the pipeline.

Also the rights that the jobs need: those that `docs/pipeline.md` names, and no more.
"""

from __future__ import annotations

import gc
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from pipeline.errors import PipelineError
from tests.compat.pipeline_jobs import jobs
from tests.compat.security.secured_broker import SecuredBroker
from tests.compat.security.ways import PLAIN, PLAINTEXT, SASL_SSL, SHA_512, java, librdkafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    # PySpark leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

RECORDS = 50


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    from tests.compat.spark_session import remove_empty_folders, shared_session

    yield shared_session()
    remove_empty_folders()
    gc.collect()  # sockets that PySpark left open: here, where the module expects the warning


def test_spark_reads_and_writes(secured: SecuredBroker, spark: SparkSession) -> None:
    from confluent_kafka import Producer

    source, sink = (secured.topic(f"spark-{uuid.uuid4()}") for _ in range(2))
    producer = Producer(librdkafka(secured.way(PLAINTEXT)))
    values = [f"value {i}" for i in range(RECORDS)]
    for value in values:
        producer.produce(source, value)
    assert producer.flush(60) == 0

    way = secured.way(SASL_SSL, SHA_512)
    options = {f"kafka.{key}": value for key, value in java(way).items()}

    def read(topic: str) -> list[str]:
        frame = spark.read.format("kafka").options(**options, subscribe=topic).load()
        return sorted(row[0].decode() for row in frame.select("value").collect())

    assert read(source) == sorted(values)
    frame = spark.read.format("kafka").options(**options, subscribe=source).load()
    frame.select("value").write.format("kafka").options(**options, topic=sink).save()
    assert read(sink) == sorted(values)


@pytest.mark.secured
def test_the_jobs_need_the_rights_that_their_page_names(
    secured: SecuredBroker, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    way = secured.way(SASL_SSL, PLAIN, user="bob")
    settings = "".join(f"{key}={value}\n" for key, value in java(way).items())
    job = jobs(spark, way.servers, settings, tmp_path)
    sums, events = str(tmp_path / "sums"), str(tmp_path / "events")
    written = ("--results-topic", "sums", "--dead-letters", "dead")
    everything = ("--topic", "calls", "--table", events, "--aggregates", sums, *written)
    checkpoint = ("--checkpoint", str(tmp_path / "checkpoint"))

    with pytest.raises(PipelineError, match=r"calls was not made: .*uthorization failed"):
        job("generate", "--topic", "calls", "--events", "200")
    allow(secured, "calls", AclOperation.CREATE, AclOperation.WRITE)
    assert job("generate", "--topic", "calls", "--events", "200") == 0
    allow(secured, "calls", AclOperation.READ)
    for name in ("sums", "dead"):
        allow(secured, name, AclOperation.CREATE, AclOperation.WRITE)
    assert job("stream", "--topic", "calls", "--once", "--table", sums, *checkpoint, *written) == 0
    assert job("load", "--topic", "calls", "--table", events) == 0
    allow(secured, "again", AclOperation.CREATE, AclOperation.WRITE)
    assert job("replay", "--files", events, "--topic", "again") == 0
    for name in ("sums", "dead"):
        allow(secured, name, AclOperation.READ)
    seed = ("--against-seed", "--events", "200", "--report", str(tmp_path / "report.html"))
    assert job("audit", *everything, *seed) == 0
    assert "nothing lost, nothing duplicated: 9 checks hold" in capsys.readouterr().out


def allow(secured: SecuredBroker, topic: str, *operations: AclOperation) -> None:
    """Bob, and see that the broker knows it."""
    admin = AdminClient(librdkafka(secured.way(PLAINTEXT)))
    acls = [
        AclBinding(
            ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:bob", "*",
            operation, AclPermissionType.ALLOW,
        )
        for operation in operations
    ]  # fmt: skip
    for future in admin.create_acls(acls).values():
        future.result(60)
