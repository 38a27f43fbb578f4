"""The segments of one log, by base offset.

Owns: their order. Never: creates or deletes files. Kafka's class: `LogSegments`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from storage.log.fetch_data import NO_RECORDS, FetchDataInfo
from storage.log.log_segment import LogSegment

WARM_SEGMENTS_MAX = 4


class LogSegments:
    """Segments in the order of their base offsets; `active` is the last."""

    __slots__ = ("_bases", "_by_base", "_warm")

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._by_base: dict[int, LogSegment] = {}
        self._warm: list[LogSegment] = []

    def __len__(self) -> int:
        return len(self._bases)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter([self._by_base[base] for base in self._bases])

    @property
    def active(self) -> LogSegment:
        """The segment that grows."""
        return self._by_base[self._bases[-1]]

    @property
    def first(self) -> LogSegment:
        """The oldest segment."""
        return self._by_base[self._bases[0]]

    @property
    def base_offsets(self) -> list[int]:
        """Rising."""
        return list(self._bases)

    @property
    def size_bytes(self) -> int:
        """Bytes of batches in all segments."""
        return sum(segment.size for segment in self._by_base.values())

    def add(self, segment: LogSegment) -> None:
        """Take a segment with a base offset of its own."""
        base = segment.base_offset
        assert base not in self._by_base, f"two segments begin at {base}"
        self._bases.insert(bisect_left(self._bases, base), base)
        self._by_base[base] = segment

    def remove(self, segment: LogSegment) -> None:
        """Forget a segment."""
        self._bases.remove(segment.base_offset)
        del self._by_base[segment.base_offset]
        if segment in self._warm:
            self._warm.remove(segment)

    def floor(self, offset: int) -> LogSegment | None:
        """The last segment that begins at or before `offset`."""
        slot = bisect_right(self._bases, offset) - 1
        return self._by_base[self._bases[slot]] if slot >= 0 else None

    def from_floor(self, offset: int) -> list[LogSegment]:
        """The segment that holds `offset` and those after it."""
        return list(self.read_from(offset))

    def read_from(self, offset: int) -> Iterator[LogSegment]:
        """The same, one after the other as they are asked for: a reader seldom needs the second.
        Nothing may be added or removed meanwhile."""
        for slot in range(max(bisect_right(self._bases, offset) - 1, 0), len(self._bases)):
            yield self._by_base[self._bases[slot]]

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, min_one_message: bool
    ) -> FetchDataInfo:
        """A slice of batches wholly below `upper_offset`; see `SegmentReads.read`."""
        ceiling = self.floor(upper_offset)
        for segment in self.read_from(offset):
            if segment.base_offset >= upper_offset:
                break
            self.warm(segment)
            bound = upper_offset if segment is ceiling else None
            info = segment.read(offset, max_bytes, bound, min_one_message)
            if info is not None:  # None: compaction took the end of this segment
                return info
        return NO_RECORDS

    def beyond(self, offset: int) -> list[LogSegment]:
        """Segments that begin after `offset`."""
        return [self._by_base[base] for base in self._bases[bisect_right(self._bases, offset) :]]

    def warm(self, segment: LogSegment) -> None:
        """A closed segment is read: of those, only the last few keep their index files open."""
        warm = self._warm
        if (warm and warm[-1] is segment) or segment.base_offset == self._bases[-1]:
            return
        if segment in warm:
            warm.remove(segment)
        warm.append(segment)
        if len(warm) > WARM_SEGMENTS_MAX:
            cold = warm.pop(0)
            cold.release_closed()
