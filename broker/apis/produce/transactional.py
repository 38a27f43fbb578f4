"""A Produce of a transaction, before it is appended: does its coordinator know of the partitions?

Owns: which batches of a request begin a transaction in their partition, and how long an addition is
tried again while the transaction before it is being completed (`add.partitions.to.txn.retry.*`).
Never: appends; `broker.apis.produce.api` does, with what comes out of this.

Follows `handleProduceAppend` of Kafka's `ReplicaManager` 4.3 (KIP-890).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from broker.apis.produce.record_looks import keep_records
from broker.replication.partition import Partition
from broker.replication.replica_manager import ReplicaManager
from broker.verification.append_verification import (
    AppendVerification,
    Errors,
    Guards,
    produce_error,
)
from broker.verification.transaction_verification import (
    TransactionSupportedOperation,
    produce_operation,
)
from ground.ports import Scheduler
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from protocol.messages.produce import ProduceRequest
from protocol.record_batch import HEADER, HEADER_SIZE, TRANSACTIONAL_FLAG
from storage.log.verification_state import VerificationGuard

TOPIC_IDS_FROM = 13
_FIRST_RETRY_MS = 1


class VerifiedTransaction:
    """What is known of a request's partitions when it goes on to their logs."""

    __slots__ = ("_errors", "_guards", "_operation")

    def __init__(
        self, errors: Errors, guards: Guards, operation: TransactionSupportedOperation
    ) -> None:
        self._errors = errors
        self._guards = guards
        self._operation = operation

    def refusal(self, partition: Partition) -> tuple[ErrorCode, str | None] | None:
        """Why nothing is to be appended to `partition`, with words where they are our own."""
        error = self._errors.get(TopicPartition(partition.topic, partition.index))
        return None if error is None else produce_error(error, self._operation)

    def guard(self, partition: Partition) -> VerificationGuard | None:
        """What the append brings along; None where the transaction has begun there."""
        return self._guards.get(TopicPartition(partition.topic, partition.index))


class _Batches(NamedTuple):
    """The transactional batches of a request: their producers, and the first sequence of each."""

    producers: dict[tuple[int, int], None]
    first_sequences: dict[Partition, int]


Verified = Callable[[VerifiedTransaction | ErrorCode], None]


class TransactionalProduce:
    """See the module."""

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

    def verify(self, request: ProduceRequest, version: int, done: Verified) -> None:
        """`done` once, now or later; an error is for the whole request. Where it is later, the
        records are copied: they lie in a buffer that is used for the next request."""
        operation = produce_operation(version)
        producers, first_sequences = self._batches(request, version)
        if not producers:
            done(VerifiedTransaction({}, {}, operation))
            return
        if len(producers) > 1:
            done(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            return
        ((producer_id, epoch),) = producers
        attempt = _Attempt(self, request, first_sequences, (producer_id, epoch), operation, done)
        attempt.ask()
        if not attempt.is_over:
            keep_records(request)

    def _batches(self, request: ProduceRequest, version: int) -> _Batches:
        """Of partitions that exist here; the others have an error of their own."""
        found = _Batches({}, {})
        for topic in request.topic_data:
            for data in topic.partition_data:
                records = data.records
                if not isinstance(records, memoryview) or len(records) < HEADER_SIZE:
                    continue
                _, _, _, _, _, attributes, _, _, _, producer_id, epoch, sequence, _ = (
                    HEADER.unpack_from(records)
                )
                if producer_id < 0 or not attributes & TRANSACTIONAL_FLAG:
                    continue
                found.producers[producer_id, epoch] = None
                partition = (
                    self._replicas.partition_by_id(topic.topic_id, data.index)
                    if version >= TOPIC_IDS_FROM
                    else self._replicas.partition(topic.name, data.index)
                )
                if partition is not None:
                    found.first_sequences[partition] = sequence
        return found

    def ask(self, attempt: _Attempt, done: Callable[[Errors, Guards], None]) -> None:
        """Once more."""
        transactional_id = attempt.request.transactional_id
        assert transactional_id is not None, "only transactions are verified"
        self._verification.verify(
            transactional_id, *attempt.producer, attempt.first_sequences, attempt.operation, done
        )

    def later(self, attempt: _Attempt) -> bool:
        """Whether there is time to try again; then it will be.

        Markers are written within a few milliseconds, so the first waits are short: each is twice
        the one before, up to the configured one.
        """
        if self._scheduler.monotonic_ms() - attempt.began_ms >= self._retry_max_ms:
            return False
        wait_ms = min(_FIRST_RETRY_MS << min(attempt.retries, 16), self._retry_backoff_ms)
        attempt.retries += 1
        self._scheduler.call_later(wait_ms, attempt.ask)
        return True

    def now_ms(self) -> float:
        """Monotonic."""
        return self._scheduler.monotonic_ms()


class _Attempt:
    """One request that asks, maybe several times."""

    __slots__ = (
        "_api",
        "_done",
        "began_ms",
        "first_sequences",
        "is_over",
        "operation",
        "producer",
        "request",
        "retries",
    )

    def __init__(
        self,
        api: TransactionalProduce,
        request: ProduceRequest,
        first_sequences: dict[Partition, int],
        producer: tuple[int, int],
        operation: TransactionSupportedOperation,
        done: Verified,
    ) -> None:
        self._api = api
        self._done = done
        self.began_ms = api.now_ms()
        self.request = request
        self.first_sequences = first_sequences
        self.producer = producer
        self.operation = operation
        self.is_over = False
        self.retries = 0

    def ask(self) -> None:
        self._api.ask(self, self._asked)

    def _asked(self, errors: Errors, guards: Guards) -> None:
        # The transaction before is not complete yet, which takes a moment. The producer's own way
        # to try again is longer, and sends all its records once more.
        busy = ErrorCode.CONCURRENT_TRANSACTIONS in errors.values()
        if busy and self.operation.supports_epoch_bump and self._api.later(self):
            return
        self.is_over = True
        self._done(VerifiedTransaction(errors, guards, self.operation))
