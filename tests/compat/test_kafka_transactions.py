"""`kafka-transactions` of Apache Kafka's distribution: list, describe, abort, find-hanging.

The broker does not verify partitions, as before KIP-890, so that a transaction can be left hanging:
a Produce of a partition that its coordinator was never told of.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from protocol.errors import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.records import Record
from tests.batches import build_batch
from tests.clients.transactional_clients import open_producer
from tests.clients.transactional_faces import TransactionalProducer
from tests.clients.wire_client import WireClient
from tests.tools.apache_kafka import ApacheKafka
from tests.tools.java_tools import FAST_START
from tests.tools.kafka_tools import KafkaTools
from tests.tools.waiting import wait_until

pytestmark = [
    pytest.mark.java,
]

PROPERTIES = {"transaction.partition.verification.enable": "false"}
TOOL = "kafka-transactions"
HOUR_S = 3600


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.config.getoption("--broker") == "apache-kafka":
        with ApacheKafka(jvm_options=FAST_START, heap="512m", properties=PROPERTIES) as kafka:
            yield kafka.bootstrap
        return
    ottla = request.getfixturevalue("ottla_broker_factory")(properties=PROPERTIES)
    yield ottla.bootstrap_servers
    ottla.close()


@pytest.fixture(scope="module")
def kafka_tools(servers: str) -> Iterator[KafkaTools]:
    with KafkaTools(servers) as tools:
        yield tools


@pytest.fixture
def topic(servers: str) -> str:
    name = f"tool-{uuid4().hex[:10]}"
    admin = AdminClient({"bootstrap.servers": servers})
    (future,) = admin.create_topics([NewTopic(name, 1, 1)]).values()
    future.result(60)
    return name


@pytest.fixture
def ongoing(servers: str, topic: str) -> Iterator[TransactionalProducer]:
    """A producer whose id is the topic's name, with one record in an open transaction."""
    producer = open_producer("confluent-kafka", servers, topic)
    producer.begin()
    producer.send(topic, 0, b"open")
    producer.flush()
    yield producer
    producer.close()


def table(kafka_tools: KafkaTools, *words: str) -> list[dict[str, str]]:
    """The rows that a command prints, by the names in its first line."""
    head, *rows = kafka_tools(TOOL, *words).lines
    # Columns are set apart by tabs and filled with blanks.
    names = [name.strip() for name in head.split("\t")]
    return [
        dict(zip(names, (cell.strip() for cell in row.split("\t")), strict=False)) for row in rows
    ]


def last_stable(servers: str, topic: str) -> int:
    admin = AdminClient({"bootstrap.servers": servers})
    (future,) = admin.list_offsets(
        {TopicPartition(topic, 0): OffsetSpec.latest()},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=60,
    ).values()
    return int(future.result(60).offset)


def until_stable(servers: str, topic: str, offset: int) -> None:
    wait_until(lambda: last_stable(servers, topic) >= offset, f"last stable offset {offset}")


def test_list_and_describe(
    kafka_tools: KafkaTools, servers: str, topic: str, ongoing: TransactionalProducer
) -> None:
    (listed,) = [r for r in table(kafka_tools, "list") if r["TransactionalId"] == topic]
    assert listed["TransactionState"] == "Ongoing"
    (told,) = table(kafka_tools, "describe", "--transactional-id", topic)
    assert told["ProducerId"] == listed["ProducerId"]
    assert told["TransactionState"] == "Ongoing"
    assert told["TransactionTimeoutMs"] == "60000"
    assert told["TopicPartitions"] == f"{topic}-0"
    (producer,) = table(kafka_tools, "describe-producers", "--topic", topic, "--partition", "0")
    assert producer["ProducerId"] == listed["ProducerId"]
    assert producer["CurrentTransactionStartOffset"] == "0"
    ongoing.commit()
    until_stable(servers, topic, 2)
    deadline = time.monotonic() + 90
    while True:
        (told,) = table(kafka_tools, "describe", "--transactional-id", topic)
        if told["TransactionState"] == "CompleteCommit":
            break
        assert time.monotonic() < deadline, told
    assert told["TopicPartitions"] == ""


def test_abort(
    kafka_tools: KafkaTools, servers: str, topic: str, ongoing: TransactionalProducer
) -> None:
    assert last_stable(servers, topic) == 0
    kafka_tools(TOOL, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    until_stable(servers, topic, 2)


def test_find_hanging(kafka_tools: KafkaTools, servers: str, topic: str) -> None:
    place = ("--topic", topic, "--partition", "0")
    producer_id = leave_hanging(servers, topic)
    assert last_stable(servers, topic) == 0
    (found,) = table(kafka_tools, "find-hanging", *place)
    assert (found["Topic"], found["Partition"]) == (topic, "0")
    assert found["ProducerId"] == str(producer_id)
    assert found["StartOffset"] == "0"
    assert int(found["Duration(min)"]) >= 59
    kafka_tools(TOOL, "abort", *place, "--start-offset", found["StartOffset"])
    until_stable(servers, topic, 2)
    assert table(kafka_tools, "find-hanging", *place) == []


def leave_hanging(servers: str, topic: str) -> int:
    """An hour ago somebody produced within a transaction that its coordinator knows nothing of."""
    begun = int((time.time() - HOUR_S) * 1000)
    with WireClient(int(servers.rpartition(":")[2])) as client:
        deadline = time.monotonic() + 90
        while True:
            client.call(FindCoordinatorRequest(topic, 1), 2)
            told = client.call(InitProducerIdRequest(topic, 60_000), 4)
            if told.error_code == ErrorCode.NONE:
                break
            assert time.monotonic() < deadline, ErrorCode(told.error_code)
            time.sleep(0.1)
        batch = build_batch(
            [Record(-1, begun, None, b"hanging")],
            producer_id=told.producer_id,
            producer_epoch=told.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        data = [TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch))])]
        answer = client.call(ProduceRequest(topic, -1, 10_000, data), 9)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE, answer
    return int(told.producer_id)
