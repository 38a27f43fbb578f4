"""What WriteTxnMarkers asks of a partition's leader: to end a producer's transaction in its log."""

from __future__ import annotations

from typing import NamedTuple


class TransactionMarkerRequest(NamedTuple):
    """What a transaction coordinator says of one producer's transaction.

    `transaction_version` is the level of that feature under which it ran: from 2 on each end takes
    a new producer epoch, which the marker has.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int = 0
