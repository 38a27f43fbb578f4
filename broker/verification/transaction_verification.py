"""The question of a partition's leader to a transaction coordinator, before a transaction's batch.

Before the leader appends the first batch, it verifies that the partition is in the transaction
(transactions protocol version 1), or has it added (version 2) (KIP-890).

Owns: the choice of the question by the version of the client's request. Never: sends the question.
A `TransactionVerifier` does (`broker.verification.add_partitions_to_txn_manager`), which
`broker.verification.append_verification` calls for an append.

Follows Kafka's `TransactionSupportedOperation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Protocol

from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode


class TransactionSupportedOperation(Enum):
    """The operation that the client's version of Produce or TxnOffsetCommit supports."""

    DEFAULT_ERROR = "default error"
    """The verification for a client that does not know the error TRANSACTION_ABORTABLE."""
    GENERIC_ERROR_SUPPORTED = "generic error supported"
    """The verification for a client that knows TRANSACTION_ABORTABLE."""
    ADD_PARTITION = "add partition"
    """The addition of the partition, which the request itself asks for (transactions protocol
    version 2)."""

    @property
    def supports_epoch_bump(self) -> bool:
        """Whether the client uses transactions protocol version 2."""
        return self is TransactionSupportedOperation.ADD_PARTITION


def produce_operation(version: int) -> TransactionSupportedOperation:
    """Return the operation for a version of Produce: ADD_PARTITION from 12 on,
    GENERIC_ERROR_SUPPORTED for 11, DEFAULT_ERROR before."""
    if version > 11:
        return TransactionSupportedOperation.ADD_PARTITION
    if version > 10:
        return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    return TransactionSupportedOperation.DEFAULT_ERROR


def txn_offset_commit_operation(version: int) -> TransactionSupportedOperation:
    """Return the operation for a version of TxnOffsetCommit: ADD_PARTITION from 5 on,
    GENERIC_ERROR_SUPPORTED for 4, DEFAULT_ERROR before."""
    if version > 4:
        return TransactionSupportedOperation.ADD_PARTITION
    if version > 3:
        return TransactionSupportedOperation.GENERIC_ERROR_SUPPORTED
    return TransactionSupportedOperation.DEFAULT_ERROR


PartitionErrorsCallback = Callable[[Mapping[TopicPartition, ErrorCode]], None]
"""A callback with the errors of partitions that are not in the transaction, or that could not be
verified; empty if all are in it."""


class TransactionVerifier(Protocol):
    """A client of transaction coordinators."""

    def add_or_verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Sequence[TopicPartition],
        operation: TransactionSupportedOperation,
        done: PartitionErrorsCallback,
    ) -> None:
        """Add partitions to the transaction, or verify that they are in it.

        `done` is called exactly once, now or later, with the errors as a producer may see them.
        These are INVALID_PRODUCER_EPOCH for PRODUCER_FENCED, INVALID_TXN_STATE for
        TRANSACTION_ABORTABLE with DEFAULT_ERROR, NETWORK_EXCEPTION for a lost connection, and
        COORDINATOR_NOT_AVAILABLE."""
