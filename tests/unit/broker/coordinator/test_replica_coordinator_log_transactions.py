"""Records of transactions in a coordinator's log on real replicas: asked for, appended, ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from broker.coordinator.coordinator_log import (
    LogRecord,
    TransactionalAppend,
    TransactionalProducer,
    TransactionMarker,
)
from broker.coordinator.replica_coordinator_log import ReplicaCoordinatorLog
from broker.replication.partition import Partition
from broker.replication.transaction_marker import TransactionMarkerRequest
from broker.verification.append_verification import AppendVerification
from broker.verification.transaction_verification import (
    PartitionErrorsCallback,
    TransactionSupportedOperation,
)
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.record_batch import RecordBatchHeader, iterate_batches
from storage.log.file_records import FileRecords
from tests.unit.broker.replica_fixture import Replicas

TOPIC = "__consumer_offsets"
OTHER_NODE = 2
MIB = 1 << 20
VERIFY = TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
ADD = TransactionSupportedOperation.ADD_PARTITION
PRODUCER = TransactionalProducer("x", 7, 3)


class Log:
    """A `ReplicaCoordinatorLog` whose transaction coordinator a test plays."""

    def __init__(self, folder: Path) -> None:
        self.replicas = Replicas(str(folder), verifies_transactions=True)
        self.log = ReplicaCoordinatorLog(
            TOPIC,
            self.replicas.manager,
            self.replicas.blocking,
            MIB,
            verification=AppendVerification(self, enabled=True),
        )
        self.asked: list[tuple[TransactionalProducer, list[TopicPartition]]] = []
        self.waiting: list[PartitionErrorsCallback] = []
        self.outcomes: list[TransactionalAppend | ErrorCode] = []

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        operation: TransactionSupportedOperation,
        done: PartitionErrorsCallback,
    ) -> None:
        producer = TransactionalProducer(transactional_id, producer_id, producer_epoch)
        self.asked.append((producer, list(partitions)))
        self.waiting.append(done)

    def verify(
        self,
        producer: TransactionalProducer = PRODUCER,
        operation: TransactionSupportedOperation = VERIFY,
    ) -> None:
        self.log.verify_transaction(0, producer, operation, self.outcomes.append)

    def answer(self, refused: Mapping[TopicPartition, ErrorCode] | None = None) -> None:
        self.waiting.pop(0)(refused or {})

    def leave(self) -> TransactionalAppend:
        """What the last verification gave."""
        outcome = self.outcomes[-1]
        assert isinstance(outcome, TransactionalAppend)
        return outcome

    def begin(self, producer: TransactionalProducer = PRODUCER) -> TransactionalAppend:
        self.verify(producer)
        if self.waiting:
            self.answer()
        return self.leave()

    def append(self, transaction: TransactionalAppend) -> ErrorCode:
        return self.log.append(0, 0, [(b"k", b"v")], transaction).error

    def end(self, *, committed: bool) -> None:
        partition = self.replicas.partition(TOPIC)
        marker = TransactionMarkerRequest(7, 3, 0, committed)
        info = partition.append_end_txn_marker(marker, self.replicas.scheduler.wall_ms())
        assert not isinstance(info, ErrorCode)
        assert not info.error


def headers(partition: Partition) -> list[RecordBatchHeader]:
    records = partition.log.read(0, MIB).records
    assert isinstance(records, FileRecords)
    return [header for _, header in iterate_batches(memoryview(records.read()))]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_the_first_records_of_a_transaction_are_asked_for_and_the_next_are_not(log: Log) -> None:
    partition = log.replicas.create(TOPIC)
    log.verify()
    assert log.asked == [(PRODUCER, [TopicPartition(TOPIC, 0)])]
    assert log.outcomes == []
    log.answer()
    assert log.leave().guard is not None
    assert log.append(log.leave()) is ErrorCode.NONE
    log.verify()
    assert log.leave() == TransactionalAppend(PRODUCER)
    assert log.append(log.leave()) is ErrorCode.NONE
    assert len(log.asked) == 1
    for header in headers(partition):
        assert (header.producer_id, header.producer_epoch) == (7, 3)
        assert (header.base_sequence, header.is_transactional) == (-1, True)


def test_records_that_are_not_in_a_transaction_are_not_asked_for(log: Log) -> None:
    partition = log.replicas.create(TOPIC)
    assert log.log.append(0, 0, [(b"k", b"v")]).error is ErrorCode.NONE
    (header,) = headers(partition)
    assert (header.producer_id, header.is_transactional) == (-1, False)
    assert log.asked == []


def test_a_refusal_is_told(log: Log) -> None:
    log.replicas.create(TOPIC)
    log.verify()
    log.answer({TopicPartition(TOPIC, 0): ErrorCode.INVALID_TXN_STATE})
    assert log.outcomes == [ErrorCode.INVALID_TXN_STATE]


def test_what_was_not_verified_is_refused_by_the_log(log: Log) -> None:
    log.replicas.create(TOPIC)
    assert log.append(TransactionalAppend(PRODUCER)) is ErrorCode.INVALID_TXN_STATE


def test_an_answer_that_comes_after_the_marker_begins_nothing(log: Log) -> None:
    """A TxnOffsetCommit that was late, of a transaction that was aborted meanwhile."""
    partition = log.replicas.create(TOPIC)
    log.begin()
    log.append(log.leave())
    log.end(committed=False)
    log.verify()
    log.end(committed=False)
    log.answer()
    end = partition.log.log_end_offset
    assert log.append(log.leave()) is ErrorCode.INVALID_TXN_STATE
    assert partition.log.log_end_offset == end


def test_an_old_epoch_is_fenced(log: Log) -> None:
    log.replicas.create(TOPIC)
    log.begin(PRODUCER._replace(producer_epoch=4))
    log.append(log.leave())
    verdicts: list[object] = []
    log.verify()
    if log.waiting:
        log.answer()
        verdicts.append(log.append(log.leave()))
    else:
        verdicts.append(log.outcomes[-1])
    assert verdicts == [ErrorCode.INVALID_PRODUCER_EPOCH]


def test_without_the_partition_or_its_leadership_nobody_is_asked(log: Log) -> None:
    log.verify()
    log.replicas.create(TOPIC, replicas=[1, OTHER_NODE], leader=OTHER_NODE)
    log.verify()
    assert log.outcomes == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ]
    assert log.asked == []


def test_without_verification_all_is_taken(tmp_path: Path) -> None:
    log = Log(tmp_path)
    log.replicas.create(TOPIC)
    log.log = ReplicaCoordinatorLog(TOPIC, log.replicas.manager, log.replicas.blocking, MIB)
    log.verify()
    assert log.outcomes == [TransactionalAppend(PRODUCER)]


def test_an_open_transaction_and_one_that_ended_are_loaded(log: Log) -> None:
    log.replicas.create(TOPIC)
    log.append(log.begin())
    log.end(committed=True)
    log.append(log.begin())
    loaded: list[LogRecord | TransactionMarker] = []
    log.log.load(0, 0, lambda part, _: loaded.extend(part), lambda error: None)
    log.replicas.scheduler.run_for(1_000)
    assert loaded == [
        LogRecord(0, b"k", b"v", 7),
        TransactionMarker(1, 7, committed=True),
        LogRecord(2, b"k", b"v", 7),
    ]


def test_the_high_watermark_is_the_partitions(log: Log) -> None:
    assert log.log.high_watermark(0) == 0
    partition = log.replicas.create(TOPIC, replicas=[1, OTHER_NODE])
    log.log.append(0, 0, [(b"k", b"v")])
    assert log.log.high_watermark(0) == 0
    partition.log.update_high_watermark(1)
    assert log.log.high_watermark(0) == 1
