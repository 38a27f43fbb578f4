"""The two sparse indexes of a segment: offset → position, timestamp → offset.

An index is in one of two forms. Open (the active segment): two arrays in memory, searched by
bisection, written to their file when the segment is flushed, rolled or closed. Until then the file
may be absent or old, and that is safe: after an unclean stop every segment past the recovery point
is scanned and its indexes are built anew. Closed: nothing in memory, the file is searched by pread
through a handle that `release` gives back.

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
    """An index file contradicts its segment: it is to be rebuilt, never trusted."""


class _Index:
    """Entries of two numbers, of which the first rises. In memory while `_firsts` is not None."""

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
    """Of the two arrays."""

    def __init__(
        self,
        filesystem: Filesystem,
        base_offset: int,
        index_bytes_max: int,
        files: ClosedFiles | None = None,
    ) -> None:
        """`files` keeps the file open that a closed index is searched in."""
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
        """How many entries there are."""
        if self._firsts is not None:
            return len(self._firsts)
        return self._opened(path).size // self.ENTRY.size

    def _entry(self, path: str, number: int) -> tuple[int, int]:
        """One of the file, or of the memory."""
        if self._firsts is not None:
            return self._firsts[number], self._seconds[number]
        size = self.ENTRY.size
        first, second = self.ENTRY.unpack(self._opened(path).pread(size, number * size))
        return first, second

    def _last(self, path: str) -> tuple[int, int] | None:
        count = self.entries(path)
        return self._entry(path, count - 1) if count else None

    def _floor(self, path: str, key: int) -> tuple[int, int] | None:
        """The last entry whose first number is ≤ `key`: Kafka's binary search, by pread."""
        if self._firsts is not None:
            slot = bisect_right(self._firsts, key) - 1
            return (self._firsts[slot], self._seconds[slot]) if slot >= 0 else None
        low, high = 0, self.entries(path)
        found = None
        while low < high:
            middle = (low + high) // 2
            entry = self._entry(path, middle)
            if entry[0] <= key:
                found, low = entry, middle + 1
            else:
                high = middle
        return found

    def _keep(self, offsets: array[int] | None, offset: int) -> None:
        """Forget entries at `offset` and after; `offsets` are those of the entries, relative."""
        assert self._firsts is not None and offsets is not None, "a closed index cannot shrink"
        relative = offset - self.base_offset
        keep = bisect_right(offsets, relative - 1) if relative > 0 else 0
        del self._firsts[keep:]
        del self._seconds[keep:]

    def _read(self, path: str) -> bytes:
        """The whole file, of whole entries. Raises CorruptIndex, or OSError."""
        self._close_file()
        data = self._filesystem.read(path)
        self._check_size(path, len(data))
        return data

    def _check_size(self, path: str, size: int) -> None:
        if size % self.ENTRY.size:
            raise CorruptIndex(f"{path} has {size} bytes, no multiple of {self.ENTRY.size}")

    def clear(self) -> None:
        """Empty and open, to be built anew."""
        self.release()
        self._firsts = array(self.TYPES[0])

    def release(self) -> None:
        """Drop what is in memory, and the handle: look-ups go to the file from now on."""
        self._firsts = None
        self._seconds = array(self.TYPES[1])
        self._close_file()

    def use(self, files: ClosedFiles) -> None:
        """`files` keeps the file of a closed index open from now on."""
        self._close_file()
        self._files = files

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            self._files.forget(self)
            file.close()

    def _opened(self, path: str) -> File:
        if self._file is None:
            self._file = self._files.open(self, self._filesystem, path)
        else:
            self._files.used(self)
        return self._file


class OffsetIndex(_Index):
    """Where in the segment a batch lies that ends at or before an offset."""

    __slots__ = ()

    ENTRY = OFFSET_ENTRY
    TYPES = "I", "i"

    @property
    def is_full(self) -> bool:
        """Whether the segment has to roll before another entry fits."""
        return self._firsts is not None and len(self._firsts) >= self.entries_max

    def append(self, offset: int, position: int) -> None:
        """Note that the batch ending with `offset` starts at `position`."""
        offsets = self._firsts
        assert offsets is not None, "a closed index cannot grow"
        relative = offset - self.base_offset
        if offsets and relative <= offsets[-1]:
            raise AssertionError(f"offset {offset} is not past the last one of the index")
        offsets.append(relative)
        self._seconds.append(position)

    def lookup(self, path: str, offset: int) -> int:
        """The position from where a scan for `offset` starts; 0 without an entry before it."""
        relative = offset - self.base_offset
        entry = self._floor(path, relative) if relative >= 0 else None
        return entry[1] if entry is not None else 0

    def ceiling(self, path: str, position: int) -> int | None:
        """The offset of the first entry at or after `position`; None where there is none."""
        count = self.entries(path)
        numbers = range(count)
        slot = bisect_left(numbers, position, key=lambda number: self._entry(path, number)[1])
        return self.base_offset + self._entry(path, slot)[0] if slot < count else None

    def last(self, path: str) -> tuple[int, int]:
        """(offset, position) of the last entry; (base offset, 0) of an empty index."""
        relative, position = self._last(path) or (0, 0)
        return self.base_offset + relative, position

    def truncate_to(self, offset: int) -> None:
        """Forget entries at `offset` and after."""
        self._keep(self._firsts, offset)

    def encode(self) -> bytes:
        """The file's content of an open index."""
        assert self._firsts is not None
        both = array("I", bytes(8 * len(self._firsts)))
        both[0::2] = self._firsts
        both[1::2] = array("I", self._seconds.tobytes())
        if sys.byteorder == "little":
            both.byteswap()
        return both.tobytes()

    def open(self, path: str) -> None:
        """Bring the entries into memory. Raises CorruptIndex, or OSError (a missing file too)."""
        both = array("I", self._read(path))
        if sys.byteorder == "little":
            both.byteswap()
        offsets, positions = both[0::2], array("i", both[1::2].tobytes())
        if not _rises(offsets) or not _rises(positions):
            raise CorruptIndex(f"the entries of {path} do not rise")
        self._firsts, self._seconds = offsets, positions

    def check(self, path: str, segment_size: int) -> None:
        """Refuse a closed index whose file cannot belong to its segment. Raises CorruptIndex."""
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
    """Up to which offset the largest timestamp of a segment had a certain value."""

    __slots__ = ()

    ENTRY = TIME_ENTRY
    TYPES = "q", "i"

    @property
    def is_full(self) -> bool:
        """Whether the segment has to roll; the last slot is kept for the entry made by rolling."""
        return self._firsts is not None and len(self._firsts) >= self.entries_max - 1

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Note the largest timestamp so far and its offset, if it rose since the last entry."""
        timestamps = self._firsts
        assert timestamps is not None, "a closed index cannot grow"
        if timestamp < 0 or timestamps and timestamp <= timestamps[-1]:
            return
        timestamps.append(timestamp)
        self._seconds.append(offset - self.base_offset)

    def lookup(self, path: str, timestamp: int) -> tuple[int, int]:
        """The last (timestamp, offset) with timestamp ≤ that asked; (-1, base offset) if none."""
        found, relative = self._floor(path, timestamp) or (NO_TIMESTAMP, 0)
        return found, self.base_offset + relative

    def last(self, path: str) -> tuple[int, int]:
        """The last (timestamp, offset); (-1, base offset) of an empty index."""
        timestamp, relative = self._last(path) or (NO_TIMESTAMP, 0)
        return timestamp, self.base_offset + relative

    def truncate_to(self, offset: int) -> None:
        """Forget entries that point at `offset` and after."""
        self._keep(self._seconds, offset)

    def encode(self) -> bytes:
        """The file's content of an open index."""
        assert self._firsts is not None
        return b"".join(map(TIME_ENTRY.pack, self._firsts, self._seconds))

    def open(self, path: str) -> None:
        """Bring the entries into memory. Raises CorruptIndex, or OSError (a missing file too)."""
        timestamps, offsets = array("q"), array("i")
        for timestamp, relative in TIME_ENTRY.iter_unpack(self._read(path)):
            timestamps.append(timestamp)
            offsets.append(relative)
        if not _rises(timestamps) or any(relative < 0 for relative in offsets):
            raise CorruptIndex(f"the entries of {path} do not rise")
        self._firsts, self._seconds = timestamps, offsets

    def check(self, path: str) -> None:
        """Refuse a closed index whose file cannot belong to its segment. Raises CorruptIndex."""
        size = self._filesystem.size(path)
        self._check_size(path, size)
        if size == 0:
            return
        timestamp, offset = self.last(path)
        if timestamp < self._entry(path, 0)[0] or offset < self.base_offset:
            raise CorruptIndex(f"the last entry of {path} lies before its first")


def _rises(values: array[int]) -> bool:
    return all(values[i] < values[i + 1] for i in range(len(values) - 1))
