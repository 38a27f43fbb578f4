"""Batches of transactions: what is asked before they are appended, and what comes of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from broker.apis.produce.api import ProduceApi
from broker.apis.produce.transactional import TransactionalProduce
from broker.replication.partition import Partition
from broker.replication.transaction_marker import TransactionMarkerRequest
from broker.requests.context import RequestContext
from broker.verification.append_verification import AppendVerification
from broker.verification.transaction_verification import (
    PartitionErrorsCallback,
    TransactionSupportedOperation,
    TransactionVerifier,
)
from controller.authorization.rights import UNLIMITED
from ground.topic_partition import TopicPartition
from ottla.plugins.authorizer import Operation, Resource
from protocol.errors import ErrorCode, ProtocolError
from protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tests.unit.broker.replica_fixture import Replicas, topic_id_of
from tests.unit.broker.sliced_fixture import Turns
from tests.unit.controller.rights_fixture import on_topic, rights_of

BACKOFF_MS, RETRY_MAX_MS = 20, 100
ZERO = TopicPartition("t", 0)


class Coordinator:
    """A `TransactionVerifier` that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[TopicPartition, ...], TransactionSupportedOperation]] = []
        self.waiting: list[PartitionErrorsCallback] = []
        self.at_once: dict[TopicPartition, ErrorCode] | None = None

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        operation: TransactionSupportedOperation,
        done: PartitionErrorsCallback,
    ) -> None:
        assert (transactional_id, producer_id, producer_epoch) == ("tx", 7, 0)
        self.asked.append((tuple(partitions), operation))
        if self.at_once is not None:
            done(self.at_once)
        else:
            self.waiting.append(done)


class Transactions:
    def __init__(self, folder: Path) -> None:
        self.replicas = Replicas(str(folder), verifies_transactions=True)
        self.coordinator = Coordinator()
        verifier: TransactionVerifier = self.coordinator
        self.api = ProduceApi(
            self.replicas.manager,
            TransactionalProduce(
                self.replicas.manager,
                AppendVerification(verifier, True),
                BACKOFF_MS,
                RETRY_MAX_MS,
            ),
            Turns().answers,
        )
        self.partition = self.replicas.create("t", partitions=2)
        self.rights = UNLIMITED
        self.answers: list[Any] = []
        self.frames: list[memoryview] = []

    def batch(self, sequence: int = 0, pid: int = 7, **options: Any) -> memoryview:
        options = {"is_transactional": True, **options}
        frame = self.replicas.batch(
            b"value", producer_id=pid, producer_epoch=0, base_sequence=sequence, **options
        )
        self.frames.append(frame)
        return frame

    def send(
        self,
        *batches: memoryview,
        version: int = 12,
        transactional_id: str | None = "tx",
        indexes: Sequence[int] = (0, 1),
        acks: int = -1,
        topic: str = "t",
    ) -> None:
        data = [
            PartitionProduceData(index, batch)
            for index, batch in zip(indexes, batches, strict=False)
        ]
        asked = [TopicProduceData(topic, topic_id_of(topic), data)]
        context = RequestContext(0, version, 1, "me", "here", "PLAINTEXT", "c", self.rights)
        request = ProduceRequest(transactional_id, acks, 1000, asked)
        self.api.handle(context, request, self.answers.append)

    def last(self) -> list[PartitionProduceResponse]:
        (topic,) = self.answers[-1].responses
        return list(topic.partition_responses)

    def errors(self) -> list[int]:
        return [one.error_code for one in self.last()]


@pytest.fixture
def tx(tmp_path: Path) -> Transactions:
    return Transactions(tmp_path)


@pytest.mark.parametrize(
    ("version", "operation"),
    [
        (9, TransactionSupportedOperation.DEFAULT_ERROR),
        (11, TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED),
        (12, TransactionSupportedOperation.ADD_PARTITION),
        (13, TransactionSupportedOperation.ADD_PARTITION),
    ],
)
def test_the_coordinator_is_asked_once_a_transaction(
    tx: Transactions, version: int, operation: TransactionSupportedOperation
) -> None:
    tx.coordinator.at_once = {}
    tx.send(tx.batch(), tx.batch(), version=version)
    assert tx.errors() == [0, 0]
    assert tx.coordinator.asked == [((ZERO, TopicPartition("t", 1)), operation)]
    tx.send(tx.batch(1), tx.batch(1), version=version)
    assert tx.errors() == [0, 0]
    assert len(tx.coordinator.asked) == 1
    end = TransactionMarkerRequest(7, 0, 0, committed=True)
    tx.partition.append_end_txn_marker(end, tx.replicas.scheduler.wall_ms())
    tx.send(tx.batch(2), tx.batch(2), version=version)
    assert tx.coordinator.asked[1][0] == (ZERO,)


def test_records_outlive_the_buffer_they_came_in(tx: Transactions) -> None:
    frame = tx.batch()
    sent = bytes(frame[61:])
    tx.send(frame)
    assert tx.answers == []
    frame[:] = bytes(len(frame))  # the next request came
    tx.coordinator.waiting[0]({})
    assert tx.errors() == [0]
    found = tx.partition.log.read(0, 1000).records
    assert not isinstance(found, bytes) and found.read()[61:] == sent


def test_a_partition_that_is_not_in_the_transaction_takes_nothing(tx: Transactions) -> None:
    tx.coordinator.at_once = {ZERO: ErrorCode.INVALID_TXN_STATE}
    tx.send(tx.batch(), tx.batch(), version=11)
    refused, taken = tx.last()
    assert refused.error_code == ErrorCode.INVALID_TXN_STATE
    assert refused.error_message == "Partition was not added to the transaction"
    assert (taken.error_code, taken.base_offset) == (0, 0)
    assert tx.partition.log.log_end_offset == 0


def test_a_marker_while_the_question_is_under_way_makes_the_answer_worthless(
    tx: Transactions,
) -> None:
    tx.send(tx.batch())
    marker = TransactionMarkerRequest(7, 0, 0, committed=False)
    tx.partition.append_end_txn_marker(marker, tx.replicas.scheduler.wall_ms())
    tx.coordinator.waiting[0]({})
    assert tx.errors() == [ErrorCode.INVALID_TXN_STATE]
    assert tx.partition.log.last_stable_offset == 1 == tx.partition.log.log_end_offset


@pytest.mark.parametrize(
    ("version", "error", "told"),
    [
        (10, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (12, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS),
        (12, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
        (11, ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_errors_are_those_that_the_version_knows(
    tx: Transactions, version: int, error: ErrorCode, told: ErrorCode
) -> None:
    tx.coordinator.at_once = {ZERO: error}
    tx.send(tx.batch(), version=version)
    assert tx.errors() == [told]


def test_an_addition_is_tried_again_while_the_one_before_is_completed(tx: Transactions) -> None:
    tx.coordinator.at_once = {ZERO: ErrorCode.CONCURRENT_TRANSACTIONS}
    tx.send(tx.batch())
    tx.replicas.scheduler.run_for(15)  # after 1, 3, 7 and 15 ms
    assert (len(tx.coordinator.asked), tx.answers) == (5, [])
    tx.coordinator.at_once = {}
    tx.replicas.scheduler.run_for(16)
    assert tx.errors() == [0]


def test_an_addition_is_given_up_after_a_while(tx: Transactions) -> None:
    tx.coordinator.at_once = {ZERO: ErrorCode.CONCURRENT_TRANSACTIONS}
    tx.send(tx.batch())
    tx.replicas.scheduler.run_for(31 + 3 * BACKOFF_MS)
    assert (len(tx.coordinator.asked), tx.answers) == (9, [])
    tx.replicas.scheduler.run_for(BACKOFF_MS)
    assert tx.errors() == [ErrorCode.CONCURRENT_TRANSACTIONS]
    tx.replicas.scheduler.run_for(1000)
    assert len(tx.answers) == 1


def test_without_acks_an_error_closes_the_connection_at_once_or_later(tx: Transactions) -> None:
    tx.send(tx.batch(), acks=0)
    tx.coordinator.waiting[0]({ZERO: ErrorCode.INVALID_TXN_STATE})
    tx.coordinator.at_once = {ZERO: ErrorCode.INVALID_TXN_STATE}
    tx.send(tx.batch(), acks=0)
    assert len(tx.answers) == 2
    assert all(isinstance(one, ProtocolError) for one in tx.answers)
    assert all("INVALID_TXN_STATE" in str(one) for one in tx.answers)


def test_a_bug_behind_a_wait_is_answered(tx: Transactions, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **_more: object) -> None:
        raise RuntimeError("a bug")

    tx.send(tx.batch())
    monkeypatch.setattr(Partition, "append_as_leader", fails)
    tx.coordinator.waiting[0]({})
    assert tx.errors() == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_two_producers_in_one_request_are_refused_whole(tx: Transactions) -> None:
    tx.send(tx.batch(), tx.batch(pid=8))
    assert tx.errors() == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2
    assert tx.coordinator.asked == []


def test_a_transactions_batch_needs_a_transactional_id(tx: Transactions) -> None:
    tx.send(tx.batch(), tx.batch(is_transactional=False), transactional_id=None)
    assert tx.errors() == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 0]


def test_a_transactional_id_alone_asks_nobody(tx: Transactions) -> None:
    tx.send(tx.batch(is_transactional=False))
    assert (tx.errors(), tx.coordinator.asked) == ([0], [])


def test_partitions_that_are_not_here_have_errors_of_their_own(tx: Transactions) -> None:
    tx.coordinator.at_once = {}
    tx.replicas.move_leader("t", 2)
    tx.send(tx.batch(), tx.batch(), indexes=(0, 9))
    moved, unknown = tx.last()
    assert moved.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert moved.current_leader is not None and moved.current_leader.leader_id == 2
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert tx.coordinator.asked == []
    tx.send(memoryview(b"short"))
    assert tx.errors() == [ErrorCode.INVALID_RECORD]


def test_a_transaction_writes_to_no_internal_topic_though_its_coordinator_knows_of_it(
    tx: Transactions,
) -> None:
    tx.coordinator.at_once = {}
    partition = tx.replicas.create("__consumer_offsets")
    for version in (11, 12):
        tx.send(tx.batch(), version=version, topic="__consumer_offsets")
        assert tx.errors() == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert len(tx.coordinator.asked) == 2 and partition.log.log_end_offset == 0


def test_a_leader_that_is_none_any_more_when_the_answer_comes_appends_nothing(
    tx: Transactions,
) -> None:
    tx.send(tx.batch())
    tx.replicas.move_leader("t", 2)
    tx.coordinator.waiting[0]({})
    assert tx.errors() == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert tx.partition.log.log_end_offset == 0


def test_a_denial_without_an_answer_closes_though_its_transaction_is_asked_about(
    tx: Transactions,
) -> None:
    tx.replicas.create("u")
    tx.rights = rights_of(
        on_topic(Operation.WRITE, "t") | {(Operation.WRITE, Resource.TRANSACTIONAL_ID, "tx")}
    )
    data = [
        TopicProduceData(name, bytes(16), [PartitionProduceData(0, tx.batch())])
        for name in ("u", "t")
    ]
    context = RequestContext(0, 12, 1, "me", "here", "PLAINTEXT", "c", tx.rights)
    tx.api.handle(context, ProduceRequest("tx", 0, 1000, data), tx.answers.append)
    (answer,) = tx.coordinator.waiting
    assert tx.answers == []
    answer({})
    (error,) = tx.answers
    assert isinstance(error, ProtocolError) and "TOPIC_AUTHORIZATION_FAILED" in str(error)
    assert tx.partition.log.log_end_offset == 1
