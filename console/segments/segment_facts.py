"""The facts about a segment that are cheap to read: its files, its indexes, its range of time.

The facts are kept until a file of the segment changes; a closed segment's files rarely do. The
indexes of the active segment may be incomplete, because the broker has their end in memory. Owns
the facts of at most KEPT_MAX segments.
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
"""The size of an entry of a `.txnindex`."""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """The size, entries and last entry of a `.index` or `.timeindex`; -1 without entries.

    `room` is the number of entries that fit.
    """

    size: int
    entries: int
    room: int
    last_key: int
    last_value: int


@dataclass(frozen=True, slots=True)
class SegmentFacts:
    """The facts about a segment. Times are in ms since the epoch, -1 for none.

    `aborted` is the number of aborted transactions in its `.txnindex`.
    """

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
        """The time that retention uses: the largest timestamp, else the last write of the file."""
        return self.largest_time if self.largest_time >= 0 else self.modified_ms


def density(facts: SegmentFacts, size: int) -> Density | None:
    """Return the density of the offset index, None without entries."""
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
    """A reader of segments' files, for all threads."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._lock = Lock()
        self._facts: dict[str, tuple[dict[str, Stamp], SegmentFacts]] = {}

    def facts(self, segment: SegmentFiles) -> SegmentFacts:
        """Return the facts about a segment, cached or new. Raises LogError if a file is gone."""
        with self._lock:
            cached = self._facts.get(segment.path)
        if cached is not None and cached[0] == segment.stamps:
            return cached[1]
        facts = self._read(segment)
        with self._lock:
            if len(self._facts) >= KEPT_MAX:
                self._facts.clear()
            self._facts[segment.path] = segment.stamps, facts
        return facts

    @contextmanager
    def index(self, segment: SegmentFiles, suffix: str) -> Iterator[IndexFile]:
        """Open an index of a segment, without entries if there is no such file. Raises LogError."""
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
        pass  # the scan reports the damage
    return -1


def scan_shown(scan: Scan | None) -> ScanShown | None:
    """Return the counts of a scan as an answer."""
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
    """Return the facts about an index as an answer."""
    if index is None:
        return None
    return IndexShown(index.size, index.entries, index.room, index.last_key, index.last_value)
