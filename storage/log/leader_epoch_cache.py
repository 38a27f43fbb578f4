"""Which leader epoch wrote which offsets: the log's own history of leaders.

Owns: the entries (epoch, start offset), rising in both, and their file `leader-epoch-checkpoint`.
A follower's truncation, and a consumer's check for a diverged log, are answered from here.

Never: learns an epoch from anyone but its log, or trusts a file it cannot parse (the log rebuilds
the entries from its batches then).

Follows KIP-101, KIP-279, KIP-320 and Kafka's `LeaderEpochFileCache`. A truncation is written at
once. New epochs are written by the log's next flush, and synced before it moves the recovery point:
what a crash takes until then, recovery reads again from the batches after that point. An epoch
without a batch is not worth a write: the next start would drop it.
"""

from __future__ import annotations

from bisect import bisect_right

from ground.filesystem import Filesystem
from storage.log.checkpoints import decode_leader_epochs, encode_leader_epochs
from storage.log.fetch_data import UNDEFINED_EPOCH, EpochEndOffset

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"


class LeaderEpochCache:
    """The epochs of one log. `latest` is -1 while there is none."""

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
        """Of offsets from here on the file says something else."""
        self.latest = UNDEFINED_EPOCH
        self.on_disk = False
        """Whether there is a file."""

    def moved(self, directory: str) -> None:
        """The folder has another name."""
        self.directory = directory

    @property
    def path(self) -> str:
        """Where the checkpoint lies."""
        return f"{self.directory}/{LEADER_EPOCH_CHECKPOINT}"

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset), oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    def load(self) -> bool:
        """Read the checkpoint; False when it is missing or damaged, and nothing is known."""
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
        """The first offset that `epoch` writes. An epoch already known is left as it is."""
        known = len(self._epochs)
        if epoch < 0 or not self._assign(epoch, start_offset):
            return
        if len(self._epochs) <= known:
            self.write()  # it contradicted another
        else:
            self._changed_from(start_offset)

    def _changed_from(self, offset: int) -> None:
        if self._unwritten_from is None or offset < self._unwritten_from:
            self._unwritten_from = offset

    def note(self, epoch: int, start_offset: int) -> None:
        """As `assign`, without writing: for a scan, which calls `write` once at its end."""
        if epoch > self.latest:
            self._assign(epoch, start_offset)

    def _assign(self, epoch: int, start_offset: int) -> bool:
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
        """The epoch that wrote `offset`, or -1."""
        slot = bisect_right(self._starts, offset) - 1
        return self._epochs[slot] if slot >= 0 else UNDEFINED_EPOCH

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEndOffset:
        """The largest epoch ≤ `epoch` with the offset where it ended.

        Kafka's `endOffsetFor`: an epoch later than all of ours is undefined; one older than all
        is answered as itself, ending where our first begins.
        """
        if epoch == UNDEFINED_EPOCH or not self._epochs or epoch > self.latest:
            return EpochEndOffset()
        if epoch == self.latest:
            return EpochEndOffset(epoch, log_end_offset)
        slot = bisect_right(self._epochs, epoch)
        floor = self._epochs[slot - 1] if slot > 0 else epoch
        return EpochEndOffset(floor, self._starts[slot])

    def truncate_from_end(self, end_offset: int, *, durably: bool = True) -> None:
        """Forget epochs that start at `end_offset` or after.

        Without `durably` that is written with what comes next: where there is no batch from
        `end_offset` on, or the next start reads those again.
        """
        if self._starts and self._starts[-1] >= end_offset:
            while self._starts and self._starts[-1] >= end_offset:
                self._changed_from(self._starts.pop())
                self._epochs.pop()
            self.latest = self._epochs[-1] if self._epochs else UNDEFINED_EPOCH
            if durably:
                self.write()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget what lies before `start_offset`; the epoch that holds it begins there now."""
        slot = bisect_right(self._starts, start_offset) - 1
        if slot >= 0 and (slot > 0 or self._starts[0] < start_offset):
            del self._epochs[:slot]
            del self._starts[:slot]
            self._starts[0] = start_offset
            self.write()

    def clear(self) -> None:
        """Forget everything: the log begins anew at another offset."""
        self.forget()
        self.write()

    def forget(self) -> None:
        """The same without writing: for a scan."""
        self._epochs, self._starts, self.latest = [], [], UNDEFINED_EPOCH

    def write(self) -> None:
        """Write the checkpoint."""
        data = encode_leader_epochs(self.entries)
        self._unwritten_from = -1  # where it fails, the next flush tries again
        self._filesystem.replace_atomically(self.path, data, sync=False)
        self._unsynced = self.on_disk = True
        self._unwritten_from = None

    def take_unsynced(self, end_offset: int) -> list[str]:
        """The files to fsync with a log that ends at `end_offset`, if any: the caller does it, or
        the disk has failed. Raises OSError."""
        if self._unwritten_from is not None and self._unwritten_from < end_offset:
            self.write()
        unsynced, self._unsynced = self._unsynced, False
        return [self.path] if unsynced else []
