"""Which transactions are open for longer than their time-out, and which ids nobody uses any more.

Owns since when each open transaction is known to this coordinator. Never ends one: the shard does.
Follows Kafka's `TransactionStateManager`.
"""

from __future__ import annotations

from broker.transactions.transaction_metadata import TransactionMetadata
from broker.transactions.transaction_state import Event, TransactionState, outcome
from ground.ports import Scheduler


class OpenTransactions:
    """The open transactions of one shard, by transactional id."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._since_ms: dict[str, float] = {}  # by this broker's monotonic clock

    def replayed(self, transactional_id: str, metadata: TransactionMetadata | None) -> None:
        """The newest version of an id; None: it is forgotten."""
        since_ms = self._since_ms.pop(transactional_id, None)
        if metadata is not None and metadata.state is TransactionState.ONGOING:
            now_ms = self._scheduler.monotonic_ms()
            self._since_ms[transactional_id] = now_ms if since_ms is None else since_ms

    def ids(self) -> list[str]:
        """Ids whose transaction is open; the one that was changed last comes last."""
        return list(self._since_ms)

    def is_timed_out(self, transactional_id: str, metadata: TransactionMetadata) -> bool:
        """Whether it is open for longer than its time-out.

        That counts from its start, as in Kafka, or from when it was first known here: clocks are
        set back, and differ between brokers.
        """
        since_ms = self._since_ms.get(transactional_id)
        if since_ms is None:
            return False
        timeout_ms = metadata.timeout_ms
        known_ms = self._scheduler.monotonic_ms() - since_ms
        return metadata.start_ms + timeout_ms < self._scheduler.wall_ms() or known_ms > timeout_ms


def is_expired(metadata: TransactionMetadata, latest_ms: int) -> bool:
    """Whether an id whose newest version is `metadata` had no sign of life after `latest_ms`."""
    return (
        metadata.updated_ms <= latest_ms
        and outcome(metadata.state, Event.EXPIRE) is TransactionState.DEAD
    )
