"""Before a transaction's first batch in a partition: does its coordinator know of the partition?

An append takes along the guard that its log gave out before the question; where a marker came in
between, the log refuses it (KIP-890).

Owns: which partitions have to be asked for, how often an addition is tried again, and what errors
Produce makes of it. Never: sends a request (`TransactionVerifier` does), or appends.

Follows `maybeSendPartitionsToTransactionCoordinator` and `handleProduceAppend` of Kafka's
`ReplicaManager` 4.3.
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
Asked = Callable[[Errors, Guards], None]
"""Given what is refused, and the guards that the appends to the others take along."""


class AppendVerification:
    """Asks for what has to be asked for, before an append."""

    def __init__(self, verifier: TransactionVerifier | None, enabled: bool) -> None:
        """`enabled` is `transaction.partition.verification.enable`; it does not matter where a
        partition has to be added. Without a verifier nothing is asked."""
        self._verifier = verifier
        self._enabled = enabled

    def enable(self, enabled: bool) -> None:
        """`transaction.partition.verification.enable` from now on."""
        self._enabled = enabled

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        first_sequences: Mapping[Partition, int],
        operation: TransactionSupportedOperation,
        done: Asked,
    ) -> None:
        """Ask for the partitions in which the transaction has not begun; then `done`, exactly once.

        `first_sequences` has the base sequence of each partition's batch (-1: it has none). At once
        where nothing has to be asked for, as with every batch but the first.
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


# A client may not know what to do about these, and try again for nothing: it knows this one, for
# which it asks for no metadata.
_RETRIED_AS_NOT_ENOUGH_REPLICAS = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


def produce_error(
    error: ErrorCode, operation: TransactionSupportedOperation
) -> tuple[ErrorCode, str | None]:
    """What Produce answers for an error of verification, and its words where they are our own.

    Clients that have partitions added meet CONCURRENT_TRANSACTIONS often, and know it.
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
