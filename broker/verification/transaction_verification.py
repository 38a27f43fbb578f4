"""What the leader of a partition asks of transaction coordinators, before a transaction's batch.

The leader verifies that the transaction knows of the partition (transactions protocol version 1),
or has the partition added (version 2), before it appends the first batch (KIP-890).

Owns: which versions of a client's request lead to which question. Never: asks: what does is a
`TransactionVerifier` (`broker.verification.add_partitions_to_txn_manager`); who calls it for an
append is `broker.verification.append_verification`.

Follows Kafka's `TransactionSupportedOperation` 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol

from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode


class TransactionSupportedOperation(Enum):
    """What the client's version of Produce or TxnOffsetCommit lets the leader do and say."""

    DEFAULT_ERROR = "default error"
    """Verify only; the client does not know TRANSACTION_ABORTABLE."""
    GENERIC_ERROR_SUPPORTED = "generic error supported"
    """Verify only; it knows it."""
    ADD_PARTITION = "add partition"
    """Add the partition, as the request itself says so (transactions protocol version 2)."""

    @property
    def supports_epoch_bump(self) -> bool:
        """Whether the client speaks transactions protocol version 2."""
        return self is TransactionSupportedOperation.ADD_PARTITION


def produce_operation(version: int) -> TransactionSupportedOperation:
    """By the version of a Produce."""
    if version > 11:
        return TransactionSupportedOperation.ADD_PARTITION
    if version > 10:
        return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    return TransactionSupportedOperation.DEFAULT_ERROR


def txn_offset_commit_operation(version: int) -> TransactionSupportedOperation:
    """By the version of a TxnOffsetCommit."""
    if version > 4:
        return TransactionSupportedOperation.ADD_PARTITION
    if version > 3:
        return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    return TransactionSupportedOperation.DEFAULT_ERROR


Verified = Callable[[Mapping[TopicPartition, ErrorCode]], None]
"""Given those partitions that are not in the transaction, or could not be asked for, and why.
Empty: all are."""


class TransactionVerifier(Protocol):
    """Asks the coordinator of a transactional id."""

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        operation: TransactionSupportedOperation,
        done: Verified,
    ) -> None:
        """`done` is called exactly once, now or later, with the errors as a producer may see them:
        INVALID_PRODUCER_EPOCH for PRODUCER_FENCED, INVALID_TXN_STATE for TRANSACTION_ABORTABLE with
        DEFAULT_ERROR, NETWORK_EXCEPTION for a lost connection, COORDINATOR_NOT_AVAILABLE."""
