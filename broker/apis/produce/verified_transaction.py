"""The answer of a transaction's coordinator about the partitions of a Produce.

Owns the errors of rejected partitions, and the verification guards for appends to the others
(KIP-890). Never asks the coordinator (`broker.apis.produce.transactional`) or appends.
"""

from __future__ import annotations

from broker.replication.partition import Partition
from broker.verification.append_verification import Errors, Guards, produce_error
from broker.verification.transaction_verification import TransactionSupportedOperation
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from storage.log.verification_state import VerificationGuard


class VerifiedTransaction:
    """The coordinator's errors for rejected partitions, and the guards for the others."""

    __slots__ = ("_errors", "_guards", "_operation")

    def __init__(
        self, errors: Errors, guards: Guards, operation: TransactionSupportedOperation
    ) -> None:
        self._errors = errors
        self._guards = guards
        self._operation = operation

    def refusal(self, partition: Partition) -> tuple[ErrorCode, str | None] | None:
        """Return the error of a rejected partition, with its message or None.

        None if the batch may be appended.
        """
        error = self._errors.get(TopicPartition(partition.topic, partition.index))
        return None if error is None else produce_error(error, self._operation)

    def guard(self, partition: Partition) -> VerificationGuard | None:
        """Return the guard for the append; None if the transaction has already begun in the
        partition.
        """
        return self._guards.get(TopicPartition(partition.topic, partition.index))
