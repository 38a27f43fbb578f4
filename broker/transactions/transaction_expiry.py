"""The time-outs of open transactions, and the expiry of unused transactional ids.

Owns the time at which this coordinator first knew each open transaction. Never ends a transaction:
the shard does. Follows Kafka's `TransactionStateManager`.
"""

from __future__ import annotations

from broker.transactions.transaction_metadata import TransactionMetadata
from broker.transactions.transaction_state import TransactionEvent, TransactionState, outcome
from ground.ports import Scheduler


class OpenTransactions:
    """The open transactions of one shard, by transactional id."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._since_ms: dict[str, float] = {}  # by this broker's monotonic clock

    def update(self, transactional_id: str, metadata: TransactionMetadata | None) -> None:
        """Add the id to the open transactions if `metadata` is Ongoing; otherwise remove it. None:
        the id is deleted. An open transaction keeps the time at which it was first added."""
        since_ms = self._since_ms.pop(transactional_id, None)
        if metadata is not None and metadata.state is TransactionState.ONGOING:
            now_ms = self._scheduler.monotonic_ms()
            self._since_ms[transactional_id] = now_ms if since_ms is None else since_ms

    def ids(self) -> list[str]:
        """Return the ids with an open transaction, in the order of their last change."""
        return list(self._since_ms)

    def is_timed_out(self, transactional_id: str, metadata: TransactionMetadata) -> bool:
        """Return whether the transaction is open, and for longer than its time-out.

        The time counts from its start, as in Kafka, and also from the moment at which this
        coordinator first knew it: clocks may be set back, and differ between brokers.
        """
        since_ms = self._since_ms.get(transactional_id)
        if since_ms is None:
            return False
        timeout_ms = metadata.timeout_ms
        open_ms = self._scheduler.monotonic_ms() - since_ms
        return metadata.start_ms + timeout_ms < self._scheduler.wall_ms() or open_ms > timeout_ms


def is_expired(metadata: TransactionMetadata, latest_ms: int) -> bool:
    """Return whether an id has no transaction, open or waiting for markers, and did not change
    after `latest_ms`."""
    return (
        metadata.updated_ms <= latest_ms
        and outcome(metadata.state, TransactionEvent.EXPIRE) is TransactionState.DEAD
    )
