"""The broker that the compatibility tests talk to: one for the whole run.

Ottla as the pytest plugin starts it, or with `--broker=apache-kafka` Apache Kafka: what a test
expects can so be checked where it comes from.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.kafka_tools import CONSUME_TIMEOUT_MS, KafkaTools

PROPERTIES = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.record.lock.duration.ms": "1000",
    "offsets.retention.check.interval.ms": "86400000",
}
"""A test may give its group short sessions, or short locks of records. A group without members and
offsets goes at the next check: not amid a test that lists it."""


@pytest.fixture(scope="session")
def running_broker(request: pytest.FixtureRequest) -> Iterator[tuple[str, Path]]:
    """Bootstrap address and log directory."""
    if request.config.getoption("--broker") == "apache-kafka":
        with ApacheKafka(jvm_options=FAST_START, heap="512m", properties=PROPERTIES) as kafka:
            yield kafka.bootstrap, kafka.data_dir
    else:
        ottla = request.getfixturevalue("ottla_broker_factory")(properties=PROPERTIES)
        yield ottla.bootstrap_servers, ottla.data_dir


@pytest.fixture(scope="session")
def broker(running_broker: tuple[str, Path]) -> str:
    """`host:port` for clients."""
    return running_broker[0]


@pytest.fixture(scope="session")
def broker_log_dir(running_broker: tuple[str, Path]) -> Path:
    """The one folder of `log.dirs`."""
    return running_broker[1]


@pytest.fixture(scope="session")
def tools(broker: str) -> Iterator[KafkaTools]:
    """Kafka's command-line tools, in one JVM."""
    with KafkaTools(broker) as running:
        yield running


@pytest.fixture
def topic(tools: KafkaTools) -> str:
    """A new topic of three partitions."""
    name = f"tools-{uuid.uuid4()}"
    tools("kafka-topics", "--create", "--topic", name, "--partitions", "3")
    return name


@pytest.fixture(params=["classic", "consumer"])
def group_protocol(request: pytest.FixtureRequest) -> str:
    """Of Kafka's two group protocols one."""
    return str(request.param)


@pytest.fixture
def group(tools: KafkaTools, topic: str, group_protocol: str) -> str:
    """A group that has read and committed 30 records of `topic`, and is empty now."""
    name = f"group-{uuid.uuid4()}"
    tools.produce(topic, 30)
    consumed = tools(
        "kafka-console-consumer",
        *("--topic", topic, "--group", name, "--from-beginning", "--max-messages", "30"),
        *("--timeout-ms", CONSUME_TIMEOUT_MS),
        *("--command-property", f"group.protocol={group_protocol}"),
    )
    assert len(consumed.lines) == 30
    return name
