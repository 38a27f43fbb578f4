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
from struct import Struct, iter_unpack

from storage.filesystem import File, Filesystem
from storage.log.closed_files import ClosedFiles

OFFSET_ENTRY = Struct(">Ii")
TIME_ENTRY = Struct(">qi")
RELATIVE_OFFSET_MAX = 2**31 - 1
NO_TIMESTAMP = -1


class CorruptIndex(Exception):
    """An index file contradicts its segment: it is to be rebuilt, never trusted."""


class _IndexFile:
    """Entries of one size in a file, read one at a time."""

    __slots__ = ("_entry", "_file", "_files", "_filesystem")

    def __init__(self, filesystem: Filesystem, entry: Struct, files: ClosedFiles | None) -> None:
        self._filesystem = filesystem
        self._files = files if files is not None else ClosedFiles()
        self._entry = entry
        self._file: File | None = None

    def entries(self, path: str) -> int:
        return self._open(path).size // self._entry.size

    def read(self, path: str, number: int) -> tuple[int, int]:
        size = self._entry.size
        first, second = self._entry.unpack(self._open(path).pread(size, number * size))
        return first, second

    def floor(self, path: str, key: int) -> tuple[int, int] | None:
        """The last entry whose first field is ≤ `key`: Kafka's binary search, by pread."""
        low, high = 0, self.entries(path)
        found = None
        while low < high:
            middle = (low + high) // 2
            entry = self.read(path, middle)
            if entry[0] <= key:
                found, low = entry, middle + 1
            else:
                high = middle
        return found

    def release(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            self._files.forget(self)
            file.close()

    def _open(self, path: str) -> File:
        if self._file is None:
            self._file = self._files.open(self, self._filesystem, path)
        else:
            self._files.used(self)
        return self._file

    def use(self, files: ClosedFiles) -> None:
        self.release()
        self._files = files


class OffsetIndex:
    """Where in the segment a batch lies that ends at or before an offset."""

    __slots__ = ("_file", "_filesystem", "_offsets", "_positions", "base_offset", "entries_max")

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
        self.entries_max = index_bytes_max // OFFSET_ENTRY.size
        self._file = _IndexFile(filesystem, OFFSET_ENTRY, files)
        self._offsets: array[int] | None = array("I")
        self._positions: array[int] = array("i")

    @property
    def is_open(self) -> bool:
        """Whether the entries are in memory and the index can grow."""
        return self._offsets is not None

    @property
    def is_full(self) -> bool:
        """Whether the segment has to roll before another entry fits."""
        return self._offsets is not None and len(self._offsets) >= self.entries_max

    def entries(self, path: str) -> int:
        """How many entries there are."""
        return len(self._offsets) if self._offsets is not None else self._file.entries(path)

    def append(self, offset: int, position: int) -> None:
        """Note that the batch ending with `offset` starts at `position`."""
        offsets = self._offsets
        assert offsets is not None, "a closed index cannot grow"
        relative = offset - self.base_offset
        if offsets and relative <= offsets[-1]:
            raise AssertionError(f"offset {offset} is not past the last one of the index")
        offsets.append(relative)
        self._positions.append(position)

    def lookup(self, path: str, offset: int) -> int:
        """The position from where a scan for `offset` starts; 0 without an entry before it."""
        relative = offset - self.base_offset
        if relative < 0:
            return 0
        if self._offsets is not None:
            slot = bisect_right(self._offsets, relative) - 1
            return self._positions[slot] if slot >= 0 else 0
        entry = self._file.floor(path, relative)
        return entry[1] if entry is not None else 0

    def ceiling(self, path: str, position: int) -> int | None:
        """The offset of the first entry at or after `position`; None where there is none."""
        if self._offsets is not None:
            slot = bisect_left(self._positions, position)
            return self.base_offset + self._offsets[slot] if slot < len(self._offsets) else None
        low, high = 0, self._file.entries(path)
        found = None
        while low < high:
            middle = (low + high) // 2
            offset, at = self._file.read(path, middle)
            if at >= position:
                found, high = self.base_offset + offset, middle
            else:
                low = middle + 1
        return found

    def last(self, path: str) -> tuple[int, int]:
        """(offset, position) of the last entry; (base offset, 0) of an empty index."""
        if self._offsets is not None:
            if not self._offsets:
                return self.base_offset, 0
            return self.base_offset + self._offsets[-1], self._positions[-1]
        count = self._file.entries(path)
        if count == 0:
            return self.base_offset, 0
        relative, position = self._file.read(path, count - 1)
        return self.base_offset + relative, position

    def truncate_to(self, offset: int) -> None:
        """Forget entries at `offset` and after."""
        assert self._offsets is not None, "a closed index cannot shrink"
        relative = offset - self.base_offset
        keep = bisect_right(self._offsets, relative - 1) if relative > 0 else 0
        del self._offsets[keep:]
        del self._positions[keep:]

    def clear(self) -> None:
        """Empty and open, to be built anew."""
        self._file.release()
        self._offsets = array("I")
        self._positions = array("i")

    def encode(self) -> bytes:
        """The file's content of an open index."""
        assert self._offsets is not None
        both = array("I", bytes(8 * len(self._offsets)))
        both[0::2] = self._offsets
        both[1::2] = array("I", self._positions.tobytes())
        if sys.byteorder == "little":
            both.byteswap()
        return both.tobytes()

    def open(self, path: str) -> None:
        """Bring the entries into memory. Raises CorruptIndex, or OSError (a missing file too)."""
        self._file.release()
        data = self._filesystem.read(path)
        if len(data) % OFFSET_ENTRY.size:
            raise CorruptIndex(f"{path} has {len(data)} bytes, no multiple of 8")
        both = array("I", data)
        if sys.byteorder == "little":
            both.byteswap()
        offsets, positions = both[0::2], array("i", both[1::2].tobytes())
        if not _rises(offsets) or not _rises(positions):
            raise CorruptIndex(f"the entries of {path} do not rise")
        self._offsets, self._positions = offsets, positions

    def release(self) -> None:
        """Drop what is in memory, and the handle: look-ups go to the file from now on."""
        self._offsets = None
        self._positions = array("i")
        self._file.release()

    def use(self, files: ClosedFiles) -> None:
        """`files` keeps the file of a closed index open from now on."""
        self._file.use(files)

    def check(self, path: str, segment_size: int) -> None:
        """Refuse a closed index whose file cannot belong to its segment. Raises CorruptIndex."""
        size = self._filesystem.size(path)
        if size % OFFSET_ENTRY.size:
            raise CorruptIndex(f"{path} has {size} bytes, no multiple of 8")
        if size == 0:
            return
        offset, position = self.last(path)
        if offset < self.base_offset or not 0 <= position < max(segment_size, 1):
            raise CorruptIndex(f"the last entry of {path} lies outside its segment")
        if size > OFFSET_ENTRY.size and offset == self.base_offset:
            raise CorruptIndex(f"{path} has no last entry: it was never trimmed")


class TimeIndex:
    """Up to which offset the largest timestamp of a segment had a certain value."""

    __slots__ = ("_file", "_filesystem", "_offsets", "_timestamps", "base_offset", "entries_max")

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
        self.entries_max = index_bytes_max // TIME_ENTRY.size
        self._file = _IndexFile(filesystem, TIME_ENTRY, files)
        self._timestamps: array[int] | None = array("q")
        self._offsets: array[int] = array("i")

    @property
    def is_open(self) -> bool:
        """Whether the entries are in memory and the index can grow."""
        return self._timestamps is not None

    @property
    def is_full(self) -> bool:
        """Whether the segment has to roll; the last slot is kept for the entry made by rolling."""
        return self._timestamps is not None and len(self._timestamps) >= self.entries_max - 1

    def entries(self, path: str) -> int:
        """How many entries there are."""
        return len(self._timestamps) if self._timestamps is not None else self._file.entries(path)

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Note the largest timestamp so far and its offset, if it rose since the last entry."""
        timestamps = self._timestamps
        assert timestamps is not None, "a closed index cannot grow"
        if timestamps and timestamp <= timestamps[-1]:
            return
        if timestamp < 0:
            return
        timestamps.append(timestamp)
        self._offsets.append(offset - self.base_offset)

    def lookup(self, path: str, timestamp: int) -> tuple[int, int]:
        """The last (timestamp, offset) with timestamp ≤ that asked; (-1, base offset) if none."""
        if self._timestamps is not None:
            slot = bisect_right(self._timestamps, timestamp) - 1
            if slot < 0:
                return NO_TIMESTAMP, self.base_offset
            return self._timestamps[slot], self.base_offset + self._offsets[slot]
        entry = self._file.floor(path, timestamp)
        if entry is None:
            return NO_TIMESTAMP, self.base_offset
        return entry[0], self.base_offset + entry[1]

    def last(self, path: str) -> tuple[int, int]:
        """The last (timestamp, offset); (-1, base offset) of an empty index."""
        if self._timestamps is not None:
            if not self._timestamps:
                return NO_TIMESTAMP, self.base_offset
            return self._timestamps[-1], self.base_offset + self._offsets[-1]
        count = self._file.entries(path)
        if count == 0:
            return NO_TIMESTAMP, self.base_offset
        timestamp, relative = self._file.read(path, count - 1)
        return timestamp, self.base_offset + relative

    def truncate_to(self, offset: int) -> None:
        """Forget entries that point at `offset` and after."""
        assert self._timestamps is not None, "a closed index cannot shrink"
        relative = offset - self.base_offset
        keep = bisect_right(self._offsets, relative - 1) if relative > 0 else 0
        del self._timestamps[keep:]
        del self._offsets[keep:]

    def clear(self) -> None:
        """Empty and open, to be built anew."""
        self._file.release()
        self._timestamps = array("q")
        self._offsets = array("i")

    def encode(self) -> bytes:
        """The file's content of an open index."""
        assert self._timestamps is not None
        pack = TIME_ENTRY.pack
        return b"".join(map(pack, self._timestamps, self._offsets))

    def open(self, path: str) -> None:
        """Bring the entries into memory. Raises CorruptIndex, or OSError (a missing file too)."""
        self._file.release()
        data = self._filesystem.read(path)
        if len(data) % TIME_ENTRY.size:
            raise CorruptIndex(f"{path} has {len(data)} bytes, no multiple of 12")
        timestamps, offsets = array("q"), array("i")
        for timestamp, relative in iter_unpack(">qi", data):
            timestamps.append(timestamp)
            offsets.append(relative)
        if not _rises(timestamps) or any(relative < 0 for relative in offsets):
            raise CorruptIndex(f"the entries of {path} do not rise")
        self._timestamps, self._offsets = timestamps, offsets

    def release(self) -> None:
        """Drop what is in memory, and the handle: look-ups go to the file from now on."""
        self._timestamps = None
        self._offsets = array("i")
        self._file.release()

    def use(self, files: ClosedFiles) -> None:
        """`files` keeps the file of a closed index open from now on."""
        self._file.use(files)

    def check(self, path: str) -> None:
        """Refuse a closed index whose file cannot belong to its segment. Raises CorruptIndex."""
        size = self._filesystem.size(path)
        if size % TIME_ENTRY.size:
            raise CorruptIndex(f"{path} has {size} bytes, no multiple of 12")
        if size == 0:
            return
        timestamp, offset = self.last(path)
        first = self._file.read(path, 0)[0]
        if timestamp < first or offset < self.base_offset:
            raise CorruptIndex(f"the last entry of {path} lies before its first")


def _rises(values: array[int]) -> bool:
    return all(values[i] < values[i + 1] for i in range(len(values) - 1))
