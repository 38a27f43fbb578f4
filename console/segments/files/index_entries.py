"""The entries of a segment's `.index` and `.timeindex`, each read from the file when it is used.

The index of an active segment is preallocated with zeros, 10 MiB by default; its entries end where
the zeros begin. Look-ups bisect like a broker, so a look-up reads some twenty entries of 8 or 12
bytes. Owns no state and no open file. Raises LogError if a file shrinks meanwhile.

Formats of Kafka's `OffsetIndex` and `TimeIndex`: see `storage.log.indexes`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple, overload

from log_format.damage import LogError
from log_format.files import Read
from storage.log.indexes import OFFSET_ENTRY, TIME_ENTRY


class IndexEntry(NamedTuple):
    """An entry of an index; `number` counts from 0.

    In an offset index, `key` is the last offset of a batch and `value` the batch's position. In a
    time index, `key` is a timestamp in ms and `value` an offset.
    """

    number: int
    key: int
    value: int


class IndexFile(Sequence[IndexEntry]):
    """The used entries of an index, as a sequence. Raises the errors of `read`."""

    def __init__(self, read: Read, size: int, base_offset: int, *, of_times: bool) -> None:
        self._read = read
        self._base = base_offset
        self._of_times = of_times
        self._entry: Struct = TIME_ENTRY if of_times else OFFSET_ENTRY
        self.room = size // self._entry.size
        """The number of entries that fit into the file."""
        self._used = self._count()

    @property
    def entry_bytes(self) -> int:
        """The size of an entry in bytes."""
        return self._entry.size

    def __len__(self) -> int:
        return self._used

    @overload
    def __getitem__(self, at: int) -> IndexEntry: ...
    @overload
    def __getitem__(self, at: slice) -> list[IndexEntry]: ...
    def __getitem__(self, at: int | slice) -> IndexEntry | list[IndexEntry]:
        if isinstance(at, slice):
            start, stop, _ = at.indices(self._used)
            return list(self._entries(start, stop))
        if not 0 <= at < self._used:
            raise IndexError(at)
        for entry in self._entries(at, at + 1):
            return entry
        raise LogError("the broker rewrote the index while the console read it: try again")

    def floor(self, key: int) -> IndexEntry | None:
        """Return the last entry with a key of at most `key`, None if there is none."""
        slot = bisect_right(range(self._used), key, key=lambda at: self[at].key) - 1
        return self[slot] if slot >= 0 else None

    def floor_position(self, position: int) -> int:
        """Return the last position at or before `position` in an offset index, else 0."""
        slot = bisect_right(range(self._used), position, key=lambda at: self[at].value) - 1
        return self[slot].value if slot >= 0 else 0

    def _entries(self, start: int, stop: int) -> Iterator[IndexEntry]:
        size = self._entry.size
        data = self._read((stop - start) * size, start * size)
        whole = len(data) - len(data) % size
        for at, (first, second) in enumerate(self._entry.iter_unpack(data[:whole]), start):
            if self._of_times:
                yield IndexEntry(at, first, self._base + second)
            else:
                yield IndexEntry(at, self._base + first, second)

    def _count(self) -> int:
        """Return the number of entries before the first that is all zeros.

        Entry 0 may be all zeros and used, so it counts if other entries follow it, or if it is the
        only one that fits.
        """

        def is_unused(at: int) -> bool:
            data = self._read(self._entry.size, at * self._entry.size)
            return len(data) < self._entry.size or not any(data)

        if self.room == 0:
            return 0
        used = 1 + bisect_left(range(1, self.room), True, key=is_unused)
        return 0 if used == 1 and self.room > 1 and is_unused(0) else used
