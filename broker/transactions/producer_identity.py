"""Who a producer says it is, and what follows from that.

A producer is named by producer id and epoch. Owns the comparison with what the coordinator knows:
whether a producer that names itself may be initialized again, and which end it means, the present
one or the one before, sent again. Never looks at the state of the transaction beyond that.

Follows KIP-360, KIP-890 and Kafka's `TransactionCoordinator`.
"""

from __future__ import annotations

from broker.transactions.transaction_metadata import (
    EPOCH_MAX,
    NO_EPOCH,
    NO_PRODUCER_ID,
    TransactionMetadata,
)
from broker.transactions.transaction_state import Event
from protocol.errors import ErrorCode

Identity = tuple[int, int]
"""Producer id and epoch."""
NOBODY: Identity = (NO_PRODUCER_ID, NO_EPOCH)


def may_initialize(metadata: TransactionMetadata, expected: Identity) -> bool:
    """Whether a producer that says who it is may go on (KIP-360); its epoch is looked at later."""
    producer_id, epoch = expected
    if metadata.producer_epoch == NO_EPOCH or producer_id == metadata.producer_id:
        return True
    return producer_id == metadata.previous_producer_id and epoch >= EPOCH_MAX - 1


def end_event(
    metadata: TransactionMetadata, identity: Identity, committed: bool, client_version: int
) -> Event | ErrorCode:
    """Which end a request means, by its producer id and epoch."""
    producer_id, epoch = identity
    bumps = client_version >= 2
    present = metadata.producer_epoch
    # Only such an end leaves its own producer an epoch behind. After another one (protocol 1), who
    # is an epoch behind was fenced.
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
        return Event.COMMIT_AGAIN if committed else Event.ABORT_AGAIN
    if epoch != present:
        return ErrorCode.PRODUCER_FENCED
    if bumps:
        return Event.COMMIT_AND_BUMP if committed else Event.ABORT_AND_BUMP
    return Event.COMMIT if committed else Event.ABORT
