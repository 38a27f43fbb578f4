"""The answers of the endpoints about partitions and segments.

Sizes and positions are in bytes. Times are in ms since 1970, and -1 stands for none.
"""

from __future__ import annotations

from dataclasses import dataclass

from console.answers import ABSENT, Absent
from console.segments.meaning.answers import BatchShown

FileSize = tuple[str, int]
"""(name of a file, its size)."""
Entry = tuple[int, int, int]
"""An entry of an index: (number, key, value)."""


@dataclass(frozen=True, slots=True)
class DirectoryShown:
    """A log directory on this machine; addresses name it by `key`."""

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
    """The number of records in each run of `width` offsets."""

    width: int
    records: list[int]


@dataclass(frozen=True, slots=True)
class ScanShown:
    """The counts of a scan of headers up to byte `position`.

    `codecs` has (batches, bytes) of each codec, `epochs` (leader epoch, first offset), and
    `horizons` the earliest and latest delete horizon. `tombstones` is None if they are not counted.
    """

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
    """An index: its entries, the entries that fit, and its last entry, -1 for none."""

    size: int
    entries: int
    room: int
    lastKey: int
    lastValue: int


@dataclass(frozen=True, slots=True)
class Density:
    """The density of an offset index; `share` is its size relative to the segment's."""

    entries: int
    perMiB: float
    bytesBetween: float
    share: float


@dataclass(frozen=True, slots=True)
class FateShown:
    """The deletion of a segment by retention: the reason `why`, and the time.

    `at` is None if the segment stays or the time is unknown. `waitsFor` is the base offset of an
    older segment that must go first. `grows` is the growth of the log after which the segment goes
    by size.
    """

    why: str
    at: int | None
    due: bool
    waitsFor: int | None
    grows: int | None


@dataclass(frozen=True, slots=True)
class SegmentShown:
    """A segment with its files, indexes and counts.

    `size` counts the batches, `fileSize` preallocated space too. `files` has the sizes by suffix.
    """

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
    """The offsets that a log has from its checkpoints, None without one, and its end."""

    logStart: int
    highWatermark: int | None
    recoveryPoint: int | None
    cleanedTo: int | None
    logEnd: int
    logEndIsKnown: bool


@dataclass(frozen=True, slots=True)
class RulesShown:
    """The configs of retention and compaction, each with (value, source).

    `why` is the reason if they are unknown. `checkInterval` and `deleteDelay` are in ms.
    """

    why: str | None
    configs: dict[str, tuple[str, str]]
    checkInterval: int | None
    deleteDelay: int | None
    compact: bool
    delete: bool


@dataclass(frozen=True, slots=True)
class CompactionShown:
    """The progress of compaction in a log; the limits are those of its configs."""

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
    """A leader epoch and its first offset."""

    epoch: int
    start: int


@dataclass(frozen=True, slots=True)
class PartitionShown:
    """A partition in the log directory `dir`, and all local directories that have it.

    `left_out` is the number of older segments that are not in `segments`.
    """

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
    """A page of batches from byte `at` on, with the places of the next and previous page."""

    batches: list[BatchShown]
    at: int
    next: int | None
    previous: int | None
    damage: str | None
    size: int | Absent = ABSENT


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Entries of an index from number `first` on; `room` is the number that fits."""

    entries: list[Entry]
    first: int
    count: int
    room: int
    entryBytes: int


@dataclass(frozen=True, slots=True)
class ProbeShown:
    """The look-up of `key` in an index: its entry, the neighbours, and the most comparisons."""

    key: int
    entry: Entry | None
    around: list[Entry]
    entries: int
    compared: int


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """A batch, with no more than indexes contain: this needs no right to read the topic."""

    position: int
    size: int
    baseOffset: int
    lastOffset: int
    maxTimestamp: int


@dataclass(frozen=True, slots=True)
class LookUpShown:
    """The steps of a look-up of an offset or a time.

    The scan begins at byte `start` and skips `passedCount` batches. `exact` says whether `batch`
    covers the offset. `passed` has the first of the skipped batches.
    """

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
    """An aborted transaction, an entry of a `.txnindex`."""

    producerId: int
    firstOffset: int
    lastOffset: int
    lastStableOffset: int


@dataclass(frozen=True, slots=True)
class AbortedTransactions:
    """The aborted transactions that end in a segment; None if the `.txnindex` is damaged."""

    aborted: list[AbortedTransaction] | None


@dataclass(frozen=True, slots=True)
class SnapshotProducer:
    """The state of a producer in a producer snapshot."""

    producerId: int
    producerEpoch: int
    coordinatorEpoch: int
    currentTxnFirstOffset: int | None
    lastTimestamp: int
    lastSequence: int
    lastOffset: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A producer snapshot: the first of its `count` producers."""

    producers: list[SnapshotProducer]
    count: int


@dataclass(frozen=True, slots=True)
class DamagedSnapshot:
    """A producer snapshot that cannot be read, with the reason."""

    damage: str
