"""Entries of a segment's `.index` and `.timeindex`, read one by one where they lie.

An index of an active segment may be room that is not used yet, of 10 MiB; its entries end where
zeros begin. Look-ups search by bisection, as a broker does, so that each reads some twenty entries
of 8 or 12 bytes. Owns no state and holds no file. Raises LogError where a file shrinks meanwhile.

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
    """One of the file, the first is 0. Of an offset index `key` is the last offset of a batch and
    `value` the batch's position; of a time index a timestamp in ms and an offset."""

    number: int
    key: int
    value: int


class IndexFile(Sequence[IndexEntry]):
    """The entries that are used. `read` is the file's; errors of it pass through."""

    def __init__(self, read: Read, size: int, base_offset: int, *, of_times: bool) -> None:
        self._read = read
        self._base = base_offset
        self._of_times = of_times
        self._entry: Struct = TIME_ENTRY if of_times else OFFSET_ENTRY
        self.room = size // self._entry.size
        """Entries that the file has room for."""
        self._used = self._count()

    @property
    def entry_bytes(self) -> int:
        """Of one entry."""
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
        for found in self._entries(at, at + 1):
            return found
        raise LogError("the broker rewrote the index while the console read it: try again")

    def floor(self, key: int) -> IndexEntry | None:
        """The last entry whose key is `key` or less: where a look-up begins."""
        slot = bisect_right(range(self._used), key, key=lambda at: self[at].key) - 1
        return self[slot] if slot >= 0 else None

    def floor_position(self, position: int) -> int:
        """The last position of an offset index at or before `position`; 0 before the first."""
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
        """How many are used: all before the first, but for number 0, that is zeros alone."""

        def is_room(at: int) -> bool:
            data = self._read(self._entry.size, at * self._entry.size)
            return len(data) < self._entry.size or not any(data)

        if self.room == 0:
            return 0
        used = 1 + bisect_left(range(1, self.room), True, key=is_room)
        return 0 if used == 1 and self.room > 1 and is_room(0) else used
