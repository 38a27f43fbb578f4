"""Counts over the headers of a segment's batches: records, codecs, epochs, gaps.

Each call reads a limited number of headers and continues where the last call ended, so no request
of the page waits for a gigabyte of small batches. If a segment has grown, its scan continues. If
another file has replaced it, as compaction does, its scan restarts. In a compacted topic, records
are read too, to count tombstones.

Owns the counts; `Scans` keeps those of the SCANS_KEPT segments that were used last. Keeps no
record.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock

from console.segments.files.header_walk import Batch, walk
from log_format.files import Files, Read, Stamp
from protocol.compression import Codec, decompress
from protocol.record_batch import HEADER_SIZE, CorruptBatch
from protocol.record_scan import scan_records

HEADERS_A_CALL = 10_000
"""The most headers that a call reads: some 0.15 s of a core."""
RECORDS_A_CALL = 50_000
"""The limit of a call that reads records too: also some 0.15 s of a core."""
_CODECS = {codec.value: codec.name.lower() for codec in Codec}
BATCH_BYTES_MAX = 16 * 1024 * 1024
"""In a larger batch, tombstones are not counted."""
CELLS = 96
EPOCHS_KEPT = 64
SCANS_KEPT = 4_096


@dataclass(slots=True)
class Cells:
    """The number of records in each part of a segment's range of offsets.

    Each cell covers `width` offsets. If the range needs more than CELLS cells, pairs of cells merge
    and `width` doubles.
    """

    base_offset: int
    width: int = 1
    records: list[int] = field(default_factory=list)

    def add(self, first: int, last: int, records: int) -> None:
        """Add the records of a batch, spread evenly over its offsets `first` to `last`."""
        while (last - self.base_offset) // self.width >= CELLS:
            pairs = zip(self.records[::2], [*self.records[1::2], 0], strict=False)
            self.records = [left + right for left, right in pairs]
            self.width *= 2
        low, high = ((at - self.base_offset) // self.width for at in (first, last))
        self.records += [0] * (high + 1 - len(self.records))
        span, added = last + 1 - first, 0
        for cell in range(low, high + 1):
            covered = min(self.base_offset + (cell + 1) * self.width - first, span)
            share = records * covered // span
            self.records[cell] += share - added
            added = share


@dataclass(slots=True)
class Scan:
    """The counts of a segment up to byte `position`. Times are in ms since 1970, -1 for none."""

    base_offset: int
    with_records: bool
    stamp: Stamp
    position: int = 0
    is_whole: bool = False
    """True if the scan has reached the end of the file, or damage."""
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
    """(batches, bytes) by the name of the codec."""
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """(leader epoch, first offset) of the first EPOCHS_KEPT changes of the epoch."""
    tombstones: int = 0
    horizons: tuple[int, int] | None = None
    """The earliest and latest delete horizon of the batches, None if no batch has one."""
    batches_with_horizon: int = 0
    damage: str | None = None
    cells: Cells = field(default_factory=lambda: Cells(0))

    def __post_init__(self) -> None:
        self.cells = Cells(self.base_offset)
        self.next_offset = self.base_offset

    def go_on(self, read: Read, size: int, headers: int, records: int) -> None:
        """Continue by at most `headers` batches and some `records` records.

        `size` is the size of the file in bytes. The limit of records counts only in a scan with
        records, and the last batch may exceed it.
        """
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
    return sum(record is not None and record[4] < 0 for record in scan_records(header, body))


class Scans:
    """The scans of the last used segments, for all threads."""

    def __init__(self, files: Files, kept: int = SCANS_KEPT) -> None:
        self._files = files
        self._kept = kept
        self._lock = Lock()
        self._scans: OrderedDict[tuple[str, bool], Scan] = OrderedDict()

    def last(self, path: str, *, with_records: bool = False) -> Scan | None:
        """Return the scan of a segment as it is, without reading; None if there is none."""
        return self._scans.get((path, with_records))

    def advance(
        self,
        path: str,
        base_offset: int,
        *,
        with_records: bool = False,
        headers: int = HEADERS_A_CALL,
        records: int = RECORDS_A_CALL,
    ) -> Scan | None:
        """Return the scan of a segment, advanced by one call unless it is at the end.

        `with_records` counts tombstones too. Returns None if the file is gone. Raises LogError.
        """
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


def _is_another(before: Stamp, now: Stamp) -> bool:
    return before.number != now.number or now.size < before.size
