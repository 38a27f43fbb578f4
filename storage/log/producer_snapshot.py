"""Snapshots of producer state: the `.snapshot` files beside a log's segments.

Owns: their format and which of them a log keeps. A snapshot is written when a segment rolls (its
name is the new segment's base offset), and when the log is closed (its name is the log's end). So a
start reads the last snapshot and only the batches after it.

Never: trusts a snapshot with a wrong checksum: it is removed, and an older one is used.

Format of Kafka's `ProducerSnapshot` version 1: int16 version, uint32 CRC-32C over the rest, then
an array of 46-byte entries with the last batch of each producer.
"""

from __future__ import annotations

from struct import Struct
from struct import error as struct_error

from ground.filesystem import Filesystem
from log_format.segment_names import SNAPSHOT_SUFFIX, base_offset_of
from protocol.crc32c_function import crc32c
from storage.log.producer_state import (
    NO_SEQUENCE,
    BatchMetadata,
    ProducerStateEntry,
    ProducerStateManager,
)

_VERSION = 1
_HEADER = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")


def encode_snapshot(entries: list[ProducerStateEntry]) -> bytes:
    """Return a snapshot file's content."""
    parts = [_COUNT.pack(len(entries))]
    for entry in entries:
        last = entry.batches[-1] if entry.batches else BatchMetadata(NO_SEQUENCE, -1, 0, -1)
        first_offset = entry.current_txn_first_offset
        parts.append(
            _ENTRY.pack(
                entry.producer_id,
                entry.producer_epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                -1 if first_offset is None else first_offset,
            )
        )
    body = b"".join(parts)
    return _HEADER.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> list[ProducerStateEntry] | None:
    """Return the entries of a snapshot, None if it is damaged or has another version."""
    try:
        version, crc = _HEADER.unpack_from(data)
        body = memoryview(data)[_HEADER.size :]
        if version != _VERSION or crc32c(body) != crc:
            return None
        (count,) = _COUNT.unpack_from(body)
        if len(body) != _COUNT.size + count * _ENTRY.size:
            return None
        return [_entry(fields) for fields in _ENTRY.iter_unpack(body[_COUNT.size :])]
    except struct_error:
        return None


def _entry(fields: tuple[int, ...]) -> ProducerStateEntry:
    """Return the state of a producer from the fields of a snapshot's entry, in their order
    there."""
    producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, txn_first = fields
    last = BatchMetadata(sequence, offset, delta, timestamp)
    return ProducerStateEntry.of_snapshot(
        producer_id, epoch, last, timestamp, coordinator_epoch, txn_first
    )


class ProducerSnapshots:
    """The snapshot files of one log."""

    __slots__ = ("_filesystem", "_offsets", "directory")

    def __init__(self, filesystem: Filesystem, directory: str) -> None:
        self._filesystem = filesystem
        self.directory = directory
        self._offsets: list[int] = []

    @property
    def offsets(self) -> list[int]:
        """The offsets that have a snapshot, rising."""
        return list(self._offsets)

    def scan(self, names: list[str]) -> None:
        """Set `offsets` to those of the snapshot files among `names`, the files of the folder."""
        offsets = [base_offset_of(name, SNAPSHOT_SUFFIX) for name in names]
        self._offsets = sorted(offset for offset in offsets if offset is not None)

    def set_directory(self, directory: str) -> None:
        """Use `directory` from now on, because the folder was renamed."""
        self.directory = directory

    def take(self, producers: ProducerStateManager, offset: int) -> None:
        """Write a snapshot of the state, which is that at `offset`, unless the last one has this
        offset. It is not fsynced. Raises OSError."""
        producers.update_map_end_offset(offset)
        if self._offsets and self._offsets[-1] == offset:
            return
        data = encode_snapshot(list(producers.entries.values()))
        self._filesystem.replace_atomically(self._path(offset), data, sync=False)
        self._offsets = sorted({*self._offsets, offset})

    def load_latest(self, producers: ProducerStateManager, up_to: int, now_ms: int) -> None:
        """Set the state to the last undamaged snapshot at or before `up_to`; clear it without one.
        Damaged snapshots are removed, and expired producers left out.

        Batches have to be replayed from `producers.map_end_offset` on. Raises OSError.
        """
        producers.clear(0)
        for offset in reversed([snapshot for snapshot in self._offsets if snapshot <= up_to]):
            entries = decode_snapshot(self._filesystem.read(self._path(offset)))
            if entries is None:
                self._remove(offset)
                continue
            producers.clear(offset)
            for entry in entries:
                if not producers.is_expired(entry, now_ms):
                    producers.restore(entry)
            return

    def remove_outside(self, first: int, end: int) -> None:
        """Remove the snapshots at or before `first` (the log start), and those after `end`."""
        for offset in self.offsets:
            if offset <= first or offset > end:
                self._remove(offset)

    def remove_before(self, offset: int) -> None:
        """Remove the snapshots before `offset`, where the first segment begins now."""
        for snapshot in self.offsets:
            if snapshot < offset:
                self._remove(snapshot)

    def remove_at(self, offset: int) -> None:
        """Remove the snapshot at `offset`, if there is one: no segment begins there any more."""
        if offset in self._offsets:
            self._remove(offset)

    def keep_only(self, wanted: list[int]) -> None:
        """Remove all snapshots but the last and those at `wanted`, the segments' base offsets."""
        last = self._offsets[-1] if self._offsets else -1
        for snapshot in self.offsets:
            if snapshot != last and snapshot not in wanted:
                self._remove(snapshot)

    def _remove(self, offset: int) -> None:
        """Remove the snapshot at `offset`, and its file."""
        self._offsets.remove(offset)
        self._filesystem.remove(self._path(offset))

    def _path(self, offset: int) -> str:
        return f"{self.directory}/{offset:020d}{SNAPSHOT_SUFFIX}"
