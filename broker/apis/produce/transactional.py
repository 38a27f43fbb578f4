"""The station of transactions: are the partitions in the transaction, according to its coordinator?

Owns: which transactional batches of a request the coordinator is asked about, and how long an
addition is retried while the previous transaction is being completed
(`add.partitions.to.txn.retry.*`). Never appends (`broker.apis.produce.appends`).

Follows `handleProduceAppend` of Kafka's `ReplicaManager` (KIP-890).
"""

from __future__ import annotations

from typing import NamedTuple

from broker.apis.produce.passage import Passage
from broker.apis.produce.records import keep_records, partition_of
from broker.apis.produce.verified_transaction import VerifiedTransaction
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.verification.append_verification import AppendVerification, Errors, Guards
from broker.verification.transaction_verification import (
    TransactionSupportedOperation,
    produce_operation,
)
from ground.ports import Scheduler
from protocol.errors import ErrorCode
from protocol.record_batch import HEADER, HEADER_SIZE, TRANSACTIONAL_FLAG

_FIRST_RETRY_MS = 1


class _Batches(NamedTuple):
    """The transactional batches of a request: producers, and each partition's first sequence."""

    producers: dict[tuple[int, int], None]
    first_sequences: dict[Partition, int]


class TransactionalProduce:
    """The station that verifies a transaction's partitions, or adds them, at its coordinator.

    An addition is retried, for `retry_max_ms` at most, while the previous transaction is being
    completed.
    """

    def __init__(
        self,
        replicas: ReplicaManager,
        verification: AppendVerification,
        retry_backoff_ms: int,
        retry_max_ms: int,
    ) -> None:
        self._replicas = replicas
        self._scheduler: Scheduler = replicas.scheduler
        self._verification = verification
        self._retry_backoff_ms = retry_backoff_ms
        self._retry_max_ms = retry_max_ms

    def verify(self, passage: Passage) -> bool:
        """Ask the transaction's coordinator about the partitions, if the request has transactional
        batches. Set the answer in the passage, and return True.

        Return False if the answer comes later, or if the request was rejected because its batches
        are of several producers.
        """
        if passage.request.transactional_id is None:
            return True
        operation = produce_operation(passage.context.api_version)
        producers, first_sequences = self._batches(passage)
        if not producers:
            passage.set_verified(VerifiedTransaction({}, {}, operation))
            return True
        if len(producers) > 1:
            return passage.refuse(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        (producer,) = producers
        return _Attempt(self, passage, first_sequences, producer, operation).begin()

    def _batches(self, passage: Passage) -> _Batches:
        """Return the producers of the transactional batches, and the first sequence of each
        partition that this broker has.

        The station of appends answers for other partitions.
        """
        batches = _Batches({}, {})
        for topic in passage.request.topic_data:
            for data in topic.partition_data:
                records = data.records
                if not isinstance(records, memoryview) or len(records) < HEADER_SIZE:
                    continue
                _, _, _, _, _, attributes, _, _, _, producer_id, epoch, sequence, _ = (
                    HEADER.unpack_from(records)
                )
                if producer_id < 0 or not attributes & TRANSACTIONAL_FLAG:
                    continue
                batches.producers[producer_id, epoch] = None
                partition = partition_of(self._replicas, passage, topic, data.index)
                if partition is not None:
                    batches.first_sequences[partition] = sequence
        return batches

    def ask(self, attempt: _Attempt) -> None:
        """Let the coordinator verify or add the attempt's partitions. `attempt.take_answer` gets
        the result, maybe during this call."""
        transactional_id = attempt.passage.request.transactional_id
        assert transactional_id is not None, "only transactions are verified"
        self._verification.verify(
            transactional_id,
            *attempt.producer,
            attempt.first_sequences,
            attempt.operation,
            attempt.take_answer,
        )

    def retry_later(self, attempt: _Attempt) -> bool:
        """Schedule a retry of the attempt. Return False if `retry_max_ms` have passed.

        Markers are written within a few milliseconds, so the first waits are short: each is twice
        the wait before it, up to the configured backoff.
        """
        if self._scheduler.monotonic_ms() - attempt.began_ms >= self._retry_max_ms:
            return False
        wait_ms = min(_FIRST_RETRY_MS << min(attempt.retries, 16), self._retry_backoff_ms)
        attempt.retries += 1
        self._scheduler.call_later(wait_ms, attempt.ask)
        return True

    def now_ms(self) -> float:
        """Return the monotonic time in milliseconds."""
        return self._scheduler.monotonic_ms()


class _Attempt:
    """The verification of one request, with the retries that it needs."""

    __slots__ = ("_station", "_waits", "began_ms", "first_sequences", "operation", "passage",
                 "producer", "retries")  # fmt: skip

    def __init__(
        self,
        station: TransactionalProduce,
        passage: Passage,
        first_sequences: dict[Partition, int],
        producer: tuple[int, int],
        operation: TransactionSupportedOperation,
    ) -> None:
        self._station = station
        self._waits = False
        self.began_ms = station.now_ms()
        self.passage = passage
        self.first_sequences = first_sequences
        self.producer = producer
        self.operation = operation
        self.retries = 0

    def begin(self) -> bool:
        """Begin the verification. Return True if it has ended during the call.

        It does so for every batch but a transaction's first, which needs the coordinator's answer.
        Otherwise the records are copied, because the next request overwrites their buffer.
        """
        self.ask()
        self._waits = self.passage.verified is None
        if self._waits:
            keep_records(self.passage.request)
        return not self._waits

    def ask(self) -> None:
        """Ask the coordinator, for the first time or as a retry."""
        self._station.ask(self)

    def take_answer(self, errors: Errors, guards: Guards) -> None:
        """Set the coordinator's answer in the passage, which continues if it has waited. Schedule a
        retry instead while the previous transaction is being completed."""
        # The previous transaction is not complete yet; that takes a few milliseconds. A retry by
        # the producer would take longer, and would send all its records again.
        is_concurrent = ErrorCode.CONCURRENT_TRANSACTIONS in errors.values()
        if is_concurrent and self.operation.supports_epoch_bump and self._station.retry_later(self):
            return
        self.passage.set_verified(VerifiedTransaction(errors, guards, self.operation))
        if self._waits:
            self.passage.resume_after_wait()
