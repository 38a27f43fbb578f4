"""The identity in a producer's request, its producer id and epoch, compared with the metadata.

Owns two rules: whether a producer that sends its identity may be initialized again, and whether an
EndTxn ends the present transaction, or retries the end of the previous transaction. Never decides
whether the transaction's state allows the request.

Follows KIP-360, KIP-890 and Kafka's `TransactionCoordinator`.
"""

from __future__ import annotations

from broker.transactions.transaction_metadata import (
    EPOCH_MAX,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TransactionMetadata,
)
from broker.transactions.transaction_state import TransactionEvent
from protocol.errors import ErrorCode

Identity = tuple[int, int]
"""A producer id and an epoch."""
NO_IDENTITY: Identity = (NO_PRODUCER_ID, NO_EPOCH)  # for answers without a producer


def may_initialize(metadata: TransactionMetadata, expected: Identity) -> bool:
    """Return whether the expected producer id allows an initialization (KIP-360).

    The present producer id does, and any before the first epoch. With the previous producer id, the
    epoch must be at least EPOCH_MAX − 1. The epoch of the present id is checked later
    (`with_next_epoch`).
    """
    producer_id, epoch = expected
    if metadata.producer_epoch == NO_EPOCH or producer_id == metadata.producer_id:
        return True
    return producer_id == metadata.previous_producer_id and epoch >= EPOCH_MAX - 1


def end_event(
    metadata: TransactionMetadata, identity: Identity, committed: bool, client_version: int
) -> TransactionEvent | ErrorCode:
    """Return the event of an EndTxn by its producer id and epoch, or the error.

    The event of a retry (COMMIT_AGAIN, ABORT_AGAIN) exists only in protocol version 2. The error is
    PRODUCER_FENCED for a wrong epoch, INVALID_PRODUCER_ID_MAPPING for a wrong producer id.
    CONCURRENT_TRANSACTIONS is for the producer id that the client gets with the completion, if that
    is still pending.
    """
    producer_id, epoch = identity
    bumps = client_version >= 2
    present = metadata.producer_epoch
    # Only an end in protocol 2 raises the epoch of its own producer. If the last end was in
    # protocol 1, a producer with the previous epoch was fenced.
    may_be_again = bumps and metadata.client_version >= 2
    rotated = (
        may_be_again
        and producer_id == metadata.previous_producer_id != metadata.producer_id
        and epoch == EPOCH_MAX - 1
        and present == 0
    )
    if producer_id != metadata.producer_id and not rotated:
        rotates = metadata.state.is_prepared and identity == metadata.identity_after
        busy, unknown = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return busy if rotates else unknown
    if rotated or (may_be_again and epoch + 1 == present):
        return TransactionEvent.COMMIT_AGAIN if committed else TransactionEvent.ABORT_AGAIN
    if epoch != present:
        return ErrorCode.PRODUCER_FENCED
    if bumps:
        return TransactionEvent.COMMIT_AND_BUMP if committed else TransactionEvent.ABORT_AND_BUMP
    return TransactionEvent.COMMIT if committed else TransactionEvent.ABORT
