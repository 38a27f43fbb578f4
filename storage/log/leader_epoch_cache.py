"""The leader epochs of a log, and the offset at which each began.

Owns: the entries (epoch, start offset), rising in both, and their file `leader-epoch-checkpoint`.
They show a follower where to truncate its log, and a consumer whether the log has diverged.

Never: takes an epoch from another source than its log, or trusts a file that it cannot parse (the
log rebuilds the entries from its batches then).

Follows KIP-101, KIP-279, KIP-320 and Kafka's `LeaderEpochFileCache`. A truncation is written at
once. New epochs are written by the log's next flush, and synced before the flush moves the recovery
point. After an earlier crash, recovery reads them from the batches behind that point. An epoch
without a batch is not written for its own sake, because the next start would drop it.
"""

from __future__ import annotations

from bisect import bisect_right

from ground.filesystem import Filesystem
from storage.log.checkpoints import decode_leader_epochs, encode_leader_epochs
from storage.log.fetch_data import UNDEFINED_EPOCH, EpochEndOffset

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"


class LeaderEpochCache:
    """The leader epochs of one log. `latest` is -1 while there is none."""

    __slots__ = (
        "_epochs",
        "_filesystem",
        "_starts",
        "_unsynced",
        "_unwritten_from",
        "directory",
        "latest",
        "on_disk",
    )

    def __init__(self, filesystem: Filesystem, directory: str) -> None:
        self._filesystem = filesystem
        self.directory = directory
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self._unsynced = False
        self._unwritten_from: int | None = None
        """The offset from which on the file differs from the entries; None if it does not."""
        self.latest = UNDEFINED_EPOCH
        self.on_disk = False
        """Whether the file exists."""

    def set_directory(self, directory: str) -> None:
        """Use `directory` from now on, because the folder was renamed."""
        self.directory = directory

    @property
    def path(self) -> str:
        """The path of the checkpoint."""
        return f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}"

    @property
    def entries(self) -> list[tuple[int, int]]:
        """The pairs (epoch, start offset), oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    def load(self) -> bool:
        """Read the checkpoint. Return False, with no entries, if it is missing or damaged."""
        self._epochs, self._starts, self.latest = [], [], UNDEFINED_EPOCH
        if not self._filesystem.exists(self.path):
            return False
        self.on_disk = True
        entries = decode_leader_epochs(self._filesystem.read(self.path))
        if entries is None:
            return False
        for epoch, start in entries:
            self._assign(epoch, start)
        return True

    def assign(self, epoch: int, start_offset: int) -> None:
        """Add `epoch`, which begins at `start_offset`, in place of entries with this or a later
        epoch or start. The latest epoch keeps an earlier start; a negative epoch is ignored.

        If entries were replaced, write the file now, else with the next flush. Raises OSError.
        """
        count = len(self._epochs)
        if epoch < 0 or not self._assign(epoch, start_offset):
            return
        if len(self._epochs) <= count:
            self.write()  # the new entry replaced others, which it contradicts
        else:
            self._changed_from(start_offset)

    def _changed_from(self, offset: int) -> None:
        """Mark the entries from `offset` on as not written to the file yet."""
        if self._unwritten_from is None or offset < self._unwritten_from:
            self._unwritten_from = offset

    def note(self, epoch: int, start_offset: int) -> None:
        """Add `epoch`, if it is later than the latest, without a write: for a scan, which calls
        `write` once at its end."""
        if epoch > self.latest:
            self._assign(epoch, start_offset)

    def _assign(self, epoch: int, start_offset: int) -> bool:
        """Add an entry in memory, in place of those it contradicts. Return False if it adds
        nothing."""
        if epoch == self.latest and start_offset >= self._starts[-1]:
            return False
        # A new entry replaces those it contradicts: later epochs, and starts at or after its own.
        while self._epochs and (self._epochs[-1] >= epoch or self._starts[-1] >= start_offset):
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start_offset)
        self.latest = epoch
        return True

    def epoch_for(self, offset: int) -> int:
        """Return the epoch that wrote `offset`, -1 if it is not known."""
        slot = bisect_right(self._starts, offset) - 1
        return self._epochs[slot] if slot >= 0 else UNDEFINED_EPOCH

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset:
        """Return the largest epoch ≤ `epoch` that the log has, and its end offset.

        As in Kafka's `endOffsetFor`, the result is undefined for an epoch later than all entries.
        For one older than all it is that epoch itself, with the start of the first entry.
        """
        if epoch == UNDEFINED_EPOCH or not self._epochs or epoch > self.latest:
            return EpochEndOffset()
        if epoch == self.latest:
            return EpochEndOffset(epoch, log_end_offset)
        slot = bisect_right(self._epochs, epoch)
        floor = self._epochs[slot - 1] if slot > 0 else epoch
        return EpochEndOffset(floor, self._starts[slot])

    def truncate_from_end(self, end_offset: int, *, durably: bool = True) -> None:
        """Forget the epochs that start at `end_offset` or after. Raises OSError.

        Without `durably` the file is written only with the next change. That is safe if no batch
        exists from `end_offset` on, or if the next start reads those batches again.
        """
        if self._starts and self._starts[-1] >= end_offset:
            while self._starts and self._starts[-1] >= end_offset:
                self._changed_from(self._starts.pop())
                self._epochs.pop()
            self.latest = self._epochs[-1] if self._epochs else UNDEFINED_EPOCH
            if durably:
                self.write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs before `start_offset`, at which the epoch of that offset begins now.

        Raises OSError.
        """
        slot = bisect_right(self._starts, start_offset) - 1
        if slot >= 0 and (slot > 0 or self._starts[0] < start_offset):
            del self._epochs[:slot]
            del self._starts[:slot]
            self._starts[0] = start_offset
            self.write()

    def clear(self) -> None:
        """Forget all epochs, also in the file, because the log restarts at another offset."""
        self.forget()
        self.write()

    def forget(self) -> None:
        """Forget all epochs without a write, before a scan."""
        self._epochs, self._starts, self.latest = [], [], UNDEFINED_EPOCH

    def write(self) -> None:
        """Write the checkpoint, without fsync. Raises OSError."""
        data = encode_leader_epochs(self.entries)
        self._unwritten_from = -1  # if the write fails, the next flush retries it
        self._filesystem.replace_atomically(self.path, data, sync=False)
        self._unsynced = self.on_disk = True
        self._unwritten_from = None

    def take_unsynced(self, end_offset: int) -> list[str]:
        """Return the files to fsync with a log that ends at `end_offset`, if any.

        The caller has to sync them: they are not returned again. Raises OSError.
        """
        if self._unwritten_from is not None and self._unwritten_from < end_offset:
            self.write()
        unsynced, self._unsynced = self._unsynced, False
        return [self.path] if unsynced else []
