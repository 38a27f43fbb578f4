"""A share-partition with members, for tests: they acquire and acknowledge, and writes succeed."""

from __future__ import annotations

from broker.share.delivery.acquisition import AcquireRequest, StoredBatch
from broker.share.delivery.settings import DeliverySettings
from broker.share.delivery.share_partition import (
    AcknowledgedBatch,
    DeadLetter,
    PersistedState,
    SharePartition,
    StateWrite,
)
from broker.share.record_state import AcknowledgeType, RecordState
from broker.share.state_batches import StateBatch

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
GAP, RENEW = AcknowledgeType.GAP, AcknowledgeType.RENEW
MANY = 500
DEFAULTS = DeliverySettings()


class Group:
    """A share-partition over a log of stored batches, and a clock in ms that the test moves."""

    def __init__(
        self,
        *stored: tuple[int, int],
        settings: DeliverySettings = DEFAULTS,
        start_offset: int = 0,
        batches: tuple[StateBatch, ...] = (),
    ) -> None:
        """Create a group that begins at `start_offset`."""
        self.stored = [StoredBatch(*offsets) for offsets in stored]
        self.settings = settings
        self.now_ms = 1_000.0
        self.letters: list[DeadLetter] = []
        self.partition = SharePartition(
            PersistedState(start_offset, batches), lambda: self.settings
        )

    def fetch(
        self,
        member: str = "m",
        max_records: int = MANY,
        batch_size: int = MANY,
        *,
        is_limited: bool = False,
    ) -> list[tuple[int, int, int]]:
        """Acquire what a Fetch from the next offset reads; return the ranges."""
        if not self.partition.can_acquire():
            return []
        offset = self.partition.next_fetch_offset()
        read = [batch for batch in self.stored if batch.last >= offset]
        request = AcquireRequest(member, max_records, batch_size, offset, is_limited)
        return list[tuple[int, int, int]](self.partition.acquire(request, read, self.now_ms))

    def acknowledge(
        self, first: int, last: int, *types: AcknowledgeType, member: str = "m"
    ) -> StateWrite | None:
        """Acknowledge offsets and persist that."""
        write = self.begin(first, last, *types, member=member)
        self.persist(write)
        return write

    def begin(
        self, first: int, last: int, *types: AcknowledgeType, member: str = "m"
    ) -> StateWrite | None:
        """Acknowledge offsets; the write is still to come."""
        batch = AcknowledgedBatch(first, last, types or (ACCEPT,))
        return self.partition.acknowledge(member, [batch], self.now_ms)

    def persist(self, write: StateWrite | None, *, is_written: bool = True) -> None:
        """End a write, and the locks that ended during a write that failed; keep the letters."""
        if write is None:
            return
        self.letters += self.partition.persisted(write, is_written=is_written)
        if not is_written:
            self.persist(self.partition.expire_locks(self.now_ms))

    def expire(self) -> StateWrite | None:
        """Let the time of a lock pass, and end the locks."""
        self.now_ms += self.settings.lock_duration_ms
        write = self.partition.expire_locks(self.now_ms)
        self.persist(write)
        return write

    def states(self) -> list[tuple[int, int, str, int]]:
        """Return first and last offset, state and delivery count of each run in flight."""
        return [
            (run.first, run.last, RecordState(run.state).name, run.deliveries)
            for run in self.partition.runs()
        ]
