"""What a request makes of a transactional id: the next version of it, or what the client is told.

Owns the rules, as functions of the newest version and the request: the table of `transaction_state`
says what is allowed, `producer_identity` who asks, `transaction_metadata` what comes next. Never
writes, and holds nothing; `transaction_shard` has looked whether the newest version is committed.

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
from broker.transactions.transaction_state import Event, TransactionState, outcome
from ground.topic_partition import TopicPartition
from protocol.errors import ErrorCode


class Needs(Enum):
    """What a decision lacks, so that it is to be made again."""

    PRODUCER_ID = "a fresh producer id"


Decision = TransactionMetadata | ErrorCode | Needs
"""The version to write; or what the client is told while nothing changes; or what is missing."""


def decide_initialize(
    metadata: TransactionMetadata | None,
    timeout_ms: int,
    expected: Identity | None,
    fresh_id: int | None,
    version: int,
    now_ms: int,
) -> Decision:
    """InitProducerId. A version that is prepared aborts what is open: the client asks again."""
    if metadata is None:
        if fresh_id is None:
            return Needs.PRODUCER_ID
        metadata = created(fresh_id, timeout_ms, now_ms)
    if expected is not None and not may_initialize(metadata, expected):
        return ErrorCode.PRODUCER_FENCED
    what = outcome(metadata.state, Event.INITIALIZE)
    if what is TransactionState.PREPARE_EPOCH_FENCE:
        return decide_fence(metadata, version, fresh_id, now_ms)
    if isinstance(what, ErrorCode):
        return what
    assert what is TransactionState.EMPTY
    epoch = None if expected is None else expected[1]
    if metadata.is_epoch_exhausted and epoch in (None, metadata.producer_epoch):
        if fresh_id is None:
            return Needs.PRODUCER_ID
        return metadata.with_producer_id(fresh_id, timeout_ms, epoch is not None, now_ms)
    return metadata.with_next_epoch(timeout_ms, epoch, now_ms)


def decide_add(
    metadata: TransactionMetadata,
    identity: Identity,
    partitions: Sequence[TopicPartition],
    client_version: int,
    now_ms: int,
) -> TransactionMetadata | ErrorCode:
    """AddPartitionsToTxn and AddOffsetsToTxn. NONE: all of them are in the transaction."""
    what = outcome(metadata.state, Event.ADD_PARTITIONS)
    if isinstance(what, ErrorCode):
        # First of all: the producer may have the id that is its own only after this.
        return what
    assert what is TransactionState.ONGOING
    if metadata.producer_id != identity[0]:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if metadata.producer_epoch != identity[1]:
        return ErrorCode.PRODUCER_FENCED
    ongoing = metadata.state is TransactionState.ONGOING
    if ongoing and all(one in metadata.partitions for one in partitions):
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
    """EndTxn. NONE: it was ended so before."""
    event = end_event(metadata, identity, committed, client_version)
    what = event if isinstance(event, ErrorCode) else outcome(metadata.state, event)
    if isinstance(what, ErrorCode):
        return what
    assert what is not None and what.is_prepared
    next_id = NO_PRODUCER_ID
    if metadata.needs_producer_id_to_end(client_version):
        if fresh_id is None:
            return Needs.PRODUCER_ID
        next_id = fresh_id
    following = metadata.decided(committed, client_version, next_id, now_ms)
    assert following.state is what
    return following


def decide_fence(
    metadata: TransactionMetadata, version: int, fresh_id: int | None, now_ms: int
) -> TransactionMetadata | Needs:
    """Abort an open transaction under an epoch that its producer has not."""
    fence = outcome(metadata.state, Event.FENCE)
    assert isinstance(fence, TransactionState)
    assert outcome(fence, Event.FENCE) is TransactionState.PREPARE_ABORT
    next_id = NO_PRODUCER_ID
    if metadata.needs_producer_id_to_end(version):
        if fresh_id is None:
            return Needs.PRODUCER_ID
        next_id = fresh_id
    return metadata.fenced(version, next_id, now_ms)


def decide_complete(metadata: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """Every partition has its marker."""
    what = outcome(metadata.state, Event.MARKERS_WRITTEN)
    following = metadata.completed(now_ms)
    assert following.state is what, f"markers were written in state {metadata.state}"
    return following


def verification_errors(
    metadata: TransactionMetadata | None,
    identity: Identity,
    partitions: Sequence[TopicPartition],
) -> dict[TopicPartition, ErrorCode]:
    """Which of `partitions` are in the transaction, whose committed version `metadata` is."""
    if metadata is None or metadata.producer_id != identity[0]:
        error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    elif metadata.producer_epoch != identity[1]:
        error = ErrorCode.PRODUCER_FENCED
    elif metadata.state.is_prepared:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    else:
        inside = metadata.partitions
        return {
            one: ErrorCode.NONE if one in inside else ErrorCode.TRANSACTION_ABORTABLE
            for one in partitions
        }
    return dict.fromkeys(partitions, error)
