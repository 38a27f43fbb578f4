from __future__ import annotations

from pathlib import Path

import pytest

from broker.apis.describe_producers import DescribeProducersApi, refuse_describe_producers
from broker.replication.transaction_marker import TransactionMarkerRequest
from ottla.plugins.authorizer import Operation
from protocol.errors import ErrorCode
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)
from tests.unit.broker.apis.api_fixture import ask
from tests.unit.broker.replica_fixture import Replicas
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_topic, rights_of


@pytest.fixture
def replicas(tmp_path: Path) -> Replicas:
    replicas = Replicas(str(tmp_path))
    replicas.create("t")
    return replicas


def describe(replicas: Replicas, topic: str, index: int = 0) -> PartitionResponse:
    request = DescribeProducersRequest([TopicRequest(topic, [index])])
    response = ask(DescribeProducersApi(replicas.manager, Turns().answers).handle, request, 0)
    (partition,) = response.topics[0].partitions
    assert isinstance(partition, PartitionResponse)
    return partition


def test_producers_of_a_partition(replicas: Replicas) -> None:
    assert describe(replicas, "t").active_producers == []
    partition, now_ms = replicas.partition("t"), replicas.scheduler.wall_ms()
    for sequence in (0, 2):
        batch = replicas.batch(b"a", b"b", producer_id=7, producer_epoch=3, base_sequence=sequence)
        assert not partition.append_as_leader(batch, 1, now_ms).error  # type: ignore[union-attr]
    (producer,) = describe(replicas, "t").active_producers
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (7, 3, 3)
    assert producer.last_timestamp == replicas.scheduler.wall_ms()
    assert producer.current_txn_start_offset == -1


def test_an_open_transaction_and_the_last_coordinator_of_one(replicas: Replicas) -> None:
    partition, now_ms = replicas.partition("t"), replicas.scheduler.wall_ms()
    replicas.append("t", b"before")
    batch = replicas.batch(
        b"a", producer_id=7, producer_epoch=3, base_sequence=0, is_transactional=True
    )
    partition.append_as_leader(batch, 1, now_ms)
    (producer,) = describe(replicas, "t").active_producers
    assert (producer.current_txn_start_offset, producer.coordinator_epoch) == (1, -1)
    marker = TransactionMarkerRequest(7, 4, 6, committed=True, transaction_version=2)
    partition.append_end_txn_marker(marker, now_ms)
    (producer,) = describe(replicas, "t").active_producers
    assert (producer.current_txn_start_offset, producer.coordinator_epoch) == (-1, 6)
    assert (producer.producer_epoch, producer.last_sequence) == (4, -1)


def test_partitions_that_are_not_here(replicas: Replicas) -> None:
    replicas.create("elsewhere", replicas=[1, 2], leader=2)
    assert describe(replicas, "none").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    words = "This server does not host this topic-partition."
    assert describe(replicas, "none").error_message == words  # both as Apache Kafka
    assert describe(replicas, "t", 1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert describe(replicas, "t", 1).error_message is None
    assert describe(replicas, "elsewhere").error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    invalid = describe(replicas, "bad name!")
    assert invalid.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert "bad name!" in (invalid.error_message or "")


def test_refusal_names_every_partition() -> None:
    request = DescribeProducersRequest([TopicRequest("t", [0, 1])])
    response = refuse_describe_producers(request, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert [one.error_code for one in response.topics[0].partitions] == [-1, -1]


def test_producers_are_for_its_readers(replicas: Replicas) -> None:
    rights = rights_of(on_topic(Operation.READ, "t"))
    request = DescribeProducersRequest([TopicRequest(n, [0]) for n in ("t", "u", "bad name")])
    answer = ask(
        DescribeProducersApi(replicas.manager, Turns().answers).handle, request, 0, rights=rights
    )
    told = [
        (one.partitions[0].error_code, one.partitions[0].error_message) for one in answer.topics
    ]
    assert told[:2] == [
        (0, None),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."),
    ]
    assert told[2][0] == ErrorCode.INVALID_TOPIC_EXCEPTION
