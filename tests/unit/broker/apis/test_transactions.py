from __future__ import annotations

from typing import Any

import pytest

from broker.apis.transactions import TransactionsApi, refuse_add_partitions
from broker.requests.context import RequestContext
from ground.topic_partition import TopicPartition
from ottla.plugins.authorizer import Operation, Resource
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.end_txn import EndTxnRequest
from tests.unit.broker.apis.api_fixture import Cluster, ask
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.broker.transactions.desk import Desk
from tests.unit.controller.rights_fixture import on_cluster, rights_of


class Server:
    """A coordinator with one topic `a` of two partitions, and the offsets topic."""

    def __init__(self) -> None:
        self.desk = Desk()
        cluster = Cluster()
        cluster.topic("a", 2)
        cluster.topic("__consumer_offsets", 2)
        answers = Turns().answers
        partition = lambda group: len(group) % 2  # noqa: E731
        self.api = TransactionsApi(cluster, self.desk.coordinator, partition, answers)
        self.desk.init()

    def add(self, version: int, *partitions: tuple[str, list[int]], epoch: int = 0) -> Any:
        topics = [AddPartitionsToTxnTopic(*one) for one in partitions]
        request = AddPartitionsToTxnRequest([], "t", 1000, epoch, topics)
        response = ask(self.api.add_partitions, request, version)
        return {
            (topic.name, one.partition_index): ErrorCode(one.partition_error_code)
            for topic in response.results_by_topic_v3_and_below
            for one in topic.results_by_partition
        }


@pytest.mark.parametrize("version", range(4))
def test_a_client_adds_partitions(version: int) -> None:
    server = Server()
    added = server.add(version, ("a", [0, 1]))
    assert added == {("a", 0): ErrorCode.NONE, ("a", 1): ErrorCode.NONE}
    assert server.desk.metadata().client_version == 0


@pytest.mark.parametrize("version", range(4))
def test_one_that_does_not_exist_keeps_all_out(version: int) -> None:
    server = Server()
    assert server.add(version, ("a", [0, 2]), ("b", [0]), ("__consumer_offsets", [0])) == {
        ("a", 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
        ("a", 2): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("b", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("__consumer_offsets", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
    assert not server.desk.metadata().partitions


@pytest.mark.parametrize("version", range(4))
def test_a_fenced_producer_hears_of_it_in_words_that_it_knows(version: int) -> None:
    old, new = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED
    known = new if version >= 2 else old
    assert Server().add(version, ("a", [0]), epoch=5) == {("a", 0): known}


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_and_verify_for_several_transactions(version: int) -> None:
    server = Server()
    both = [AddPartitionsToTxnTopic("a", [0]), AddPartitionsToTxnTopic("__consumer_offsets", [1])]
    request = AddPartitionsToTxnRequest(
        [
            AddPartitionsToTxnTransaction("t", 1000, 0, True, both[:1]),
            AddPartitionsToTxnTransaction("t", 1000, 0, False, both),
            AddPartitionsToTxnTransaction("u", 5, 0, False, both[:1]),
            AddPartitionsToTxnTransaction("t", 1000, 0, True, both),
        ]
    )
    response = ask(server.api.add_partitions, request, version)
    assert isinstance(response, AddPartitionsToTxnResponse) and response.error_code == 0
    found = [
        (
            result.transactional_id,
            [
                one.partition_error_code
                for t in result.topic_results
                for one in t.results_by_partition
            ],
        )
        for result in response.results_by_transaction
    ]
    assert found == [
        ("t", [ErrorCode.TRANSACTION_ABORTABLE]),
        ("t", [0, 0]),
        ("u", [ErrorCode.INVALID_PRODUCER_ID_MAPPING]),
        ("t", [0, 0]),
    ]
    assert server.desk.metadata().client_version == 2


def test_nothing_asked_is_answered() -> None:
    server = Server()
    response = ask(server.api.add_partitions, AddPartitionsToTxnRequest([]), 5)
    assert response.results_by_transaction == []


@pytest.mark.parametrize("version", range(5))
def test_a_groups_offsets_belong_to_the_transaction(version: int) -> None:
    server = Server()
    response = ask(server.api.add_offsets, AddOffsetsToTxnRequest("t", 1000, 0, "g"), version)
    assert response.error_code == 0
    assert list(server.desk.metadata().partitions) == [TopicPartition("__consumer_offsets", 1)]
    fenced = ask(server.api.add_offsets, AddOffsetsToTxnRequest("t", 1000, 5, "g"), version)
    old, new = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED
    assert fenced.error_code == (new if version >= 2 else old)


@pytest.mark.parametrize("version", range(6))
def test_a_transaction_ends(version: int) -> None:
    server = Server()
    server.add(3, ("a", [0]))
    response = ask(server.api.end, EndTxnRequest("t", 1000, 0, True), version)
    after = (1000, 1) if version >= 5 else (-1, -1)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, *after)
    server.desk.settle()
    assert server.desk.metadata().producer_epoch == (1 if version >= 5 else 0)
    fenced = ask(server.api.end, EndTxnRequest("t", 1000, 7, True), version)
    old, new = ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED
    assert fenced.error_code == (new if version >= 2 else old)


@pytest.mark.parametrize("version", range(6))
def test_a_failure_of_ours_is_told_in_every_version(version: int) -> None:
    request = AddPartitionsToTxnRequest(
        [AddPartitionsToTxnTransaction("t", 1, 0, False, [AddPartitionsToTxnTopic("a", [0])])],
        "t",
        1,
        0,
        [AddPartitionsToTxnTopic("a", [0])],
    )

    def fail(_context: RequestContext, asked: Any, respond: Any) -> None:
        respond(refuse_add_partitions(asked, ErrorCode.UNKNOWN_SERVER_ERROR))

    response = ask(fail, request, version)
    if version >= 4:
        assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    else:
        (topic,) = response.results_by_topic_v3_and_below
        assert topic.results_by_partition[0].partition_error_code == -1


def test_the_ranges_are_kafkas() -> None:
    keys = [(api.key, api.oldest, api.latest) for api in Server().api.apis()]
    assert keys == [
        (ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5),
        (ApiKey.ADD_OFFSETS_TO_TXN, 0, 4),
        (ApiKey.END_TXN, 0, 5),
    ]


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_for_clients_by_cluster_action_alone(version: int) -> None:
    server = Server()
    topics = [AddPartitionsToTxnTopic("a", [0])]
    request = AddPartitionsToTxnRequest(
        [AddPartitionsToTxnTransaction("t", 1000, 0, False, topics)]
    )
    clients = {
        (Operation.WRITE, Resource.TRANSACTIONAL_ID, "t"),
        (Operation.WRITE, Resource.TOPIC, "a"),
    }
    denied = ask(server.api.add_partitions, request, version, rights=rights_of(clients))
    assert denied.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert not server.desk.metadata().partitions
    broker = rights_of(on_cluster(Operation.CLUSTER_ACTION))
    added = ask(server.api.add_partitions, request, version, rights=broker)
    assert added.error_code == 0
    assert list(server.desk.metadata().partitions) == [TopicPartition("a", 0)]
