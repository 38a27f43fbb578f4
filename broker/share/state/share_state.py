"""The state of a share-partition in the share coordinator.

Owns the values that the latest snapshot and the updates after it give, and which leader may write.
Only `ShareStateShard.replay` changes it. Follows Kafka's `ShareGroupOffset`.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker.share.state.share_log import UNINITIALIZED, Snapshot, Update
from broker.share.state_batches import StateBatch, StateBatches


class ShareState:
    """A share-partition's state. `snapshot_offset` is the offset of its latest snapshot's record;
    all its records before that are redundant."""

    __slots__ = (
        "batches",
        "final_count",
        "highest_leader_epoch",
        "latest",
        "leader_epoch",
        "snapshot_offset",
        "start_offset",
        "updates",
    )

    def __init__(self, snapshot: Snapshot, offset: int, earlier: ShareState | None = None) -> None:
        """Begin with a snapshot, which replaces the `earlier` state."""
        self.latest = snapshot
        self.snapshot_offset = offset
        self.start_offset = snapshot.start_offset
        self.final_count = snapshot.final_count
        self.leader_epoch = snapshot.leader_epoch
        fenced = 0 if earlier is None else earlier.highest_leader_epoch
        self.highest_leader_epoch: int = max(fenced, snapshot.leader_epoch)
        """The highest leader epoch of all records; older leaders are fenced."""
        self.batches = StateBatches(snapshot.batches)
        self.updates = 0
        """The number of updates since the snapshot."""

    @property
    def state_epoch(self) -> int:
        """The epoch of the initialization, which fences earlier ones."""
        return self.latest.state_epoch

    def apply(self, update: Update) -> None:
        """Apply an update."""
        if update.start_offset != UNINITIALIZED:
            self.start_offset = update.start_offset
        if update.leader_epoch != UNINITIALIZED:
            self.leader_epoch = update.leader_epoch
        self.highest_leader_epoch = max(self.highest_leader_epoch, update.leader_epoch)
        self.final_count = update.final_count
        for batch in update.batches:
            self.batches.add(batch)
        if self.start_offset != UNINITIALIZED:
            self.batches.drop_before(self.start_offset)
        self.updates += 1

    def after_write(self, start_offset: int, final_count: int) -> tuple[int, int]:
        """Return start offset and count of final records after a write: the start never falls."""
        if start_offset == self.start_offset:
            return start_offset, max(final_count, self.final_count)
        if start_offset < self.start_offset:
            return self.start_offset, self.final_count
        return start_offset, final_count

    def next_snapshot(
        self,
        now_ms: int,
        *,
        start_offset: int,
        final_count: int,
        leader_epoch: int,
        batches: Sequence[StateBatch] = (),
    ) -> Snapshot:
        """Return the snapshot that follows, with a write's batches."""
        combined = StateBatches((*self.batches, *batches))
        if start_offset != UNINITIALIZED:
            combined.drop_before(start_offset)
        return Snapshot(
            self.latest.snapshot_epoch + 1,
            self.state_epoch,
            leader_epoch,
            start_offset,
            final_count,
            now_ms,
            now_ms,
            tuple(combined),
        )
