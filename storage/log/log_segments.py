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
    """The segments of a log, in the order of their base offsets. The last is the active one."""

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
        """The segment that appends go to."""
        return self._by_base[self._bases[-1]]

    @property
    def first(self) -> LogSegment:
        """The oldest segment."""
        return self._by_base[self._bases[0]]

    @property
    def base_offsets(self) -> list[int]:
        """The base offsets, in rising order."""
        return list(self._bases)

    @property
    def size_bytes(self) -> int:
        """The bytes of batches in all segments."""
        return sum(segment.size for segment in self._by_base.values())

    def add(self, segment: LogSegment) -> None:
        """Add a segment. No other segment may have its base offset."""
        base = segment.base_offset
        assert base not in self._by_base, f"two segments begin at {base}"
        self._bases.insert(bisect_left(self._bases, base), base)
        self._by_base[base] = segment

    def remove(self, segment: LogSegment) -> None:
        """Take a segment out of the log. Its files stay."""
        self._bases.remove(segment.base_offset)
        del self._by_base[segment.base_offset]
        if segment in self._warm:
            self._warm.remove(segment)

    def floor(self, offset: int) -> LogSegment | None:
        """Return the last segment that begins at or before `offset`, None if there is none."""
        slot = bisect_right(self._bases, offset) - 1
        return self._by_base[self._bases[slot]] if slot >= 0 else None

    def from_floor(self, offset: int) -> list[LogSegment]:
        """Return the segment that holds `offset` and those after it."""
        return list(self.read_from(offset))

    def read_from(self, offset: int) -> Iterator[LogSegment]:
        """Yield the segment that holds `offset` and those after it.

        No segment may be added or removed meanwhile. A reader seldom needs the second, so no list
        is made.
        """
        for slot in range(max(bisect_right(self._bases, offset) - 1, 0), len(self._bases)):
            yield self._by_base[self._bases[slot]]

    def read(
        self, offset: int, max_bytes: int, upper_offset: int, min_one_message: bool
    ) -> FetchDataInfo:
        """Return a slice, from `offset` on, of batches wholly below `upper_offset`.

        `max_bytes` and `min_one_message` are those of `SegmentReads.read`.
        """
        ceiling = self.floor(upper_offset)
        for segment in self.read_from(offset):
            if segment.base_offset >= upper_offset:
                break
            self.mark_read(segment)
            bound = upper_offset if segment is ceiling else None
            info = segment.read(offset, max_bytes, bound, min_one_message)
            if info is not None:  # None: compaction removed the end of this segment
                return info
        return NO_RECORDS

    def beyond(self, offset: int) -> list[LogSegment]:
        """Return the segments that begin after `offset`."""
        return [self._by_base[base] for base in self._bases[bisect_right(self._bases, offset) :]]

    def mark_read(self, segment: LogSegment) -> None:
        """Record that a segment was read last. Only the WARM_SEGMENTS_MAX closed segments read last
        keep their files open; another one's are closed."""
        warm = self._warm
        if (warm and warm[-1] is segment) or segment.base_offset == self._bases[-1]:
            return
        if segment in warm:
            warm.remove(segment)
        warm.append(segment)
        if len(warm) > WARM_SEGMENTS_MAX:
            cold = warm.pop(0)
            cold.release_closed()
