"""The decisions on requests for a transactional id: its next metadata, or the error to answer.

Owns the rules, as functions of the latest metadata and the request: the table in
`transaction_state` has the legal transitions, `producer_identity` checks the producer,
`transaction_metadata` computes the next version. Never writes and has no state;
`transaction_shard` has checked whether the latest version is committed.

Follows Kafka's `TransactionCoordinator`; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from broker.transactions.producer_identity import Identity, end_event, may_initialize
from broker.transactions.transaction_metadata import (
    NO_PRODUCER_ID,
    TransactionMetadata,
    created,
)
from broker.transactions.transaction_state import TransactionEvent, TransactionState, outcome
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode


class MissingInput(Enum):
    """The value that a decision lacks. The caller obtains one and decides again."""

    PRODUCER_ID = "a fresh producer id"


Decision = TransactionMetadata | ErrorCode | MissingInput
"""The metadata to write; or the error to answer, without a change; or the value that is missing."""


def decide_initialize(
    metadata: TransactionMetadata | None,
    timeout_ms: int,
    expected: Identity | None,
    fresh_id: int | None,
    version: int,
    now_ms: int,
) -> Decision:
    """Return the next metadata for an InitProducerId, the error, or PRODUCER_ID if it needs a
    `fresh_id`.

    `version` is the cluster's `transaction.version`. If a transaction is open, the next metadata
    aborts it, and the client has to retry. The error is PRODUCER_FENCED if `expected` is not the
    id's producer, CONCURRENT_TRANSACTIONS while markers are written.
    """
    if metadata is None:
        if fresh_id is None:
            return MissingInput.PRODUCER_ID
        metadata = created(fresh_id, timeout_ms, now_ms)
    if expected is not None and not may_initialize(metadata, expected):
        return ErrorCode.PRODUCER_FENCED
    next_state = outcome(metadata.state, TransactionEvent.INITIALIZE)
    if next_state is TransactionState.PREPARE_EPOCH_FENCE:
        return decide_fence(metadata, version, fresh_id, now_ms)
    if isinstance(next_state, ErrorCode):
        return next_state
    assert next_state is TransactionState.EMPTY
    epoch = None if expected is None else expected[1]
    if metadata.is_epoch_exhausted and epoch in (None, metadata.producer_epoch):
        if fresh_id is None:
            return MissingInput.PRODUCER_ID
        return metadata.with_producer_id(fresh_id, timeout_ms, epoch is not None, now_ms)
    return metadata.with_next_epoch(timeout_ms, epoch, now_ms)


def decide_add(
    metadata: TransactionMetadata,
    identity: Identity,
    partitions: Sequence[TopicPartition],
    client_version: int,
    now_ms: int,
) -> TransactionMetadata | ErrorCode:
    """Return the next metadata for an AddPartitionsToTxn or AddOffsetsToTxn, or the error. NONE:
    the open transaction has all `partitions` already.

    The error is CONCURRENT_TRANSACTIONS while markers are written, INVALID_PRODUCER_ID_MAPPING or
    PRODUCER_FENCED for another producer.
    """
    next_state = outcome(metadata.state, TransactionEvent.ADD_PARTITIONS)
    if isinstance(next_state, ErrorCode):
        # Checked before the id: the producer may have the id that it gets with the completion.
        return next_state
    assert next_state is TransactionState.ONGOING
    if metadata.producer_id != identity[0]:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if metadata.producer_epoch != identity[1]:
        return ErrorCode.PRODUCER_FENCED
    ongoing = metadata.state is TransactionState.ONGOING
    if ongoing and all(partition in metadata.partitions for partition in partitions):
        return ErrorCode.NONE
    return metadata.with_partitions(partitions, client_version, now_ms)


def decide_end(
    metadata: TransactionMetadata,
    identity: Identity,
    committed: bool,
    client_version: int,
    fresh_id: int | None,
    now_ms: int,
) -> Decision:
    """Return the PrepareCommit or PrepareAbort metadata for an EndTxn, or the error.

    NONE: the request is a retry, and the transaction has ended this way. PRODUCER_ID: the end uses
    up the last epoch, and `fresh_id` is missing. The errors are those of `end_event`, and those of
    the table of states, such as INVALID_TXN_STATE if no transaction is open.
    """
    event = end_event(metadata, identity, committed, client_version)
    next_state = event if isinstance(event, ErrorCode) else outcome(metadata.state, event)
    if isinstance(next_state, ErrorCode):
        return next_state
    assert next_state is not None and next_state.is_prepared
    next_id = NO_PRODUCER_ID
    if metadata.needs_producer_id_to_end(client_version):
        if fresh_id is None:
            return MissingInput.PRODUCER_ID
        next_id = fresh_id
    following = metadata.decided(committed, client_version, next_id, now_ms)
    assert following.state is next_state
    return following


def decide_fence(
    metadata: TransactionMetadata, version: int, fresh_id: int | None, now_ms: int
) -> TransactionMetadata | MissingInput:
    """Return the metadata that aborts an open transaction with a higher epoch than its producer's.
    PRODUCER_ID: that uses up the last epoch, and `fresh_id` is missing."""
    fence = outcome(metadata.state, TransactionEvent.FENCE)
    assert isinstance(fence, TransactionState)
    assert outcome(fence, TransactionEvent.FENCE) is TransactionState.PREPARE_ABORT
    next_id = NO_PRODUCER_ID
    if metadata.needs_producer_id_to_end(version):
        if fresh_id is None:
            return MissingInput.PRODUCER_ID
        next_id = fresh_id
    return metadata.fenced(version, next_id, now_ms)


def decide_complete(metadata: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """Return the metadata after all markers are written: CompleteCommit or CompleteAbort."""
    next_state = outcome(metadata.state, TransactionEvent.MARKERS_WRITTEN)
    following = metadata.completed(now_ms)
    assert following.state is next_state, f"markers were written in state {metadata.state}"
    return following


def verification_errors(
    metadata: TransactionMetadata | None,
    identity: Identity,
    partitions: Sequence[TopicPartition],
) -> dict[TopicPartition, ErrorCode]:
    """Return NONE for each partition that is in the transaction, else TRANSACTION_ABORTABLE.

    All get INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, or, while markers are written,
    CONCURRENT_TRANSACTIONS. `metadata` is the id's latest committed version.
    """
    if metadata is None or metadata.producer_id != identity[0]:
        error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    elif metadata.producer_epoch != identity[1]:
        error = ErrorCode.PRODUCER_FENCED
    elif metadata.state.is_prepared:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    else:
        inside = metadata.partitions
        return {
            partition: ErrorCode.NONE if partition in inside else ErrorCode.TRANSACTION_ABORTABLE
            for partition in partitions
        }
    return dict.fromkeys(partitions, error)
