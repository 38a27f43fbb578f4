"""A partition for the page: its segments, offsets of the log, and forecasts of their deletion.

Combines the files, the checkpoints and the cluster's configs. The headers of the active segment are
read to find the end of the log. In a compacted topic, those of closed segments are read too, to
count the remaining records. Each request reads for at most `LOOK_S` seconds and continues the scans
of the last request. Owns nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from console.segments.answers import (
    CompactionShown,
    DirectoryShown,
    EpochStart,
    FateShown,
    MarksShown,
    PartitionShown,
    RulesShown,
    SegmentShown,
)
from console.segments.disk import Disk, Marks
from console.segments.files.folders import LogDirectory, PartitionFolder
from console.segments.files.partition_files import PartitionFiles, SegmentFiles
from console.segments.files.scans import Scan
from console.segments.meaning.compaction import cleanable
from console.segments.meaning.forecast import AgedSegment, Fate, fates
from console.segments.rights import METADATA_LOG
from console.segments.segment_facts import (
    SegmentFacts,
    SegmentReader,
    density,
    index_shown,
    scan_shown,
)
from console.segments.topic_rules import Rules
from log_format.damage import LogError
from log_format.segment_names import LOG_SUFFIX, offset_name
from protocol.primitives import uuid_to_string
from storage.log.checkpoints import decode_leader_epochs

LOOK_S = 0.25
SEGMENTS_SHOWN_MAX = 1_000
COUNTED_BYTES_MAX = 512 * 1024 * 1024
"""In a larger compacted log, tombstones are not counted."""
_EPOCHS_SHOWN_MAX = 200
_LISTED_MAX = 200
_LEADER_EPOCHS = "leader-epoch-checkpoint"


@dataclass(frozen=True, slots=True)
class SeenSegment:
    """A segment with its facts and its scan at the time of a request."""

    files: SegmentFiles
    facts: SegmentFacts
    scan: Scan | None
    end_offset: int
    is_active: bool

    @property
    def size(self) -> int:
        """The bytes of its batches. A whole scan leaves out the active one's preallocated space."""
        if self.is_active and self.scan is not None and self.scan.is_whole:
            return self.scan.position
        return self.facts.size

    @property
    def first_time(self) -> int:
        """The timestamp of the first record in ms since the epoch, -1 for none."""
        return self.facts.first_time

    @property
    def largest_time(self) -> int:
        """The largest timestamp in ms since the epoch, -1 for none.

        A scan may have read later batches than the time index has on disk.
        """
        scanned = -1 if self.scan is None else self.scan.largest_time
        return max(self.facts.largest_time, scanned)

    def aged(self) -> AgedSegment:
        """Return the data of the segment for forecasts.

        Without a timestamp, retention uses the time of the file's last write.
        """
        largest = self.largest_time if self.largest_time >= 0 else self.facts.modified_ms
        return AgedSegment(
            self.files.base_offset, self.end_offset, self.size, largest, self.is_active
        )


def seen_segments(
    disk: Disk, reader: SegmentReader, listing: PartitionFiles, *, is_compacted: bool
) -> list[SeenSegment]:
    """Return the last SEGMENTS_SHOWN_MAX segments of a folder, oldest first.

    Advances their scans. Leaves out segments whose files vanish meanwhile.
    """
    counts = is_compacted and listing.size <= COUNTED_BYTES_MAX
    deadline = time.monotonic() + LOOK_S
    if listing.segments:  # first, because the end of the log matters more than the counts
        _look_at_active(disk, listing.segments[-1], counts, time.monotonic() + LOOK_S / 2)
    seen: list[SeenSegment] = []
    for segment in listing.segments[-SEGMENTS_SHOWN_MAX:]:
        end = listing.end_of(segment)
        try:
            facts = reader.facts(segment)
            scan = _scan(disk, segment, counts, deadline, wanted=end is None or is_compacted)
        except LogError:
            continue
        seen.append(SeenSegment(segment, facts, scan, _end(end, facts, scan), end is None))
    return seen


def _look_at_active(disk: Disk, active: SegmentFiles, counts: bool, deadline: float) -> None:
    with suppress(LogError):
        _scan(disk, active, counts, deadline, wanted=True)


def _scan(
    disk: Disk, segment: SegmentFiles, counts: bool, deadline: float, *, wanted: bool
) -> Scan | None:
    scan = disk.scans.last(segment.path, with_records=counts)
    if not wanted:
        return scan or disk.scans.last(segment.path)
    while (scan is None or not scan.is_whole or scan.stamp != segment.stamps[LOG_SUFFIX]) and (
        time.monotonic() < deadline
    ):
        scan = disk.scans.advance(segment.path, segment.base_offset, with_records=counts)
        if scan is None or scan.is_whole:
            break
    return scan


def _end(following: int | None, facts: SegmentFacts, scan: Scan | None) -> int:
    if following is not None:
        return following
    indexed = facts.base_offset
    if facts.offsets is not None and facts.offsets.entries:
        indexed = facts.offsets.last_key + 1
    return max(indexed, 0 if scan is None else scan.next_offset)


def partition_shown(
    disk: Disk,
    reader: SegmentReader,
    folder: PartitionFolder,
    listing: PartitionFiles,
    rules: Rules,
    now_ms: int,
    having: Sequence[LogDirectory] = (),
    *,
    can_read: bool = False,
) -> PartitionShown:
    """Return a partition with its segments; `having` are the local directories that have it."""
    is_compacted = rules.config is not None and rules.config.compact
    seen = seen_segments(disk, reader, listing, is_compacted=is_compacted)
    marks = disk.marks(folder)
    start = max(seen[0].files.base_offset if seen else 0, marks.log_start or 0)
    aged = [segment.aged() for segment in seen]
    fate: list[Fate] = []
    if rules.config is not None and folder.topic != METADATA_LOG:
        fate = fates(aged, rules.config, start, marks.high_watermark, now_ms)
    compaction = None
    if is_compacted:
        compaction = _compaction(seen, aged, rules, marks, start, now_ms)
    return PartitionShown(
        topic=folder.topic,
        partition=folder.partition,
        folder=folder.path,
        now=now_ms,
        isMetadata=folder.topic == METADATA_LOG,
        topicId=_id_text(disk, folder),
        size=sum(segment.size for segment in seen),
        left_out=max(len(listing.segments) - SEGMENTS_SHOWN_MAX, 0),
        marks=_marks(marks, start, seen),
        segments=[
            segment_shown(segment, fate[at] if at < len(fate) else None)
            for at, segment in enumerate(seen)
        ],
        rules=_rules(rules),
        compaction=compaction,
        epochs=leader_epochs(disk, folder),
        snapshots=list(listing.snapshots[-_LISTED_MAX:]),
        metadataSnapshots=list(listing.metadata_snapshots[-_LISTED_MAX:]),
        leaving=list(listing.leaving[:_LISTED_MAX]),
        canRead=can_read,
        dir=folder.directory.key,
        node=folder.directory.node_id,
        directories=[directory_shown(directory) for directory in having],
    )


def directory_shown(directory: LogDirectory) -> DirectoryShown:
    """Return a log directory as an answer."""
    return DirectoryShown(directory.key, directory.path, directory.node_id)


def segment_shown(segment: SeenSegment, fate: Fate | None) -> SegmentShown:
    """Return a segment as an answer; `fate` is None if there is no forecast."""
    facts = segment.facts
    return SegmentShown(
        base=facts.base_offset,
        name=offset_name(facts.base_offset),
        end=segment.end_offset,
        size=segment.size,
        fileSize=facts.size,
        files={suffix[1:]: stamp.size for suffix, stamp in segment.files.stamps.items()},
        modified=facts.modified_ms,
        firstTime=segment.first_time,
        largestTime=segment.largest_time,
        active=segment.is_active,
        offsets=index_shown(facts.offsets),
        times=index_shown(facts.times),
        density=density(facts, segment.size),
        aborted=facts.aborted,
        scan=scan_shown(segment.scan),
        fate=None if fate is None else _fate(fate),
    )


def _fate(fate: Fate) -> FateShown:
    return FateShown(
        why=fate.why.value,
        at=fate.at_ms,
        due=fate.is_due,
        waitsFor=fate.waits_for,
        grows=fate.grows_bytes,
    )


def _marks(marks: Marks, start: int, seen: Sequence[SeenSegment]) -> MarksShown:
    last = seen[-1] if seen else None
    return MarksShown(
        logStart=start,
        highWatermark=marks.high_watermark,
        recoveryPoint=marks.recovery_point,
        cleanedTo=marks.cleaned_to,
        logEnd=last.end_offset if last else start,
        logEndIsKnown=last is not None and last.scan is not None and last.scan.is_whole,
    )


def _rules(rules: Rules) -> RulesShown:
    config = rules.config
    return RulesShown(
        why=rules.why_not,
        configs=dict(rules.shown),
        checkInterval=rules.check_interval_ms,
        deleteDelay=None if config is None else config.file_delete_delay_ms,
        compact=config is not None and config.compact,
        delete=config is not None and config.delete,
    )


def _compaction(
    seen: Sequence[SeenSegment],
    aged: Sequence[AgedSegment],
    rules: Rules,
    marks: Marks,
    start: int,
    now_ms: int,
) -> CompactionShown | None:
    config = rules.config
    assert config is not None
    firsts = [segment.first_time for segment in seen]
    progress = cleanable(
        aged, firsts, config, marks.cleaned_to, start, marks.high_watermark, now_ms
    )
    if progress is None:
        return None
    scans = [segment.scan for segment in seen if segment.scan is not None]
    horizons = [scan.horizons for scan in scans if scan.horizons is not None]
    counted = [scan for scan in scans if scan.with_records]
    return CompactionShown(
        firstDirty=progress.first_dirty,
        wasCleaned=progress.was_cleaned,
        firstUncleanable=progress.first_uncleanable,
        cleanBytes=progress.clean_bytes,
        dirtyBytes=progress.dirty_bytes,
        laterBytes=progress.later_bytes,
        ratio=progress.ratio,
        ratioMin=config.min_cleanable_dirty_ratio,
        isOverdue=progress.is_overdue,
        isDue=progress.is_due(config),
        records=sum(scan.records for scan in scans),
        offsets=sum(part.end_offset - part.files.base_offset for part in seen if part.scan),
        isWhole=len(scans) == len(seen) and all(scan.is_whole for scan in scans),
        tombstones=sum(scan.tombstones for scan in counted) if counted else None,
        batchesWithHorizon=sum(scan.batches_with_horizon for scan in scans),
        horizons=(min(low for low, _ in horizons), max(high for _, high in horizons))
        if horizons
        else None,
        deleteRetention=config.delete_retention_ms,
    )


def leader_epochs(disk: Disk, folder: PartitionFolder) -> list[EpochStart] | None:
    """Return the last leader epochs of the folder's checkpoint, None if it is damaged."""
    try:
        data = disk.files.content(f"{folder.path}/{_LEADER_EPOCHS}")
    except LogError:
        return []
    if data is None:
        return []
    epochs = decode_leader_epochs(data)
    if epochs is None:
        return None
    return [EpochStart(epoch, start) for epoch, start in epochs[-_EPOCHS_SHOWN_MAX:]]


def _id_text(disk: Disk, folder: PartitionFolder) -> str | None:
    own = disk.topic_id(folder)
    return None if own is None else uuid_to_string(own)
