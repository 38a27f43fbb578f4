"""The marker of WriteTxnMarkers, by which a partition's leader ends a producer's transaction."""

from __future__ import annotations

from typing import NamedTuple


class TransactionMarkerRequest(NamedTuple):
    """The end of a producer's transaction, as its transaction coordinator requests it.

    `transaction_version` is the level of that feature under which the transaction ran. From level 2
    on, each end takes a new producer epoch, which the marker carries.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    committed: bool
    transaction_version: int = 0
