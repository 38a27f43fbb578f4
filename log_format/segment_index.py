"""The sparse indexes of a segment: from offset to position, and from time to offset.

Owns the formats of `.index` and `.timeindex` (Kafka's `OffsetIndex` and `TimeIndex`), the look-ups
in both, and their rebuilding from headers if a file is missing or damaged. Never reads a file.
Big-endian, relative to the segment's base offset:

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
"""The bytes between entries of a rebuilt index: the default of `index.interval.bytes`."""


@dataclass(frozen=True, slots=True)
class SegmentIndex:
    """Both indexes of a segment. `offsets` are the last offsets of the batches at `positions`;
    `times` are the largest timestamps (ms) up to `time_offsets`. All of them rise."""

    offsets: Ints
    positions: Ints
    times: Ints
    time_offsets: Ints

    def start_of(self, offset: int) -> int:
        """Return the position at which a scan for `offset` begins: that of the last entry at or
        below `offset`, or 0."""
        slot = int(np.searchsorted(self.offsets, offset, side="right")) - 1
        return int(self.positions[slot]) if slot >= 0 else 0

    def end_of(self, offset: int, size: int) -> int:
        """Return a position at or after the end of all batches with offsets below `offset`: that of
        an entry, or `size`, the segment's size, if no entry follows."""
        slot = int(np.searchsorted(self.offsets, offset, side="left")) + 1
        return int(self.positions[slot]) if slot < len(self.positions) else size

    def largest_time(self) -> int | None:
        """Return the largest timestamp of the segment, in ms; None: the index has no entry."""
        return int(self.times[-1]) if len(self.times) else None

    def before_time(self, time: int) -> int | None:
        """Return the offset from which a scan for the first record of `time` (ms) or later begins;
        None: the segment's beginning."""
        slot = int(np.searchsorted(self.times, time, side="right")) - 1
        return int(self.time_offsets[slot]) if slot >= 0 else None

    def cuts(self, start: int, end: int, step: int) -> list[int]:
        """Return positions of batches after `start` and before `end`, at least `step` bytes apart
        from each other and from `start`."""
        cuts = []
        after = start + step
        while after < end:
            slot = int(np.searchsorted(self.positions, after))
            if slot == len(self.positions) or self.positions[slot] >= end:
                break
            cuts.append(int(self.positions[slot]))
            after = cuts[-1] + step
        return cuts


def read_index(
    base_offset: int, size: int, offset_data: bytes | None, time_data: bytes | None
) -> SegmentIndex | str:
    """Return the indexes of a segment of `size` bytes, or a text that says what is wrong with them.

    Zeros at the end are no entries: a running broker preallocates its files.
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
    """Return the indexes of a segment, made from its batches' headers and their positions, with an
    entry about every INTERVAL_BYTES."""
    offsets, positions, times = [], [], []
    no_time, largest, last_position = -1, -1, -INTERVAL_BYTES
    for piece_headers, at in headers:
        running = np.maximum(np.maximum.accumulate(column(piece_headers, "max_timestamp")), largest)
        steps = at // INTERVAL_BYTES
        kept = np.diff(steps, prepend=last_position // INTERVAL_BYTES) > 0
        kept[-1] = True  # else the batches after the last entry would have no time
        offsets.append(last_offsets(piece_headers)[kept])
        positions.append(at[kept])
        times.append(running[kept])
        largest, last_position = int(running[-1]), int(at[-1])
    if not offsets:
        empty = np.zeros(0, dtype=np.int64)
        return SegmentIndex(empty, empty, empty, empty)
    every, time = np.concatenate(offsets), np.concatenate(times)
    rose = np.diff(time, prepend=no_time) > 0
    # The time rose somewhere between the entry before and this entry, so a search for its record
    # begins at the entry before.
    before = np.concatenate(([every[0]], every[:-1]))
    return SegmentIndex(every, np.concatenate(positions), time[rose], before[rose])


def _used(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Return both arrays without the zeros at the end, as int64 of this machine."""
    filled = np.flatnonzero((first != 0) | (second != 0))
    size = int(filled[-1]) + 1 if len(filled) else 0
    return first[:size].astype(np.int64), second[:size].astype(np.int64)


def _rises(values: Ints) -> bool:
    """Return whether the values rise strictly."""
    return bool((np.diff(values) > 0).all())
