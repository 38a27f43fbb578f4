"""What the headers of a whole segment say together: records left, codecs, epochs, where gaps are.

A scan goes on where the last call of it ended, some headers a call, so that a gigabyte of small
batches is read over several looks at the page and nobody waits for it. A segment that grew is read
from where it had ended; one that was replaced, as compaction does, is begun anew. Of a compacted
topic's segment the records are looked at, too, for tombstones.

Owns what was counted; `Scans` keeps that of few segments and forgets those not asked for longest.
Never keeps a record.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock

from console.segments.files.header_walk import Batch, walk
from log_format.files import Files, Read, Stamp
from protocol.compression import Codec, decompress
from protocol.record_batch import HEADER_SIZE, CorruptBatch
from protocol.record_scan import scan_records

HEADERS_A_LOOK = 10_000
RECORDS_A_LOOK = 50_000
"""Where records are looked at. Either is some 0.15 s of a core."""
_CODECS = {one.value: one.name.lower() for one in Codec}
BATCH_BYTES_MAX = 16 * 1024 * 1024
"""A larger one's tombstones are not counted."""
CELLS = 96
EPOCHS_KEPT = 64
SCANS_KEPT = 4_096


@dataclass(slots=True)
class Cells:
    """How many records are left, by place in the segment's span of offsets.

    All cells are as many offsets wide; when the span outgrows CELLS of them, they become twice as
    wide and half as many.
    """

    base_offset: int
    width: int = 1
    records: list[int] = field(default_factory=list)

    def add(self, first: int, last: int, records: int) -> None:
        """`records` of a batch that covers offsets `first` to `last`, spread evenly."""
        while (last - self.base_offset) // self.width >= CELLS:
            pairs = zip(self.records[::2], [*self.records[1::2], 0], strict=False)
            self.records = [one + other for one, other in pairs]
            self.width *= 2
        low, high = ((at - self.base_offset) // self.width for at in (first, last))
        self.records += [0] * (high + 1 - len(self.records))
        span, told = last + 1 - first, 0
        for cell in range(low, high + 1):
            covered = min(self.base_offset + (cell + 1) * self.width - first, span)
            share = records * covered // span
            self.records[cell] += share - told
            told = share


@dataclass(slots=True)
class Scan:
    """Of one segment, up to byte `position`. Times in ms since the epoch, -1 without one."""

    base_offset: int
    with_records: bool
    stamp: Stamp
    position: int = 0
    is_whole: bool = False
    """Whether the end of what was there is reached."""
    batches: int = 0
    records: int = 0
    next_offset: int = -1
    empty_batches: int = 0
    control_batches: int = 0
    transactional_batches: int = 0
    largest_batch: int = 0
    first_time: int = -1
    largest_time: int = -1
    codecs: dict[str, tuple[int, int]] = field(default_factory=dict)
    """(batches, bytes) by name."""
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """(leader epoch, first offset), where it changes."""
    tombstones: int = 0
    horizons: tuple[int, int] | None = None
    """The first and last delete horizon of batches that have one."""
    batches_with_horizon: int = 0
    damage: str | None = None
    cells: Cells = field(default_factory=lambda: Cells(0))

    def __post_init__(self) -> None:
        self.cells = Cells(self.base_offset)
        self.next_offset = self.base_offset

    def go_on(self, read: Read, size: int, headers: int, records: int) -> None:
        """Look at so many more of each at most, of a file of `size` bytes."""
        self.is_whole, self.damage = False, None
        try:
            last, limit = self.batches + headers, self.records + records
            for batch in islice(walk(read, size, self.position), headers):
                self._add(batch)
                if self.with_records and batch.header.record_count:
                    self.tombstones += _tombstones(read, batch)
                self.position = batch.end
                if self.with_records and self.records >= limit:
                    break
            else:
                self.is_whole = self.batches < last
        except CorruptBatch as damage:
            self.damage = f"byte {self.position}: {damage}"
            self.is_whole = True

    def _add(self, batch: Batch) -> None:
        header = batch.header
        self.batches += 1
        self.records += header.record_count
        self.next_offset = header.next_offset
        self.empty_batches += not header.record_count
        self.control_batches += header.is_control
        self.transactional_batches += header.is_transactional
        self.largest_batch = max(self.largest_batch, header.size_in_bytes)
        self.largest_time = max(self.largest_time, header.max_timestamp)
        horizon = header.delete_horizon_ms
        first = header.max_timestamp if horizon is not None else header.base_timestamp
        if first >= 0 and (self.first_time < 0 or first < self.first_time):
            self.first_time = first
        if horizon is not None:
            self.batches_with_horizon += 1
            low, high = self.horizons or (horizon, horizon)
            self.horizons = min(low, horizon), max(high, horizon)
        name = _CODECS[header.compression]
        batches, size = self.codecs.get(name, (0, 0))
        self.codecs[name] = batches + 1, size + header.size_in_bytes
        epoch = header.partition_leader_epoch
        if (not self.epochs or self.epochs[-1][0] != epoch) and len(self.epochs) < EPOCHS_KEPT:
            self.epochs.append((epoch, header.base_offset))
        if header.record_count > 0 and header.base_offset >= self.base_offset:
            self.cells.add(header.base_offset, header.last_offset, header.record_count)


def _tombstones(read: Read, batch: Batch) -> int:
    header = batch.header
    if header.size_in_bytes > BATCH_BYTES_MAX or header.is_control:
        return 0
    packed = read(header.size_in_bytes - HEADER_SIZE, batch.position + HEADER_SIZE)
    body = decompress(header.compression, packed, BATCH_BYTES_MAX)
    return sum(one is not None and one[4] < 0 for one in scan_records(header, body))


class Scans:
    """Those of the segments that somebody looks at, in any thread."""

    def __init__(self, files: Files, kept: int = SCANS_KEPT) -> None:
        self._files = files
        self._kept = kept
        self._lock = Lock()
        self._scans: OrderedDict[tuple[str, bool], Scan] = OrderedDict()

    def known(self, path: str, *, with_records: bool = False) -> Scan | None:
        """What was counted so far, as it stands."""
        return self._scans.get((path, with_records))

    def look(
        self,
        path: str,
        base_offset: int,
        *,
        with_records: bool = False,
        headers: int = HEADERS_A_LOOK,
        records: int = RECORDS_A_LOOK,
    ) -> Scan | None:
        """The scan of a segment, a piece further where it is not at its end; None where the file is
        gone. Raises LogError."""
        with self._lock:
            stamp = self._files.stamp(path)
            if stamp is None:
                self._scans.pop((path, with_records), None)
                return None
            scan = self._scans.get((path, with_records))
            if scan is None or _is_another(scan.stamp, stamp):
                scan = Scan(base_offset, with_records, stamp)
            self._scans[path, with_records] = scan
            self._scans.move_to_end((path, with_records))
            while len(self._scans) > self._kept:
                self._scans.popitem(last=False)
            if not (scan.is_whole and scan.stamp == stamp):
                with self._files.opened(path) as file:
                    scan.go_on(file.read, stamp.size, headers, records)
                scan.stamp = stamp
            return scan

    def look_at_some(
        self, segments: list[tuple[str, int]], *, with_records: bool, is_time_up: Callable[[], bool]
    ) -> None:
        """One after the other of (path, base offset), until the time of a look is up."""
        for path, base in segments:
            scan = self.look(path, base, with_records=with_records)
            while scan is not None and not scan.is_whole and not is_time_up():
                scan = self.look(path, base, with_records=with_records)
            if is_time_up():
                return


def _is_another(known: Stamp, found: Stamp) -> bool:
    return known.number != found.number or found.size < known.size
