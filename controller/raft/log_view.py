"""The metadata log as Raft sees it: its epochs, its voters, and the part that is durable.

Each change of the log changes all three together. The caller makes the same change on disk
(`controller.raft.raft_log`), as each Ready says.

Owns: the index of epochs and the voters, in memory. Never: reads or writes the log.
"""

from __future__ import annotations

from collections.abc import Sequence

from controller.raft import raft_messages as m
from controller.raft.epoch_index import EpochIndex
from controller.raft.quorum_voters import ControlRecords, QuorumVoters, VoterRecord


class LogView:
    """The log of this node, as Raft sees it."""

    def __init__(self, epochs: EpochIndex, voters: QuorumVoters) -> None:
        """Start with the log as read from disk, of which nothing is known to be durable."""
        self.epochs = epochs
        self.voters = voters
        self.durable = 0
        """The offset before which the log is on stable storage."""

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.epochs.end_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record; 0 if there never was one."""
        return self.epochs.last_epoch

    @property
    def is_durable(self) -> bool:
        """Whether the whole log is on stable storage."""
        return self.durable >= self.epochs.end_offset

    def append(
        self, epoch: int, base_offset: int, next_offset: int, records: Sequence[VoterRecord] = ()
    ) -> None:
        """Add records at the end of the log; `records` are those of them that change the voters."""
        self.epochs.append(epoch, base_offset, next_offset)
        for record in records:
            self.voters.appended(record)

    def append_fetched(self, reply: m.FetchReply) -> m.Append:
        """Add the batches that were fetched from the leader, and return the same change for the
        disk."""
        for batch in reply.batches:
            self.append(*batch)
        first, last = reply.batches[0], reply.batches[-1]
        return m.Append(last.epoch, first.base_offset, last.next_offset, reply.records, True)

    def cut(self, diverging: tuple[int, int], high_watermark: int | None) -> int:
        """Remove the records that the leader does not have, and return the log's new end.
        `diverging` is the leader's (epoch, end offset)."""
        end = self.epochs.truncation_for(diverging)
        committed = high_watermark or 0
        assert end >= committed, f"cutting at {end} would lose what is committed: {committed}"
        self.truncate(end)
        return end

    def truncate(self, offset: int) -> None:
        """Remove the records from `offset` on."""
        self.epochs.truncate(offset)
        self.voters.truncated(offset)
        self.durable = min(self.durable, offset)

    def flushed(self, end_offset: int) -> None:
        """Note that the log before `end_offset` is durable, as far as it was not truncated."""
        self.durable = max(self.durable, min(end_offset, self.epochs.end_offset))

    def snapshot_taken(self, snapshot: tuple[int, int], start_offset: int) -> None:
        """Note the latest snapshot, and that the log now begins at `start_offset`."""
        self.epochs.snapshot_taken(snapshot, start_offset)
        self.voters.snapshot_taken(start_offset)

    def is_ahead_of(self, snapshot: tuple[int, int]) -> bool:
        """Return whether the log has all of a snapshot, (end offset, epoch), and more."""
        end_offset, epoch = snapshot
        return self.epochs.end_offset >= end_offset and self.epochs.last_epoch >= epoch

    def snapshot_loaded(self, snapshot: tuple[int, int], control: ControlRecords) -> None:
        """Continue with an empty log at the end of a stored snapshot. Raises
        MetadataRecordError."""
        self.epochs.snapshot_loaded(snapshot)
        self.voters.snapshot_loaded(snapshot[0], control)
        self.durable = snapshot[0]
