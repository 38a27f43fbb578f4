"""The answer of a transaction's coordinator about the partitions of a Produce.

Owns what was refused of them, and what the appends to the others take along (KIP-890). Never: asks
(`broker.apis.produce.transactional`), or appends.
"""

from __future__ import annotations

from broker.replication.partition import Partition
from broker.verification.append_verification import Errors, Guards, produce_error
from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from storage.log.verification_state import VerificationGuard


class VerifiedTransaction:
    """The partitions that the coordinator refused, and the guards of the others."""

    __slots__ = ("_errors", "_guards", "_operation")

    def __init__(
        self, errors: Errors, guards: Guards, operation: TransactionSupportedOperation
    ) -> None:
        self._errors = errors
        self._guards = guards
        self._operation = operation

    def refusal(self, partition: Partition) -> tuple[ErrorCode, str | None] | None:
        """Return the error of a refused partition, with a message or None; None if the batch may be
        appended."""
        error = self._errors.get(TopicPartition(partition.topic, partition.index))
        return None if error is None else produce_error(error, self._operation)

    def guard(self, partition: Partition) -> VerificationGuard | None:
        """Return the guard for the append; None if the transaction has begun in the partition."""
        return self._guards.get(TopicPartition(partition.topic, partition.index))
