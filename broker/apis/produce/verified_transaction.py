"""What is known of a transaction's partitions when a Produce goes on to their logs.

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
