"""A page of records from several partitions: the newest, or those from a place on.

Partitions are read in windows of offsets, small ones first, until a page is full. So a topic of
large records costs no more than what is shown of it. Records of one partition stay in the order of
their offsets; between partitions the time decides. The next page begins at a cursor.

Owns the order and the limits. Reads through `read`; never knows a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple

from client.place_offsets import Span
from console.messages.shown import RecordShown

RECORDS_MAX = 200
_FIRST_OFFSETS = 8
_OFFSETS_MAX = 100_000
_GROWS_BY = 8
PAGE_BYTES_MAX = 64 * 1024 * 1024
"""The most bytes that are read for a page; a window is always read to its end."""


class Found(NamedTuple):
    """A record that was read, in the form for the page."""

    partition: int
    offset: int
    timestamp: int
    size: int
    shown: RecordShown


Windows = Mapping[int, Span]
Read = Callable[[Windows], list[Found]]
"""A function that reads windows of partitions, each from its first offset up to its last."""


class Page(NamedTuple):
    """The records of a page, and for each partition the offset at which the next page begins, or
    before which it ends with `newest`. `is_last`: there are no more records. `is_partial`: the
    limit of bytes was reached before the page was full."""

    records: list[RecordShown]
    cursor: dict[int, int]
    is_last: bool
    is_partial: bool


@dataclass(slots=True)
class _Lane:
    """A partition: the offsets that are left, and the records that were read, the next first."""

    left: Span
    found: list[Found] = field(default_factory=list)

    def next_window(self, offsets: int, *, newest: bool) -> Span:
        first, last = self.left
        if newest:
            return Span(max(first, last - offsets), last)
        return Span(first, min(last, first + offsets))

    def take(self, window: Span, found: list[Found], *, newest: bool) -> None:
        """Take over the records of a window."""
        first, last = self.left
        self.left = Span(first, window.first) if newest else Span(window.last, last)
        found.sort(key=_offset, reverse=newest)
        self.found += found

    @property
    def is_read(self) -> bool:
        return self.left.first >= self.left.last


def page_of(
    read: Read,
    held: Windows,
    count: int,
    *,
    newest: bool,
    bytes_max: int = PAGE_BYTES_MAX,
) -> Page:
    """Return a page of the `count` newest records in the windows, or of the oldest."""
    lanes = {partition: _Lane(span) for partition, span in held.items()}
    offsets, seen_offsets, seen_bytes = min(_FIRST_OFFSETS, count), 0, 0
    is_partial = False
    while open_ones := _open(lanes, count, newest=newest):
        if seen_bytes >= bytes_max:
            is_partial = True
            break
        windows = {
            partition: lanes[partition].next_window(offsets, newest=newest)
            for partition in open_ones
        }
        by_partition: dict[int, list[Found]] = {partition: [] for partition in windows}
        for record in read(windows):
            by_partition[record.partition].append(record)
            seen_bytes += record.size
        for partition, window in windows.items():
            lanes[partition].take(window, by_partition[partition], newest=newest)
            seen_offsets += window.last - window.first
        offsets = _next_offsets(offsets, seen_bytes / max(seen_offsets, 1), bytes_max / len(lanes))
    return _merged(lanes, count, newest=newest, is_partial=is_partial)


def _next_offsets(offsets: int, bytes_an_offset: float, bytes_max: float) -> int:
    """Return the number of offsets of the next windows: more, unless the records are large."""
    wished = min(offsets * _GROWS_BY, _OFFSETS_MAX)
    if not bytes_an_offset:
        return wished
    return max(min(wished, int(bytes_max / bytes_an_offset / 2)), 1)


def _open(lanes: Mapping[int, _Lane], count: int, *, newest: bool) -> list[int]:
    """Return the partitions that may have an unread record which belongs on the page."""
    times = sorted(
        (record.timestamp for lane in lanes.values() for record in lane.found), reverse=newest
    )
    edge = times[count - 1] if len(times) >= count else None

    def is_behind(lane: _Lane) -> bool:
        if edge is None or not lane.found:
            return False
        last = lane.found[-1].timestamp
        return last <= edge if newest else last >= edge

    return [
        partition
        for partition, lane in lanes.items()
        if not lane.is_read and len(lane.found) < count and not is_behind(lane)
    ]


def _merged(lanes: Mapping[int, _Lane], count: int, *, newest: bool, is_partial: bool) -> Page:
    sign = -1 if newest else 1
    taken = dict.fromkeys(lanes, 0)
    heads = [
        (sign * lane.found[0].timestamp, partition)
        for partition, lane in lanes.items()
        if lane.found
    ]
    heapify(heads)
    records: list[RecordShown] = []
    while heads and len(records) < count:
        _, partition = heads[0]
        read = lanes[partition].found
        records.append(read[taken[partition]].shown)
        taken[partition] += 1
        if taken[partition] < len(read):
            heapreplace(heads, (sign * read[taken[partition]].timestamp, partition))
        else:
            heappop(heads)
    cursor = {
        partition: _cursor(lane, taken[partition], newest=newest)
        for partition, lane in lanes.items()
    }
    is_last = not heads and all(lane.is_read for lane in lanes.values())
    return Page(records, cursor, is_last, is_partial)


def _cursor(lane: _Lane, taken: int, *, newest: bool) -> int:
    if taken < len(lane.found):
        return lane.found[taken].offset + (1 if newest else 0)
    return lane.left.last if newest else lane.left.first


def _offset(record: Found) -> int:
    return record.offset


# --- cursors as text ------------------------------------------------------------------------------


def cursor_text(cursor: Mapping[int, int]) -> str:
    """Return a cursor as text: partitions and offsets, such as `0:17,1:4`."""
    return ",".join(f"{partition}:{offset}" for partition, offset in sorted(cursor.items()))


def parse_cursor(text: str) -> dict[int, int]:
    """Return the cursor in a text of `cursor_text`. Raises ValueError."""
    cursor = {}
    for part in filter(None, text.split(",")):
        partition, _, offset = part.partition(":")
        cursor[int(partition)] = int(offset)
    return cursor
