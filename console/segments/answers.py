"""Partitions and segments as the page gets them.

Sizes and positions are in bytes, times are ms since 1970, -1 for none.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.answers import ABSENT, Absent
from console.segments.meaning.answers import BatchShown

FileSize = tuple[str, int]
"""The name of a file, and its size."""
Entry = tuple[int, int, int]
"""Of an index: its number, key and value."""


@dataclass(frozen=True, slots=True)
class DirectoryShown:
    """A log directory on this machine."""

    key: str
    path: str
    node: int


@dataclass(frozen=True, slots=True)
class ReplicaSize:
    """The folder of a partition in a log directory, its segments, and the bytes of its logs."""

    dir: str
    node: int
    segments: int
    bytes: int


@dataclass(frozen=True, slots=True)
class PartitionSize:
    """A partition and its replicas on this machine, by node; the sums of their segments and
    bytes."""

    topic: str
    partition: int
    segments: int
    bytes: int
    replicas: list[ReplicaSize]


@dataclass(frozen=True, slots=True)
class PartitionSizes:
    """The largest partitions on this machine, and the number and sums of all `count` partitions; or
    the reason `why` there are none."""

    local: bool
    partitions: list[PartitionSize]
    directories: list[DirectoryShown]
    why: str | Absent = ABSENT
    count: int | Absent = ABSENT
    bytes: int | Absent = ABSENT
    segments: int | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class Cells:
    """How many records are in each run of `width` offsets."""

    width: int
    records: list[int]


@dataclass(frozen=True, slots=True)
class ScanShown:
    """What a scan of headers has counted so far; `codecs`: batches and bytes of each."""

    position: int
    isWhole: bool
    batches: int
    records: int
    nextOffset: int
    emptyBatches: int
    controlBatches: int
    transactionalBatches: int
    largestBatch: int
    firstTime: int
    largestTime: int
    codecs: dict[str, tuple[int, int]]
    epochs: list[tuple[int, int]]
    tombstones: int | None
    horizons: tuple[int, int] | None
    batchesWithHorizon: int
    damage: str | None
    cells: Cells


@dataclass(frozen=True, slots=True)
class IndexShown:
    """An index: what it holds, and has room for; -1 where it has no last entry."""

    size: int
    entries: int
    room: int
    lastKey: int
    lastValue: int


@dataclass(frozen=True, slots=True)
class Density:
    """How close the entries of the offset index lie."""

    entries: int
    perMiB: float
    bytesBetween: float
    share: float


@dataclass(frozen=True, slots=True)
class FateShown:
    """What becomes of a segment: when, or when the log has grown by so much, and what it waits
    for."""

    why: str
    at: int | None
    due: bool
    waitsFor: int | None
    grows: int | None


@dataclass(frozen=True, slots=True)
class SegmentShown:
    """A segment's bar, and what stands beside it; `size` leaves out room that is not used."""

    base: int
    name: str
    end: int
    size: int
    fileSize: int
    files: dict[str, int]
    modified: int
    firstTime: int
    largestTime: int
    active: bool
    offsets: IndexShown | None
    times: IndexShown | None
    density: Density | None
    aborted: int
    scan: ScanShown | None
    fate: FateShown | None


@dataclass(frozen=True, slots=True)
class MarksShown:
    """Offsets that mean something for the whole log; None: no checkpoint knows it."""

    logStart: int
    highWatermark: int | None
    recoveryPoint: int | None
    cleanedTo: int | None
    logEnd: int
    logEndIsKnown: bool


@dataclass(frozen=True, slots=True)
class RulesShown:
    """By which configs a log is kept, each with its value and source; `why` they are not known."""

    why: str | None
    configs: dict[str, tuple[str, str]]
    checkInterval: int | None
    deleteDelay: int | None
    compact: bool
    delete: bool


@dataclass(frozen=True, slots=True)
class CompactionShown:
    """How far a compacted log is cleaned."""

    firstDirty: int
    wasCleaned: bool
    firstUncleanable: int
    cleanBytes: int
    dirtyBytes: int
    laterBytes: int
    ratio: float
    ratioMin: float
    isOverdue: bool
    isDue: bool
    records: int
    offsets: int
    isWhole: bool
    tombstones: int | None
    batchesWithHorizon: int
    horizons: tuple[int, int] | None
    deleteRetention: int


@dataclass(frozen=True, slots=True)
class EpochStart:
    """A leader's epoch, and its first offset."""

    epoch: int
    start: int


@dataclass(frozen=True, slots=True)
class PartitionShown:
    """One partition in the directory `dir`, and the directories that have it."""

    topic: str
    partition: int
    folder: str
    now: int
    isMetadata: bool
    topicId: str | None
    size: int
    left_out: int
    marks: MarksShown
    segments: list[SegmentShown]
    rules: RulesShown
    compaction: CompactionShown | None
    epochs: list[EpochStart] | None
    snapshots: list[tuple[int, int]]
    metadataSnapshots: list[FileSize]
    leaving: list[FileSize]
    canRead: bool
    dir: str
    node: int
    directories: list[DirectoryShown]


@dataclass(frozen=True, slots=True)
class BatchesPage:
    """A page of batches from byte `at` on, and where the ones beside it begin."""

    batches: list[BatchShown]
    at: int
    next: int | None
    previous: int | None
    damage: str | None
    size: int | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Entries of an index from number `first` on."""

    entries: list[Entry]
    first: int
    count: int
    room: int
    entryBytes: int


@dataclass(frozen=True, slots=True)
class ProbeShown:
    """A look into an index: the entry that was found, and those around it."""

    key: int
    entry: Entry | None
    around: list[Entry]
    entries: int
    compared: int


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """No more of a batch than an index tells, so that it takes no right to read."""

    position: int
    size: int
    baseOffset: int
    lastOffset: int
    maxTimestamp: int


@dataclass(frozen=True, slots=True)
class LookUpShown:
    """The steps of a look-up of an offset or a time."""

    ofTime: ProbeShown | None
    ofOffset: ProbeShown
    start: int
    passed: list[BatchPlace]
    passedCount: int
    passedBytes: int
    batch: BatchPlace | None
    exact: bool
    offset: int | None
    time: int | None


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """Of a .txnindex."""

    producerId: int
    firstOffset: int
    lastOffset: int
    lastStableOffset: int


@dataclass(frozen=True, slots=True)
class AbortedTransactions:
    """The aborted transactions that end in a segment; None: the file is damaged."""

    aborted: list[AbortedTransaction] | None


@dataclass(frozen=True, slots=True)
class SnapshotProducer:
    """What a broker knew of a producer."""

    producerId: int
    producerEpoch: int
    coordinatorEpoch: int
    currentTxnFirstOffset: int | None
    lastTimestamp: int
    lastSequence: int
    lastOffset: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The first of `count` producers."""

    producers: list[SnapshotProducer]
    count: int


@dataclass(frozen=True, slots=True)
class DamagedSnapshot:
    """A snapshot that cannot be read."""

    damage: str
