"""What can be told of a segment at little cost: its files, its indexes, its span of time.

A closed segment does not change, so its facts are kept until a file of it does. Of the active one
they are read anew: its indexes may still be in the broker's memory, and its end is where the scan
of its headers has come to. Owns the facts of few thousand segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

from console.segments.answers import Cells, Density, IndexShown, ScanShown
from console.segments.files.header_walk import walk
from console.segments.files.index_entries import IndexFile
from console.segments.files.partition_files import SegmentFiles
from console.segments.files.scans import Scan
from log_format.damage import LogError
from log_format.files import Files, Read, Stamp
from log_format.segment_names import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, TXN_INDEX_SUFFIX
from protocol.record_batch import CorruptBatch

KEPT_MAX = 8_192
ABORTED_BYTES = 34
"""Of an entry of a .txnindex."""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """Of a segment's .index or .timeindex."""

    size: int
    entries: int
    room: int
    last_key: int
    last_value: int


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """Of one segment. Times in ms since the epoch; -1 where no record has one."""

    base_offset: int
    size: int
    modified_ms: int
    first_time: int
    largest_time: int
    offsets: IndexFacts | None
    times: IndexFacts | None
    aborted: int

    @property
    def retention_time(self) -> int:
        """What retention goes by: the largest timestamp; without one, when it was written last."""
        return self.largest_time if self.largest_time >= 0 else self.modified_ms


def density(facts: SegmentFacts, size: int) -> Density | None:
    """How close the entries of the offset index lie; None without entries."""
    index = facts.offsets
    if index is None or not index.entries or not size:
        return None
    return Density(
        entries=index.entries,
        perMiB=index.entries * 1024 * 1024 / size,
        bytesBetween=size / index.entries,
        share=index.entries * 8 / size,
    )


class SegmentReader:
    """Opens a segment's files."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._lock = Lock()
        self._known: dict[str, tuple[dict[str, Stamp], SegmentFacts]] = {}

    def facts(self, segment: SegmentFiles) -> SegmentFacts:
        """Raises LogError where a file is gone."""
        with self._lock:
            known = self._known.get(segment.path)
        if known is not None and known[0] == segment.stamps:
            return known[1]
        found = self._read(segment)
        with self._lock:
            if len(self._known) >= KEPT_MAX:
                self._known.clear()
            self._known[segment.path] = segment.stamps, found
        return found

    @contextmanager
    def index(self, segment: SegmentFiles, suffix: str) -> Iterator[IndexFile]:
        """Of a segment; without entries where there is no such file. Raises LogError."""
        of_times = suffix == TIME_INDEX_SUFFIX
        stamp = segment.stamps.get(suffix)
        if stamp is None:
            yield IndexFile(_nothing, 0, segment.base_offset, of_times=of_times)
            return
        with self._files.opened(segment.path_of(suffix)) as file:
            yield IndexFile(file.read, stamp.size, segment.base_offset, of_times=of_times)

    def _read(self, segment: SegmentFiles) -> SegmentFacts:
        log = segment.stamps[LOG_SUFFIX]
        aborted = segment.stamps.get(TXN_INDEX_SUFFIX)
        times = self._index(segment, TIME_INDEX_SUFFIX)
        with self._files.opened(segment.path) as file:
            first = _first_time(file.read, log.size)
        return SegmentFacts(
            segment.base_offset,
            log.size,
            log.modified_ms,
            first,
            -1 if times is None or not times.entries else times.last_key,
            self._index(segment, INDEX_SUFFIX),
            times,
            0 if aborted is None else aborted.size // ABORTED_BYTES,
        )

    def _index(self, segment: SegmentFiles, suffix: str) -> IndexFacts | None:
        stamp = segment.stamps.get(suffix)
        if stamp is None:
            return None
        with self.index(segment, suffix) as entries:
            last = entries[len(entries) - 1] if entries else None
            key, value = (-1, -1) if last is None else (last.key, last.value)
            return IndexFacts(stamp.size, len(entries), entries.room, key, value)


def _nothing(_size: int, _position: int) -> bytes:
    return b""


def _first_time(read: Read, size: int) -> int:
    try:
        for _, header in walk(read, size, 0):
            return header.max_timestamp if header.delete_horizon_ms else header.base_timestamp
    except (CorruptBatch, LogError):
        pass  # the scan tells where the damage is
    return -1


def scan_shown(scan: Scan | None) -> ScanShown | None:
    """What a scan has counted so far."""
    if scan is None:
        return None
    return ScanShown(
        position=scan.position,
        isWhole=scan.is_whole,
        batches=scan.batches,
        records=scan.records,
        nextOffset=scan.next_offset,
        emptyBatches=scan.empty_batches,
        controlBatches=scan.control_batches,
        transactionalBatches=scan.transactional_batches,
        largestBatch=scan.largest_batch,
        firstTime=scan.first_time,
        largestTime=scan.largest_time,
        codecs=dict(scan.codecs),
        epochs=list(scan.epochs),
        tombstones=scan.tombstones if scan.with_records else None,
        horizons=scan.horizons,
        batchesWithHorizon=scan.batches_with_horizon,
        damage=scan.damage,
        cells=Cells(scan.cells.width, list(scan.cells.records)),
    )


def index_shown(index: IndexFacts | None) -> IndexShown | None:
    """Return what is known of one index."""
    if index is None:
        return None
    return IndexShown(index.size, index.entries, index.room, index.last_key, index.last_value)
