"""The verification of a transaction's first batch in a partition with its coordinator.

The log gives out a guard before the question to the coordinator, and the append passes it back. If
the log has appended a transaction marker in between, it rejects the append (KIP-890).

Owns: the choice of partitions to verify, and the errors of Produce for a failed verification.
Never: sends a request (`TransactionVerifier` does), or appends.

Follows `maybeSendPartitionsToTransactionCoordinator` and `handleProduceAppend` of Kafka's
`ReplicaManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker.replication.partition import Partition
from broker.verification.transaction_verification import (
    TransactionSupportedOperation,
    TransactionVerifier,
)
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode
from storage.log.verification_state import VerificationGuard

Errors = dict[TopicPartition, ErrorCode]
Guards = dict[TopicPartition, VerificationGuard]
OnVerified = Callable[[Errors, Guards], None]
"""A callback with the errors of rejected partitions, and the guards for appends to the others."""


class AppendVerification:
    """The verification of the partitions of a transactional append."""

    def __init__(self, verifier: TransactionVerifier | None, enabled: bool) -> None:
        """Create a verification by `verifier`; if that is None, nothing is verified.

        `enabled` is `transaction.partition.verification.enable`; partitions are added even without
        it.
        """
        self._verifier = verifier
        self._enabled = enabled

    def set_enabled(self, enabled: bool) -> None:
        """Set the value of `transaction.partition.verification.enable`."""
        self._enabled = enabled

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        first_sequences: Mapping[Partition, int],
        operation: TransactionSupportedOperation,
        done: OnVerified,
    ) -> None:
        """Verify the partitions in which the transaction has not begun, then call `done` once.

        `done` gets the errors of rejected partitions, and guards for the appends. `first_sequences`
        has the base sequence of each partition's batch, -1 if it has none. `done` is called at once
        if nothing has to be verified, as with every batch but the first.
        """
        verifier = self._verifier
        if verifier is None or not (self._enabled or operation.supports_epoch_bump):
            done({}, {})
            return
        errors: Errors = {}
        guards: Guards = {}
        for partition, sequence in first_sequences.items():
            guard = partition.maybe_start_transaction_verification(
                producer_id, sequence, producer_epoch, operation.supports_epoch_bump
            )
            key = TopicPartition(partition.topic, partition.index)
            if isinstance(guard, ErrorCode):
                errors[key] = guard
            elif guard is not None:
                guards[key] = guard
        if not guards:
            done(errors, guards)
            return
        verifier.add_or_verify(
            transactional_id,
            producer_id,
            producer_epoch,
            list(guards),
            operation,
            lambda refused: done({**errors, **refused}, guards),
        )


# Some producers do not handle these errors, or request metadata in vain. After
# NOT_ENOUGH_REPLICAS a producer retries without requesting metadata.
_RETRIED_AS_NOT_ENOUGH_REPLICAS = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


def produce_error(
    error: ErrorCode, operation: TransactionSupportedOperation
) -> tuple[ErrorCode, str | None]:
    """Return the error code of Produce for an error of verification, and its message; None means
    the default message.

    If the coordinator was not available, this is NOT_ENOUGH_REPLICAS, after which a producer
    retries. CONCURRENT_TRANSACTIONS is passed on only to clients whose requests add partitions:
    they handle it. Other errors stay.
    """
    if error is ErrorCode.INVALID_TXN_STATE:
        return error, "Partition was not added to the transaction"
    if error in _RETRIED_AS_NOT_ENOUGH_REPLICAS or (
        error is ErrorCode.CONCURRENT_TRANSACTIONS and not operation.supports_epoch_bump
    ):
        return (
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction. "
            f"Underlying error: {error.name}",
        )
    return error, None
