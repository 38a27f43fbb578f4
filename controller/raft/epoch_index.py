"""The index of leader epochs in the metadata log, which is all that `raft` needs of the log.

Owns: the ends of the log and the first offset of each epoch, in memory. `controller.raft.raft_log`
has the batches; the caller changes both together, as each Ready says.

Follows KIP-101 and Kafka's `LeaderEpochFileCache` and `ReplicatedLog.validateOffsetAndEpoch`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence


class EpochIndex:
    """The epochs and the ends of the log, as Raft uses them."""

    def __init__(
        self,
        start_offset: int = 0,
        end_offset: int = 0,
        epochs: Sequence[tuple[int, int]] = (),
        snapshot: tuple[int, int] | None = None,
        start_epoch: int | None = None,
    ) -> None:
        """Create the index of a log on disk.

        `epochs` has pairs of an epoch and its first offset, in ascending order. `snapshot` is the
        end offset of the latest snapshot and the epoch of its last record. `start_epoch` is the
        epoch of the record before the log's start, which is also that of the snapshot there; None:
        that of `snapshot`.
        """
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.snapshot = snapshot
        if start_epoch is None:
            start_epoch = snapshot[1] if snapshot else 0
        self._start_epoch = start_epoch
        self._epochs = [epoch for epoch, _ in epochs]
        self._starts = [start for _, start in epochs]

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; 0 if there never was one."""
        if self._epochs:
            return self._epochs[-1]
        return self._start_epoch

    def append(self, epoch: int, base_offset: int, next_offset: int) -> None:
        """Add the records from `base_offset` to `next_offset`, exclusive, at the end of the log. An
        epoch before that of the last record is a broken invariant."""
        assert base_offset == self.end_offset, f"{base_offset} does not follow {self.end_offset}"
        assert epoch >= self.last_epoch, f"epoch {epoch} after {self.last_epoch}"
        if not self._epochs or epoch > self._epochs[-1]:
            self._epochs.append(epoch)
            self._starts.append(base_offset)
        self.end_offset = next_offset

    def truncate(self, offset: int) -> None:
        """Remove the records from `offset` on."""
        while self._starts and self._starts[-1] >= offset:
            self._starts.pop()
            self._epochs.pop()
        self.end_offset = min(self.end_offset, offset)

    def snapshot_taken(self, snapshot: tuple[int, int], start_offset: int) -> None:
        """Set the latest snapshot of a log that now begins at `start_offset`, and drop the entries
        of epochs that end before."""
        self.snapshot = snapshot
        if start_offset <= self.start_offset:
            return
        self._start_epoch = self._epoch_at(start_offset - 1)
        keep = max(bisect_right(self._starts, start_offset) - 1, 0)
        del self._starts[:keep], self._epochs[:keep]
        if self._starts and self._starts[0] < start_offset:
            self._starts[0] = start_offset
        if start_offset == self.end_offset:
            self._starts.clear()
            self._epochs.clear()
        self.start_offset = start_offset

    def snapshot_loaded(self, snapshot: tuple[int, int]) -> None:
        """Set the latest snapshot, and restart with an empty log at its end."""
        self.snapshot = snapshot
        self.start_offset = self.end_offset = snapshot[0]
        self._start_epoch = snapshot[1]
        self._starts.clear()
        self._epochs.clear()

    def _epoch_at(self, offset: int) -> int:
        """Return the epoch of the record at `offset`; the log's start epoch if no entry begins
        before."""
        slot = bisect_right(self._starts, offset) - 1
        return self._epochs[slot] if slot >= 0 else self._start_epoch

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch up to `epoch` that the log has, and the offset after its last
        record. If the log has none, return the epoch before its start, and its start offset."""
        slot = bisect_right(self._epochs, epoch) - 1
        if slot < 0:
            return self._start_epoch, self.start_offset
        following = slot + 1
        end = self._starts[following] if following < len(self._starts) else self.end_offset
        return self._epochs[slot], end

    def diverging(self, offset: int, last_epoch: int) -> tuple[int, int] | None:
        """Compare with a follower's log, which ends at `offset` in `last_epoch`. If it diverges,
        return the largest epoch of this log up to `last_epoch`, and the end offset of that epoch;
        otherwise None. An empty log does not diverge."""
        if offset == 0:
            return None
        epoch, end = self.end_offset_for(last_epoch)
        return (epoch, end) if epoch != last_epoch or end < offset else None

    def needs_snapshot(self, offset: int, last_epoch: int) -> bool:
        """Return whether a follower whose log ends at `offset` in `last_epoch` has to fetch a
        snapshot: this log no longer has the next records, or the follower's log is empty. An empty
        snapshot, which only names the voters (KIP-853), does not count, because each voter was
        formatted with its own."""
        if offset == 0 and self.snapshot is not None and self.snapshot[0] > 0:
            return True
        if self.start_offset == 0:
            return False
        if offset < self.start_offset or last_epoch < self._start_epoch:
            return True
        return offset == self.start_offset and last_epoch != self._start_epoch

    def truncation_for(self, diverging: tuple[int, int]) -> int:
        """Return the offset at which to truncate this log when the leader reports `diverging`, its
        own epoch and the end offset of that epoch."""
        epoch, end = diverging
        own_epoch, own_end = self.end_offset_for(epoch)
        return min(own_end, end) if own_epoch == epoch else own_end

    def is_up_to_date(self, last_epoch: int, end_offset: int) -> bool:
        """Return whether a candidate's log with this end is at least as recent as this log, so that
        it has everything that may be committed (Raft §5.4.1)."""
        return (last_epoch, end_offset) >= (self.last_epoch, self.end_offset)
