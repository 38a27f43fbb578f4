"""The sparse indexes of a segment: offset → position, and time → offset.

Owns the formats of `.index` and `.timeindex` (Kafka's `OffsetIndex` and `TimeIndex`) and look-ups
in both; an index is made anew from headers where its file is missing or damaged. Big-endian,
relative to the segment's base offset:

    .index      8 bytes: last offset of a batch (int32, relative), the batch's position (int32)
    .timeindex 12 bytes: largest timestamp so far (int64), its batch's last offset (int32, relative)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from log_format.batch_headers import Headers, Ints, column, last_offsets

_OFFSET_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
_TIME_ENTRY = np.dtype([("time", ">i8"), ("offset", ">i4")])
INTERVAL_BYTES = 4096
"""Between entries of an index that is made anew, as `index.interval.bytes` is by default."""


@dataclass(frozen=True, slots=True)
class SegmentIndex:
    """Both indexes. `offsets` are last offsets of the batches at `positions`; up to `time_offsets`
    the largest timestamp was that of `times`, in ms. All rise."""

    offsets: Ints
    positions: Ints
    times: Ints
    time_offsets: Ints

    def start_of(self, offset: int) -> int:
        """The position from where a scan for `offset` begins."""
        slot = int(np.searchsorted(self.offsets, offset, side="right")) - 1
        return int(self.positions[slot]) if slot >= 0 else 0

    def end_of(self, offset: int, size: int) -> int:
        """A position that all batches with offsets below `offset` end at or before."""
        slot = int(np.searchsorted(self.offsets, offset, side="left")) + 1
        return int(self.positions[slot]) if slot < len(self.positions) else size

    def largest_time(self) -> int | None:
        """The largest timestamp of the segment; None where the index has no entry."""
        return int(self.times[-1]) if len(self.times) else None

    def before_time(self, time: int) -> int | None:
        """An offset from which on the first record of `time` or later is found; None: from the
        segment's beginning."""
        slot = int(np.searchsorted(self.times, time, side="right")) - 1
        return int(self.time_offsets[slot]) if slot >= 0 else None

    def cuts(self, start: int, end: int, step: int) -> list[int]:
        """Positions between `start` and `end` where batches begin, some `step` bytes apart."""
        found = []
        after = start + step
        while after < end:
            slot = int(np.searchsorted(self.positions, after))
            if slot == len(self.positions) or self.positions[slot] >= end:
                break
            found.append(int(self.positions[slot]))
            after = found[-1] + step
        return found


def read_index(
    base_offset: int, size: int, offset_data: bytes | None, time_data: bytes | None
) -> SegmentIndex | str:
    """The indexes of a segment of `size` bytes; what is wrong with them, if anything is.

    Entries of zeros at the end are room that a running broker keeps.
    """
    if offset_data is None or time_data is None:
        return ".index is missing" if offset_data is None else ".timeindex is missing"
    for name, data, entry in (
        (".index", offset_data, _OFFSET_ENTRY),
        (".timeindex", time_data, _TIME_ENTRY),
    ):
        if len(data) % entry.itemsize:
            return f"{name} is cut off ({len(data)} bytes)"
    of_offsets = np.frombuffer(offset_data, dtype=_OFFSET_ENTRY)
    of_times = np.frombuffer(time_data, dtype=_TIME_ENTRY)
    offsets, positions = _used(of_offsets["offset"], of_offsets["position"])
    times, time_offsets = _used(of_times["time"], of_times["offset"])
    if not (_rises(offsets) and _rises(positions)) or (len(positions) and positions[-1] >= size):
        return ".index does not fit its segment"
    if size and not len(times):
        return ".timeindex is empty"
    if not _rises(times) or (np.diff(time_offsets) < 0).any() or (time_offsets < 0).any():
        return ".timeindex does not fit its segment"
    return SegmentIndex(offsets + base_offset, positions, times, time_offsets + base_offset)


def index_of(headers: Iterable[tuple[Headers, Ints]]) -> SegmentIndex:
    """The indexes of a segment whose batches have these headers, at these positions."""
    offsets, positions, times = [], [], []
    known, largest, last_position = -1, -1, -INTERVAL_BYTES
    for some, where in headers:
        running = np.maximum(np.maximum.accumulate(column(some, "max_timestamp")), largest)
        steps = where // INTERVAL_BYTES
        kept = np.diff(steps, prepend=last_position // INTERVAL_BYTES) > 0
        kept[-1] = True  # else what comes behind the last entry would have no time
        offsets.append(last_offsets(some)[kept])
        positions.append(where[kept])
        times.append(running[kept])
        largest, last_position = int(running[-1]), int(where[-1])
    if not offsets:
        empty = np.zeros(0, dtype=np.int64)
        return SegmentIndex(empty, empty, empty, empty)
    every, time = np.concatenate(offsets), np.concatenate(times)
    rose = np.diff(time, prepend=known) > 0
    # A time is known at the end of the entry in which it rose, so its record is looked for from the
    # entry before.
    before = np.concatenate(([every[0]], every[:-1]))
    return SegmentIndex(every, np.concatenate(positions), time[rose], before[rose])


def _used(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Without the zeros at the end, as int64 of this machine."""
    filled = np.flatnonzero((first != 0) | (second != 0))
    size = int(filled[-1]) + 1 if len(filled) else 0
    return first[:size].astype(np.int64), second[:size].astype(np.int64)


def _rises(values: Ints) -> bool:
    return bool((np.diff(values) > 0).all())
