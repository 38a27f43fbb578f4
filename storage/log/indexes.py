"""The two sparse indexes of a segment: offset → position, timestamp → offset.

An index is in one of two forms. An open index (of the active segment) is two arrays in memory,
searched by bisection, and written to its file when the segment is flushed, rolled or closed. Until
then the file may be missing or old. That is safe: after an unclean stop every segment past the
recovery point is scanned, and its indexes are rebuilt. A closed index has no entries in memory: its
file is searched by pread, through a handle that `release` closes.

Never holds every offset: a segment adds an entry each `index.interval.bytes`.

Formats (Kafka's `OffsetIndex` and `TimeIndex`), big-endian, relative to the segment's base offset:

    .index      8 bytes: last offset of a batch (uint32, relative), the batch's position (int32)
    .timeindex 12 bytes: largest timestamp so far (int64), its batch's last offset (int32, relative)
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import ClassVar

from ground.filesystem import File, Filesystem
from storage.log.closed_files import ClosedFiles

OFFSET_ENTRY = Struct(">Ii")
TIME_ENTRY = Struct(">qi")
RELATIVE_OFFSET_MAX = 2**31 - 1
NO_TIMESTAMP = -1


class CorruptIndex(Exception):
    """An index file that contradicts its segment. It has to be rebuilt, never used."""


class _Index:
    """An index whose entries are two numbers, of which the first rises.

    The entries are in memory while `_firsts` is not None.
    """

    __slots__ = (
        "_file",
        "_files",
        "_filesystem",
        "_firsts",
        "_seconds",
        "base_offset",
        "entries_max",
    )

    ENTRY: ClassVar[Struct]
    TYPES: ClassVar[tuple[str, str]]
    """The type codes of the two arrays."""

    def __init__(
        self,
        filesystem: Filesystem,
        base_offset: int,
        index_bytes_max: int,
        files: ClosedFiles | None = None,
    ) -> None:
        """Begin an empty, open index.

        While the index is closed, `files` keeps its file open.
        """
        self._filesystem = filesystem
        self.base_offset = base_offset
        self.entries_max = index_bytes_max // self.ENTRY.size
        self._files = files if files is not None else ClosedFiles()
        self._file: File | None = None
        self._firsts: array[int] | None = array(self.TYPES[0])
        self._seconds: array[int] = array(self.TYPES[1])

    @property
    def is_open(self) -> bool:
        """Whether the entries are in memory and the index can grow."""
        return self._firsts is not None

    def entries(self, path: str) -> int:
        """Return the number of entries."""
        if self._firsts is not None:
            return len(self._firsts)
        return self._opened(path).size // self.ENTRY.size

    def _entry(self, path: str, number: int) -> tuple[int, int]:
        """Return entry `number`, from memory or from the file at `path`."""
        if self._firsts is not None:
            return self._firsts[number], self._seconds[number]
        size = self.ENTRY.size
        first, second = self.ENTRY.unpack(self._opened(path).pread(size, number * size))
        return first, second

    def _last_entry(self, path: str) -> tuple[int, int] | None:
        count = self.entries(path)
        return self._entry(path, count - 1) if count else None

    def _floor(self, path: str, key: int) -> tuple[int, int] | None:
        """Return the last entry whose first number is ≤ `key`, None without one.

        In a file this is a binary search by pread, as in Kafka.
        """
        if self._firsts is not None:
            slot = bisect_right(self._firsts, key) - 1
            return (self._firsts[slot], self._seconds[slot]) if slot >= 0 else None
        low, high = 0, self.entries(path)
        floor = None
        while low < high:
            middle = (low + high) // 2
            entry = self._entry(path, middle)
            if entry[0] <= key:
                floor, low = entry, middle + 1
            else:
                high = middle
        return floor

    def _keep_below(self, offsets: array[int] | None, offset: int) -> None:
        """Drop the entries from `offset` on from memory. `offsets` are the relative offsets of the
        entries."""
        assert self._firsts is not None and offsets is not None, "a closed index cannot shrink"
        relative = offset - self.base_offset
        keep = bisect_right(offsets, relative - 1) if relative > 0 else 0
        del self._firsts[keep:]
        del self._seconds[keep:]

    def _read(self, path: str) -> bytes:
        """Return the whole file. Raises CorruptIndex if it is not whole entries; OSError."""
        self._close_file()
        data = self._filesystem.read(path)
        self._check_size(path, len(data))
        return data

    def _check_size(self, path: str, size: int) -> None:
        """Raise CorruptIndex if the file does not hold whole entries."""
        if size % self.ENTRY.size:
            raise CorruptIndex(f"{path} has {size} bytes, no multiple of {self.ENTRY.size}")

    def clear(self) -> None:
        """Make the index empty and open: its entries are in memory and it can grow. For a rebuild;
        the file stays as it is."""
        self.release()
        self._firsts = array(self.TYPES[0])

    def release(self) -> None:
        """Make the index closed: drop its entries from memory and close its file. Look-ups read the
        file then."""
        self._firsts = None
        self._seconds = array(self.TYPES[1])
        self._close_file()

    def use(self, files: ClosedFiles) -> None:
        """Let `files` limit the open files from now on, and close the index's file."""
        self._close_file()
        self._files = files

    def _close_file(self) -> None:
        """Close the handle of the index file, if it is open."""
        file, self._file = self._file, None
        if file is not None:
            self._files.forget(self)
            file.close()

    def _opened(self, path: str) -> File:
        """Return the open file, and mark it as used last. Raises OSError."""
        if self._file is None:
            self._file = self._files.open(self, self._filesystem, path)
        else:
            self._files.used(self)
        return self._file


class OffsetIndex(_Index):
    """The index from an offset to the position of a batch that ends at or before it."""

    __slots__ = ()

    ENTRY = OFFSET_ENTRY
    TYPES = "I", "i"

    @property
    def is_full(self) -> bool:
        """Whether the segment has to roll before another entry fits."""
        return self._firsts is not None and len(self._firsts) >= self.entries_max

    def append(self, offset: int, position: int) -> None:
        """Add an entry in memory: the batch that ends with `offset` starts at `position`. Raises
        AssertionError unless the offset is above the last entry's."""
        offsets = self._firsts
        assert offsets is not None, "a closed index cannot grow"
        relative = offset - self.base_offset
        if offsets and relative <= offsets[-1]:
            raise AssertionError(f"offset {offset} is not past the last one of the index")
        offsets.append(relative)
        self._seconds.append(position)

    def lookup(self, path: str, offset: int) -> int:
        """Return the position at which a scan for `offset` starts; 0 without an entry before."""
        relative = offset - self.base_offset
        entry = self._floor(path, relative) if relative >= 0 else None
        return entry[1] if entry is not None else 0

    def ceiling(self, path: str, position: int) -> int | None:
        """Return the offset of the first entry whose position is `position` or later, None without
        one."""
        count = self.entries(path)
        numbers = range(count)
        slot = bisect_left(numbers, position, key=lambda number: self._entry(path, number)[1])
        return self.base_offset + self._entry(path, slot)[0] if slot < count else None

    def last(self, path: str) -> tuple[int, int]:
        """Return (offset, position) of the last entry; (base offset, 0) for an empty index."""
        relative, position = self._last_entry(path) or (0, 0)
        return self.base_offset + relative, position

    def truncate_to(self, offset: int) -> None:
        """Drop the entries from `offset` on from memory. The index must be open."""
        self._keep_below(self._firsts, offset)

    def encode(self) -> bytes:
        """Return the file's content of the open index."""
        assert self._firsts is not None
        both = array("I", bytes(8 * len(self._firsts)))
        both[0::2] = self._firsts
        both[1::2] = array("I", self._seconds.tobytes())
        if sys.byteorder == "little":
            both.byteswap()
        return both.tobytes()

    def open(self, path: str) -> None:
        """Read the entries into memory. Raises CorruptIndex; OSError, also for a missing file."""
        both = array("I", self._read(path))
        if sys.byteorder == "little":
            both.byteswap()
        offsets, positions = both[0::2], array("i", both[1::2].tobytes())
        if not _rises(offsets) or not _rises(positions):
            raise CorruptIndex(f"the entries of {path} do not rise")
        self._firsts, self._seconds = offsets, positions

    def check(self, path: str, segment_size: int) -> None:
        """Check that the file of a closed index can belong to its segment. Raises CorruptIndex."""
        size = self._filesystem.size(path)
        self._check_size(path, size)
        if size == 0:
            return
        offset, position = self.last(path)
        if offset < self.base_offset or not 0 <= position < max(segment_size, 1):
            raise CorruptIndex(f"the last entry of {path} lies outside its segment")
        if size > OFFSET_ENTRY.size and offset == self.base_offset:
            raise CorruptIndex(f"{path} has no last entry: it was never trimmed")


class TimeIndex(_Index):
    """The index from a timestamp to the offset up to which no record has a larger one."""

    __slots__ = ()

    ENTRY = TIME_ENTRY
    TYPES = "q", "i"

    @property
    def is_full(self) -> bool:
        """Whether the segment has to roll. The last slot is reserved for the entry of the roll."""
        return self._firsts is not None and len(self._firsts) >= self.entries_max - 1

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add an entry in memory with the largest timestamp so far and its offset, if it is above
        the last entry's and not negative."""
        timestamps = self._firsts
        assert timestamps is not None, "a closed index cannot grow"
        if timestamp < 0 or timestamps and timestamp <= timestamps[-1]:
            return
        timestamps.append(timestamp)
        self._seconds.append(offset - self.base_offset)

    def lookup(self, path: str, timestamp: int) -> tuple[int, int]:
        """Return the last (timestamp, offset) up to `timestamp`; (-1, base offset) without one."""
        floor, relative = self._floor(path, timestamp) or (NO_TIMESTAMP, 0)
        return floor, self.base_offset + relative

    def last(self, path: str) -> tuple[int, int]:
        """Return the last (timestamp, offset); (-1, base offset) for an empty index."""
        timestamp, relative = self._last_entry(path) or (NO_TIMESTAMP, 0)
        return timestamp, self.base_offset + relative

    def truncate_to(self, offset: int) -> None:
        """Drop the entries whose offset is `offset` or above from memory. The index must be
        open."""
        self._keep_below(self._seconds, offset)

    def encode(self) -> bytes:
        """Return the file's content of the open index."""
        assert self._firsts is not None
        return b"".join(map(TIME_ENTRY.pack, self._firsts, self._seconds))

    def open(self, path: str) -> None:
        """Read the entries into memory. Raises CorruptIndex; OSError, also for a missing file."""
        timestamps, offsets = array("q"), array("i")
        for timestamp, relative in TIME_ENTRY.iter_unpack(self._read(path)):
            timestamps.append(timestamp)
            offsets.append(relative)
        if not _rises(timestamps) or any(relative < 0 for relative in offsets):
            raise CorruptIndex(f"the entries of {path} do not rise")
        self._firsts, self._seconds = timestamps, offsets

    def check(self, path: str) -> None:
        """Check that the file of a closed index can belong to its segment. Raises CorruptIndex."""
        size = self._filesystem.size(path)
        self._check_size(path, size)
        if size == 0:
            return
        timestamp, offset = self.last(path)
        if timestamp < self._entry(path, 0)[0] or offset < self.base_offset:
            raise CorruptIndex(f"the last entry of {path} lies before its first")


def _rises(values: array[int]) -> bool:
    """Return whether each value is larger than the one before."""
    return all(values[i] < values[i + 1] for i in range(len(values) - 1))
